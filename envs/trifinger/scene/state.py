"""The state of the world as plain data: variable name -> value, or object name -> {variable -> value}; float64 arrays.

    joint_positions, joint_velocities (9,)   gravity (3,)   floor_friction, stage_friction, finger_friction ()
    floor_color, stage_color (3,)
    robot_finger_60_link_0 ... {mass (), color (3,)}
    <block> {size (3,), color (3,), cartesian_position (3,), orientation (4,) xyzw; blocks also friction (); movable blocks
             also mass (), linear_velocity (3,), angular_velocity (3,)}

Units: metres, kilograms, seconds, radians; heights from the floor; colours red, green, blue in [0, 1]. What an object is
stands in its `type`: one of CUBE, STATIC, GOAL, GOAL_SPHERE. "floor" is the table, "stage" the round wall, as everywhere
in CausalWorld. `cylindrical_position` and `euler_orientation` are other names of the same facts and are not stored.
"""

import numpy as np

from envs.trifinger.robot.robot import LINKS, REST

CUBE, STATIC, GOAL, GOAL_SPHERE = 1, 10, 20, 21  # the reference's ids
OBJECTS = (CUBE, STATIC, GOAL, GOAL_SPHERE)
UPRIGHT = (0.0, 0.0, 0.0, 1.0)
RED, GREEN, BLACK = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 0.0)
State = dict[str, object]


def block(position, size=0.065, mass=0.02, color=RED, orientation=UPRIGHT) -> dict[str, np.ndarray]:
    """A movable block. size: one edge, or three."""
    return {
        "type": np.array(CUBE), "size": _three(size), "color": np.array(color), "cartesian_position": np.array(position, float),
        "orientation": np.array(orientation, float), "friction": np.array(1.0), "mass": np.array(mass),
        "linear_velocity": np.zeros(3), "angular_velocity": np.zeros(3),
    }  # fmt: skip


def obstacle(position, size, color=BLACK) -> dict[str, np.ndarray]:
    """A block that nothing moves."""
    return {
        "type": np.array(STATIC), "size": _three(size), "color": np.array(color),
        "cartesian_position": np.array(position, float), "orientation": np.array(UPRIGHT), "friction": np.array(1.0),
    }  # fmt: skip


def goal(position, size=0.065, orientation=UPRIGHT, color=GREEN, sphere: bool = False) -> dict[str, np.ndarray]:
    """A shape to be filled; nothing touches it. A sphere's size is its diameter three times."""
    return {
        "type": np.array(GOAL_SPHERE if sphere else GOAL), "size": _three(size), "color": np.array(color),
        "cartesian_position": np.array(position, float), "orientation": np.array(orientation, float),
    }  # fmt: skip


def _three(size) -> np.ndarray:
    return np.full(3, size, float) if np.isscalar(size) else np.array(size, float)


def arena(link_masses: np.ndarray, joint_positions=REST) -> State:
    """The empty arena: the robot at rest, floor and wall. link_masses (12,) in the order of LINKS."""
    state = {
        "joint_positions": np.array(joint_positions, float), "joint_velocities": np.zeros(9),
        "gravity": np.array([0.0, 0.0, -9.81]),
        "floor_friction": np.array(0.5), "stage_friction": np.array(0.5), "finger_friction": np.array(0.5),
        "floor_color": np.array([0.31, 0.27, 0.25]), "stage_color": np.array([0.95, 0.95, 0.95]),
    }  # fmt: skip
    colors = np.array([[0.6, 0.0, 0.0], [0.0, 0.6, 0.0], [0.0, 0.0, 0.6]])
    links = {name: {"mass": np.array(m), "color": colors[i // 4].copy()} for i, (name, m) in enumerate(zip(LINKS, link_masses))}
    return {**state, **links}


def copied(state: State) -> State:
    """A state that shares nothing with this one."""
    return {
        k: {s: v.copy() for s, v in value.items()} if isinstance(value, dict) else value.copy() for k, value in state.items()
    }


def of_type(state: State, *types: int) -> list[str]:
    """Names of the objects of these types, in the order in which the state lists them."""
    return [k for k, value in state.items() if value.__class__ is dict and "type" in value and int(value["type"]) in types]


def boxes(state: State, names: list[str]) -> np.ndarray:
    """Rows as `overlap` reads them, (n, 10)."""
    keys = ("cartesian_position", "orientation", "size")
    return np.concatenate([state[name][key] for name in names for key in keys] or [np.zeros(0)]).reshape(-1, 10)


def same(a: State, b: State) -> bool:
    """Bit for bit."""
    if list(a) != list(b):
        return False
    return all(same(a[k], b[k]) if isinstance(a[k], dict) else np.array_equal(a[k], b[k]) for k in a)
