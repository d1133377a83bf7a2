"""After which round of a training the scored weights were:
that of its least validation loss, which not every row has at the end.

Models of clips keep weights by how they judge pairs (train/callbacks.py); no table of equal effort has one.
"""

LOSS = "val/loss"


def best_round(entry: dict) -> tuple[int, int] | None:
    """(the round or epoch, counted from 1 over all stages, how many there were), of an entry of the ledger; the last stage
    alone is chosen from, and of equal losses the first is kept. None where the entry does not say, as of runs of before."""
    losses = {name: values for name, values in entry.get("losses", {}).items() if name.endswith(LOSS)}
    if not any(losses.values()):
        return None
    *before, last = losses.values()
    earlier = sum(map(len, before))
    return earlier + 1 + last.index(min(last)), earlier + len(last)
