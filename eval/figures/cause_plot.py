"""The picture of the probe wrong_causes: ranking and error of the block for every cause that was set, in space A and in space B."""

from collections.abc import Sequence

from eval.figures.charts import INK, SOFT
from eval.figures.svg import calm

_SPACES = {"a": ("#2f6f9f", "space A"), "b": ("#d6603f", "space B")}
_NOTHING = "nothing"


def cause_key(cause: str, space: str, kind: str, horizon: str) -> str:
    """The metric of a cause."""
    return f"test/cause/{cause.replace(' ', '_')}/{space}/{kind}/{horizon}"


def worst(metrics: dict[str, float], causes: Sequence[str], horizon: str) -> list[tuple[str, float]]:
    """Causes and how much further off the block is, in millimetres, than with nothing changed, in the worse space; the worst first.
    Of models that decode no block: how much H@1 falls, percent."""
    kind = "block_error" if cause_key(_NOTHING, "a", "block_error", horizon) in metrics else "hits@1"
    sign, usual, found = (1 if kind == "block_error" else -1), metrics[cause_key(_NOTHING, "a", kind, horizon)], {}
    for cause in causes:
        values = [metrics[key] for space in _SPACES if (key := cause_key(cause, space, kind, horizon)) in metrics]
        if cause != _NOTHING and values:
            found[cause] = max(sign * (value - usual) for value in values)
    return sorted(found.items(), key=lambda pair: -pair[1])


def cause_plot(metrics: dict[str, float], causes: Sequence[str], horizon: str):
    """A row for every cause, the one that is got most wrong at the top; grey: how far the cause moved the outcome.
    -> matplotlib Figure"""
    from matplotlib.figure import Figure

    order = [_NOTHING, *(cause for cause, _ in reversed(worst(metrics, causes, horizon)))]
    kinds = {"hits@1": "H@1, %", "block_error": "error of the block, median mm"}
    kinds = {kind: label for kind, label in kinds.items() if cause_key(_NOTHING, "a", kind, horizon) in metrics}
    figure = Figure(figsize=(2.6 + 3.6 * len(kinds), 1.1 + 0.3 * len(order)), layout="constrained")
    for axes, (kind, label) in zip(figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0], kinds.items()):
        for at, cause in enumerate(order):
            for space, (color, name) in _SPACES.items():
                if (key := cause_key(cause, space, kind, horizon)) in metrics:
                    axes.plot(metrics[key], at, "o", color=color, label=name if not at else None, zorder=3)
                moved = cause_key(cause, space, "effect", horizon)
                if kind == "block_error" and cause != _NOTHING and moved in metrics:
                    axes.plot(metrics[moved], at, "|", color=color, markersize=11, alpha=0.6,
                              label="how far the cause moved it" if at == 1 and space == "a" else None)  # fmt: skip
        axes.axvline(metrics[cause_key(_NOTHING, "a", kind, horizon)], color=SOFT, lw=1, ls=":")
        axes.set_yticks(range(len(order)), order)
        axes.set_title(f"{label}, {horizon[1:]} steps", fontsize=10, loc="left", color=INK)
        if kind == "block_error":
            axes.set_xscale("symlog", linthresh=1)
            axes.set_xticks((0, 1, 3, 10, 30, 100), (0, 1, 3, 10, 30, 100))
        axes.set_xlim(left=0)
        axes.legend(frameon=False, fontsize=8, loc="best", labelcolor=INK)
        calm(axes)
    return figure
