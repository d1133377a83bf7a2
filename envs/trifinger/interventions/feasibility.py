"""Whether bodies fit where a change would put them, checked in a scratch simulation."""

from collections.abc import Iterable

import numpy as np

from envs.bodies.rotations import rotation
from envs.problem import Problem, nearest
from envs.trifinger.scene.overlap import box_intersection
from envs.trifinger.scene.simulation import WALL_RADIUS, World
from envs.trifinger.scene.state import CUBE, GOAL, STATIC, State, boxes, of_type
from envs.trifinger.scene.variables import ARENA_HIGH, ARENA_LOW
from envs.trifinger.tasks.task import Changes

RULES = ("strict", "legacy")
DEPTH = 0.002  # metres: deeper contacts are refused
LEGACY_DEPTH, LEGACY_ROBOT_DEPTH, LEGACY_BELOW = 0.03, 0.0095, 0.01  # metres, of CausalWorld (reference section 7)
SLACK = 1e-9  # of closed bounds
_CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_ARENA = np.concatenate([(ARENA_LOW + ARENA_HIGH) / 2, [0, 0, 0, 1], ARENA_HIGH - ARENA_LOW])


class Feasibility:
    """rules: strict = nothing deeper than 2 mm in anything else, all within the arena; legacy = CausalWorld's thresholds, which
    take a block 2 cm inside the floor, a goal half outside the arena, and whatever a task builds anew."""

    def __init__(self, rules: str = "strict", robot: str = "edu", collision: str = "mesh") -> None:
        if rules not in RULES:
            raise Problem(f"there is no feasibility '{rules}': {nearest(str(rules), RULES)}")
        self._legacy, self._robot, self._collision, self._trial = rules == "legacy", robot, collision, None

    def against(self, state: State, changes: Changes, rebuilt: bool, new: Iterable[str] = ()) -> list[str]:
        """Reasons against a state that changes led to; nothing is asked where no change can matter.

        rebuilt: blocks and goals are new, not only what the changes name.  new: objects that came to those that stay.
        """
        new = set(new)
        if self._legacy and (rebuilt or new):
            return []
        touched = {path.partition("/")[0] for path in changes if path.endswith(("/size", "_position", "orientation"))}
        touched |= set(of_type(state, CUBE, STATIC, GOAL)) if rebuilt else new
        found = ((_legacy_outside(state, n) if self._legacy else _outside(state, n, rebuilt)) for n in touched if n in state)
        reasons = [reason for some in found for reason in some]
        moved, robot = touched & set(of_type(state, CUBE, STATIC)), "joint_positions" in changes
        return reasons if reasons or not (moved or robot) else self._inside_others(state, moved, robot)

    def _inside_others(self, state: State, moved: set[str], robot: bool) -> list[str]:
        if self._trial is None:
            self._trial = World(self._robot, self._collision)
        self._trial.load(state)
        reasons = []
        for a, b, depth in self._trial.contacts():
            changed = {a, b} & moved or (robot and "robot" in (a, b))
            still = {a, b} <= set(of_type(state, STATIC)) | {"floor", "stage"}  # a wall may stand in the floor
            most = (LEGACY_ROBOT_DEPTH if "robot" in (a, b) else LEGACY_DEPTH) if self._legacy else DEPTH
            if changed and not still and depth > most:
                reasons.append(f"{a} would be {1000 * depth:.1f} mm inside {b}; {1000 * most:g} mm at most")
        return list(dict.fromkeys(reasons))

    def close(self) -> None:
        if self._trial is not None:
            self._trial.close()
            self._trial = None


def _outside(state: State, name: str, rebuilt: bool) -> list[str]:
    """Blocks and goals: the middle in the arena's box (what was rebuilt may fill the whole ground, as high as it likes), no
    corner below the floor or beyond the round wall."""
    thing = state[name]
    if not isinstance(thing, dict) or int(thing.get("type", STATIC)) not in (CUBE, GOAL):
        return []
    position = thing["cartesian_position"]
    if not rebuilt and ((position < ARENA_LOW - SLACK).any() or (position > ARENA_HIGH + SLACK).any()):
        return [f"{name} would be outside the arena, {short(ARENA_LOW)} to {short(ARENA_HIGH)}, at {short(position)}"]
    corners = position + (_CORNERS * thing["size"]) @ rotation(thing["orientation"]).T
    if corners[:, 2].min() < -DEPTH:
        return [f"{name} would reach {-1000 * corners[:, 2].min():.1f} mm below the floor"]
    if (rebuilt or int(thing["type"]) == CUBE) and np.hypot(*corners[:, :2].T).max() > WALL_RADIUS + DEPTH:
        return [f"{name} would be beyond the round wall, at {short(position)}"]
    return []


def _legacy_outside(state: State, name: str) -> list[str]:
    """Goals alone: half of the volume in the arena's box, not more than a centimetre below the floor."""
    thing = state[name]
    if not isinstance(thing, dict) or int(thing.get("type", STATIC)) != GOAL:
        return []
    within = box_intersection(boxes(state, [name])[0], _ARENA) / np.prod(thing["size"])
    if within < 0.5:
        return [f"{name} would have {100 * within:.0f} % of its volume in the arena, 50 % at least"]
    corners = (_CORNERS * thing["size"]) @ rotation(thing["orientation"]).T
    below = -(thing["cartesian_position"][2] + corners[:, 2].min())
    return [f"{name} would reach {1000 * below:.1f} mm below the floor"] if below > LEGACY_BELOW else []


def short(values: np.ndarray) -> str:
    return np.array2string(np.asarray(values), precision=4, separator=", ", max_line_width=1000)
