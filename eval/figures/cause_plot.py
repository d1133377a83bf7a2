"""The picture of the probe wrong_causes: ranking and error of the block for every cause that was set,
in space A and in space B."""

from collections.abc import Sequence

from envs.protocols import SPACES
from eval.figures.charts import INK, SOFT
from eval.figures.svg import calm
from eval.probes.wrong_causes import AS_RECORDED, cause_key

_COLORS = dict(zip(SPACES, ("#2f6f9f", "#d6603f")))
_KINDS = {"block_error": "error of the block, median mm", "hits@1": "H@1, %"}
_BESIDE = {
    "block_error": ("effect", "how far the cause moved it"),
    "hits@1": ("usual_hits@1", "the same states, nothing changed"),
}


def judged_by(metrics: dict[str, float], horizon: str) -> str:
    """What tells how wrong a cause is: the error of the block, or H@1 of models that decode none."""
    return next(kind for kind in _KINDS if cause_key(AS_RECORDED, SPACES[0], kind, horizon) in metrics)


def worst(metrics: dict[str, float], causes: Sequence[str], horizon: str) -> list[tuple[str, float]]:
    """Causes and how much further off the block is, in millimetres, than with nothing changed, in the worse space; the worst
    first. Of models that decode no block: how much H@1 falls, percent, of the same states; none of results of before, which do
    not say."""
    kind, found = judged_by(metrics, horizon), {}
    sign = 1 if kind == "block_error" else -1
    for cause in causes:
        pairs = [
            (metrics.get(cause_key(cause, space, kind, horizon)), metrics.get(_usual(cause, space, kind, horizon)))
            for space in SPACES
        ]
        falls = [sign * (value - usual) for value, usual in pairs if value is not None and usual is not None]
        if cause != AS_RECORDED and falls:
            found[cause] = max(falls)
    return sorted(found.items(), key=lambda pair: -pair[1])


def _usual(cause: str, space: str, kind: str, horizon: str) -> str:
    """With nothing changed: the error of the block over all states, or H@1 among those that took the cause."""
    if kind == "block_error":
        return cause_key(AS_RECORDED, SPACES[0], kind, horizon)
    return cause_key(cause, space, "usual_hits@1", horizon)


def cause_plot(metrics: dict[str, float], causes: Sequence[str], horizon: str):
    """A row for every cause, the one that is got most wrong at the top; a bar: how far the cause moved the outcome, or H@1 of
    the same states with nothing changed.  -> matplotlib Figure"""
    from matplotlib.figure import Figure

    order = [AS_RECORDED, *(cause for cause, _ in reversed(worst(metrics, causes, horizon)))]
    order += [cause for cause in causes if cause not in order]
    kinds = {kind: _KINDS[kind] for kind in dict.fromkeys(("hits@1", judged_by(metrics, horizon)))}
    figure = Figure(figsize=(2.6 + 3.6 * len(kinds), 1.1 + 0.3 * len(order)), layout="constrained")
    for axes, (kind, label) in zip(figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0], kinds.items()):
        for at, cause in enumerate(order):
            for space, color in _COLORS.items():
                if (key := cause_key(cause, space, kind, horizon)) in metrics:
                    axes.plot(metrics[key], at, "o", color=color, label=f"space {space.upper()}" if not at else None, zorder=3)
                beside, said = _BESIDE[kind]
                if cause != AS_RECORDED and (key := cause_key(cause, space, beside, horizon)) in metrics:
                    axes.plot(metrics[key], at, "|", color=color, markersize=11, alpha=0.6,
                              label=said if at == 1 and space == SPACES[0] else None)  # fmt: skip
        if kind == "block_error":
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
