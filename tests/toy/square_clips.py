"""A toy world of violated causes: a square runs at a wall and passes its gap where it is lower than the gap."""

import numpy as np

from envs.problem import Problem
from envs.protocols import Source, Violations
from envs.spec import Action, EnvSpec, Observation

SIZES, GAPS, WALL = (4, 8, 12), (6, 10), 18
SHOWN = 8  # rows before the square moves


class SquareClips(Source, Violations):
    """Clips of 32 x 32 pixels with the columns of a world of violated causes; trials alternate between two sub-types."""

    subtypes = ("E2", "E3")
    row_bytes = 400

    def __init__(self, observation: str = "pixels") -> None:
        self.observation = observation
        table = Observation("objects", (2, 4), values="real")
        self.spec = EnvSpec({"pixels": Observation("pixels", (32, 32, 3)), "objects": table}, Action(0), objects=2)

    def header(self) -> dict:
        return {"world": "SquareClips"}

    def versions(self, split: str) -> dict[str, str]:
        if "-" in split:
            return {}
        return {"expected": split, "surprising": f"{split}-surprising", "control": f"{split}-control"}

    def record(self, split, rng, episodes):
        rows, version = split["length"] + 1, split["version"]
        if version not in ("expected", "surprising", "control"):
            raise Problem(f"there is no version '{version}'")
        trial = np.arange(episodes) + 1000 * rng.integers(1_000_000)  # equal in all versions of a block
        clips = [self._clip(rng, rows, version) for _ in range(episodes)]
        columns = {name: np.concatenate([clip[name] for clip in clips]) for name in clips[0]}
        columns["label_trial"] = np.repeat(trial, rows).astype(np.int32)
        columns["label_subtype"] = np.repeat(np.arange(episodes) % 2, rows).astype(np.uint8)
        return columns, np.full(episodes, rows)

    def _clip(self, rng, rows: int, version: str) -> dict[str, np.ndarray]:
        size, gap, speed = rng.choice(SIZES), rng.choice(GAPS), rng.uniform(1.0, 1.5)
        lower = size < gap
        passes = lower if version != "surprising" else not lower
        free = 1 - size / 2 + speed * np.arange(-SHOWN, rows - SHOWN).clip(min=0)  # left end of the square
        stop = WALL - size
        x = free if passes else free.clip(max=stop)
        first = int((free > stop).argmax())
        if version == "control":  # it stops a little early, or goes on a little faster
            x = np.where(np.arange(rows) < first, x, x + 0.7 * (np.arange(rows) - first) if passes else x - 2.0)
        frames = np.full((rows, 32, 32, 3), 255, np.uint8)
        frames[:, : 32 - gap, WALL : WALL + 2] = (40, 60, 200)
        for frame, left in zip(frames, x.round().astype(int)):
            frame[32 - size :, max(0, left) : max(0, left + size)] = (220, 40, 40)
        table = np.zeros((rows, 2, 4), np.float32)
        table[:, 0, 0], table[:, 0, 1], table[:, 1, 0], table[:, 1, 2] = x / 10, size / 10, WALL / 10, gap / 10
        features = np.array([-1.0] * 24, np.float32)
        features[[8, 9, 10, 11, 14, 15, 23]], features[[20, 21, 22]] = 2, 7
        features[[0, 17, 14, 20]] = size / 10, gap / 10, 1, 0
        prior, posterior = np.full(13, 2, np.int8), np.full(9, 2, np.int8)
        prior[12], posterior[8] = lower, passes
        rowwise = {"label_features": features, "label_prior": prior, "label_posterior": posterior,
                   "label_version": np.uint8(("expected", "surprising", "control").index(version)),
                   "label_violation": np.int16(-1 if version == "expected" else first)}  # fmt: skip
        return {"pixels": frames, "objects": table, **{k: np.repeat(v[None], rows, 0) for k, v in rowwise.items()}}
