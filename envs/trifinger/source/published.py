"""PublishedTriFinger: the TriFinger RL datasets (Gürtler et al., ICLR 2023) as episodes that `envs/collect.py` records.

<path>/data.mdb of a folder such as trifinger-cube-push-real-expert-v0.zarr, a Zarr group with one row for each of 50 steps a
second: observations (rows, 97 in push, 139 in lift), actions (rows, 9) torques, rewards (rows,), timeouts (rows,) bool, true
in the last row of an episode. The camera images that some of them hold are not read.
"""

import hashlib
from collections.abc import Mapping
from functools import cached_property
from itertools import accumulate
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from envs.problem import Problem, nearest
from envs.protocols import Source
from envs.spec import Action, EnvSpec, Observation
from envs.trifinger.source.saved import COLUMNS, FINGERS, WIDTH, two_axes
from envs.trifinger.source.world import TriFingerSource
from envs.trifinger.source.zarr_store import ZarrStore

RATE = 50  # rows a second
TORQUE = 0.397  # newton metres, the bound of their actions
SIZE, MASS = 0.065, 0.094  # metres, kilograms: their one cube
GOALS = {"push": 3, "lift": 24}  # numbers of a goal: the cube's centre, its eight corners
SEGMENTS = ("train", "valid", "test")
_OTHERS = {8: "valid", 9: "test"}  # last digit of an episode's number -> segment
_RESOLUTION = 1e-3  # as of our own table
_SAME_PICTURE = 0.005  # seconds between two pictures at least
_AGREE = 0.5  # share of rows that must repeat the action before them


def parts(goal: int) -> dict[str, slice]:
    """Name -> columns of an observation with goals of so many numbers: a nested dict, flattened in the order of its keys."""
    widths = {
        "achieved_goal": goal, "previous_action": 9, "confidence": 1, "delay": 1, "keypoints": 24, "orientation": 4,
        "position": 3, "desired_goal": goal, "tip_force": 3, "tip_position": 9, "tip_velocity": 9, "joint_positions": 9,
        "robot_id": 1, "torque": 9, "joint_velocities": 9,
    }  # fmt: skip
    return {name: slice(end - width, end) for (name, width), end in zip(widths.items(), accumulate(widths.values()))}


LAYOUTS = {parts(goal)["joint_velocities"].stop: parts(goal) for goal in GOALS.values()}  # width of an observation -> parts


