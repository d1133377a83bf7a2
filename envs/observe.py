"""What a model is shown of a world, decided here alone: frames (pixels), or the one-hot factors of every object (state)."""

import numpy as np

OBSERVATIONS = ("pixels", "state")


def show(world, boards) -> np.ndarray:
    """What a model is shown of B boards: frames (B, H, W, 3) uint8, or factors (B, N, F) uint8 of zeros and ones."""
    return world.factors(boards) if world.observation == "state" else world.render(boards)


def recorded(world, file, *others: str) -> list[np.ndarray]:
    """What a model is shown of every row of an episode file, (rows, ...) as `show` gives it, and the columns `others`."""
    shown = "state" if world.observation == "state" else "pixels"
    columns = file.read(*dict.fromkeys((shown, *others)))
    obs = world.factors(world.unpack(columns["state"])) if shown == "state" else columns["pixels"]
    return [obs, *(columns[name] for name in others)]
