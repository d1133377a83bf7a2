"""After which part of a training the scored weights were: those of its least validation loss, which not every row has at the end."""

from statistics import mean

from eval.effort.cells import MISSING
from eval.effort.filled import Filled

LOSS = "val/loss"


def kept_at(one: Filled) -> dict[int, float]:
    """Seed -> percent of the rounds, or epochs, of all stages; those of the last stage alone are chosen among."""
    found = {}
    for seed, entry in one.entries.items():
        losses = {name.removesuffix(f" {LOSS}"): values for name, values in entry.get("losses", {}).items() if name.endswith(LOSS)}
        if "final" in entry["scores"] and losses:
            last = losses[list(losses)[-1]]
            whole = sum(map(len, losses.values()))
            found[seed] = 100 * (whole - len(last) + 1 + last.index(min(last))) / whole
    return found


def kept_text(one: Filled) -> str:
    """Mean over seeds, and from the least to the most where they differ."""
    found = list(kept_at(one).values())
    if not found:
        return MISSING
    least_most = f" ({min(found):.0f} to {max(found):.0f})" if max(found) > min(found) else ""
    return f"{mean(found):.0f}{least_most}"
