"""The picture of the probe wrong_causes: ranking and error of the block for every cause that was set, in space A and in space B."""

from collections.abc import Sequence

from envs.protocols import SPACES
from eval.figures.charts import INK, SOFT
from eval.figures.svg import calm
from eval.probes.wrong_causes import AS_RECORDED, cause_key

_COLORS = dict(zip(SPACES, ("#2f6f9f", "#d6603f")))
_KINDS = {"block_error": "error of the block, median mm", "hits@1": "H@1, %"}


def judged_by(metrics: dict[str, float], horizon: str) -> str:
    """What tells how wrong a cause is: the error of the block, or H@1 of models that decode none."""
    return next(kind for kind in _KINDS if cause_key(AS_RECORDED, SPACES[0], kind, horizon) in metrics)


def worst(metrics: dict[str, float], causes: Sequence[str], horizon: str) -> list[tuple[str, float]]:
    """Causes and how much further off the block is, in millimetres, than with nothing changed, in the worse space; the worst first.
    Of models that decode no block: how much H@1 falls, percent."""
    kind, found = judged_by(metrics, horizon), {}
    sign, usual = (1 if kind == "block_error" else -1), metrics[cause_key(AS_RECORDED, SPACES[0], kind, horizon)]
    for cause in causes:
        values = [metrics[key] for space in SPACES if (key := cause_key(cause, space, kind, horizon)) in metrics]
        if cause != AS_RECORDED and values:
            found[cause] = max(sign * (value - usual) for value in values)
    return sorted(found.items(), key=lambda pair: -pair[1])


def cause_plot(metrics: dict[str, float], causes: Sequence[str], horizon: str):
    """A row for every cause, the one that is got most wrong at the top; grey: how far the cause moved the outcome.
    -> matplotlib Figure"""
    from matplotlib.figure import Figure

    order = [AS_RECORDED, *(cause for cause, _ in reversed(worst(metrics, causes, horizon)))]
    kinds = {kind: _KINDS[kind] for kind in dict.fromkeys(("hits@1", judged_by(metrics, horizon)))}
    figure = Figure(figsize=(2.6 + 3.6 * len(kinds), 1.1 + 0.3 * len(order)), layout="constrained")
    for axes, (kind, label) in zip(figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0], kinds.items()):
        for at, cause in enumerate(order):
            for space, color in _COLORS.items():
                if (key := cause_key(cause, space, kind, horizon)) in metrics:
                    axes.plot(metrics[key], at, "o", color=color, label=f"space {space.upper()}" if not at else None, zorder=3)
                moved = cause_key(cause, space, "effect", horizon)
                if kind == "block_error" and cause != AS_RECORDED and moved in metrics:
                    axes.plot(metrics[moved], at, "|", color=color, markersize=11, alpha=0.6,
                              label="how far the cause moved it" if at == 1 and space == SPACES[0] else None)  # fmt: skip
        axes.axvline(metrics[cause_key(AS_RECORDED, SPACES[0], kind, horizon)], color=SOFT, lw=1, ls=":")
        axes.set_yticks(range(len(order)), order)
        axes.set_title(f"{label}, {horizon[1:]} steps", fontsize=10, loc="left", color=INK)
        if kind == "block_error":
            axes.set_xscale("symlog", linthresh=1)
            axes.set_xticks((0, 1, 3, 10, 30, 100), (0, 1, 3, 10, 30, 100))
        axes.set_xlim(left=0)
        axes.legend(frameon=False, fontsize=8, loc="best", labelcolor=INK)
        calm(axes)
    return figure