class PublishedTriFinger(Source):
    """path: the folder that holds data.mdb.

    A split is {segment: train | valid | test}: of ten episodes in a row the last but one is for valid, the last for test. A
    split of fewer episodes than its segment has takes them evenly spread, since mixed sets may be sorted by policy.
    """

    blocks, positions = TriFingerSource.blocks, TriFingerSource.positions  # the same table, so that they are Blocks as well
    poses, tips = TriFingerSource.poses, TriFingerSource.tips

    def __init__(self, path: str | None, observation: str = "objects") -> None:
        if observation != "objects":
            raise Problem(f"published TriFinger has no observation '{observation}': {nearest(str(observation), ('objects',))}; "
                          f"set env.observation=")  # fmt: skip
        self._path, self.observation = path, observation
        shown = Observation("objects", (FINGERS + 1, WIDTH), values="real", resolution=_RESOLUTION)
        action = Action(9, owners=FINGERS, low=(-1.0,) * 9, high=(1.0,) * 9)
        self.spec, self.row_bytes = EnvSpec({"objects": shown}, action, FINGERS + 1), 400

    def _open(self) -> ZarrStore:
        """Asked for when episodes are read, so that a config without a path composes."""
        if not self._path or not (Path(self._path) / "data.mdb").is_file():
            raise Problem(f"published TriFinger is read from a folder with the file data.mdb, got {self._path!r}; "
                          f"set env.world.path=")  # fmt: skip
        return ZarrStore(Path(self._path))

    @cached_property
    def _digest(self) -> str:
        """Of the rewards and the ends of episodes: no two sets share them."""
        with self._open() as store:
            self._check(store)
            content = [store.rows(name).tobytes() for name in ("rewards", "timeouts")]
        return hashlib.sha256(b"".join(content)).hexdigest()[:16]

    def header(self) -> dict:
        return {"world": type(self).__name__, "reader": 1, "set": self._digest}

    def save_beside(self, path: Path) -> None:
        """The files stay where they are."""

    def _check(self, store: ZarrStore) -> None:
        shapes = {name: store.shape(name) for name in ("observations", "actions", "rewards", "timeouts")}
        rows = shapes["observations"][0]
        wanted = {"observations": [(rows, width) for width in LAYOUTS], "actions": [(rows, 9)]}
        for name, shape in shapes.items():
            known = wanted.get(name, [(rows,)])
            if shape not in known:
                raise Problem(f"{self._path} holds '{name}' of shape {shape}, published TriFinger has "
                              f"{' or '.join(map(str, known))}; set env.world.path= to one of its folders")  # fmt: skip

    def record(self, split: Mapping, rng, episodes: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Columns (rows, ...) of `episodes` episodes from number `start` of the split on, and their lengths in rows.

        objects: as of TriFingerSource; the tips are the file's own, which are heights from its floor.  action: torques in units
        of TORQUE.  reward.  desired_goal: of every row, as the file has it.  Episodes are cut after `length` actions.
        """
        if split["segment"] not in SEGMENTS:
            raise Problem(f"published TriFinger has no segment '{split['segment']}': "
                          f"{nearest(str(split['segment']), SEGMENTS)}; set segment= of the split")  # fmt: skip
        start = split.get("start", 0)
        with self._open() as store:
            self._check(store)
            ends = np.flatnonzero(store.rows("timeouts")) + 1
            bounds = [  # of episodes; the rows after the last end are of one that was cut off
                (int(a), int(b))
                for number, (a, b) in enumerate(zip((0, *ends), ends))
                if _OTHERS.get(number % 10, "train") == split["segment"] and b - a > 1
            ]
            asked = max(split.get("episodes", 0), start + episodes)
            if asked > len(bounds):
                raise Problem(f"{self._path} has {len(bounds)} episodes for {split['segment']}, got {asked}; ask for fewer "
                              f"with episodes= of the split")  # fmt: skip
            spread = [bounds[number * len(bounds) // asked] for number in range(start, start + episodes)]
            played = [self._episode(store, first, last, split["length"] + 1) for first, last in spread]
        lengths = np.array([len(one["action"]) for one in played])
        return {name: np.concatenate([one[name] for one in played]) for name in played[0]}, lengths

    def _episode(self, store: ZarrStore, first: int, last: int, rows: int) -> dict[str, np.ndarray]:
        """At most `rows` rows; the last row of action and reward is padding, since the row after it is not there."""
        observed, torques = (store.rows(name, first, last).astype(float) for name in ("observations", "actions"))
        reward = store.rows("rewards", first, last).astype(np.float32)
        of = {name: observed[:, columns] for name, columns in LAYOUTS[observed.shape[1]].items()}
        if not all(np.isfinite(one).all() for one in (observed, torques, reward)) or not of["orientation"].any(1).all():
            raise Problem(f"{self._path} has numbers that cannot be in rows {first} to {last - 1}; download it again")
        agree = np.abs(of["previous_action"][1:] - torques[:-1]).max(1) < 1e-3
        if agree.mean() < _AGREE or np.abs(torques).max() > 1.01 * TORQUE:
            raise Problem(f"actions {first} to {last - 1} of {self._path} are no torques up to {TORQUE} N m which the next "
                          f"observation repeats; set env.world.path= to a folder of published TriFinger")  # fmt: skip
        action, goal = np.clip(torques / TORQUE, -1, 1).astype(np.float32), of["desired_goal"].astype(np.float32)
        columns = {"objects": _table(of), "action": action, "reward": reward, "desired_goal": goal}
        columns = {name: values[:rows].copy() for name, values in columns.items()}
        columns["action"][-1] = columns["reward"][-1] = 0
        return columns


def _table(of: Mapping[str, np.ndarray]) -> np.ndarray:
    """Parts of the observations of an episode  ->  (T, 4, WIDTH) float32: fingers 0, 120, 240, then the cube."""
    table = np.zeros((len(of["position"]), FINGERS + 1, WIDTH), np.float32)
    fingers, cube = table[:, :FINGERS], table[:, FINGERS]
    for name, part in (("position", "tip_position"), ("joint_positions",) * 2, ("joint_velocities",) * 2):
        fingers[..., COLUMNS[name]] = of[part].reshape(-1, FINGERS, 3)
    cube[:, COLUMNS["is_block"]] = 1
    cube[:, COLUMNS["position"]] = of["position"]
    cube[:, COLUMNS["axes"]] = two_axes(of["orientation"])
    velocities = _velocities(of["position"], of["orientation"], of["delay"][:, 0])
    cube[:, COLUMNS["linear_velocity"]], cube[:, COLUMNS["angular_velocity"]] = velocities[:, :3], velocities[:, 3:]
    cube[:, COLUMNS["size"]], cube[:, COLUMNS["mass"]] = SIZE, MASS
    return table


def _velocities(position: np.ndarray, orientation: np.ndarray, delay: np.ndarray) -> np.ndarray:
    """(T, 6) linear and angular velocity of the cube, which the files lack: finite differences between the last two pictures.

    The cube is seen ten times a second, and `delay` is the age of the picture in seconds: differences of neighbouring rows
    would be zero four times of five. What comes later is not used; before the second picture they are zero.
    """
    taken = np.maximum.accumulate(np.arange(len(delay)) / RATE - delay)  # when the picture of each row was taken, seconds
    fresh = np.flatnonzero(np.diff(taken, prepend=-np.inf) > _SAME_PICTURE)  # rows that show a new one
    seconds, turns = np.diff(taken[fresh])[:, None], Rotation.from_quat(orientation[fresh])
    found = np.zeros((len(fresh), 6))
    if len(fresh) > 1:
        found[1:, :3] = np.diff(position[fresh], axis=0) / seconds
        found[1:, 3:] = (turns[1:] * turns[:-1].inv()).as_rotvec() / seconds
    return found[np.searchsorted(fresh, np.arange(len(delay)), side="right") - 1]
