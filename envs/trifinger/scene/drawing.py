"""A state as the list of parts that renderers draw, each a shape with a pose and a colour.

Segments: 0 nothing, 1 floor, 2 wall, 3 robot, 10 + i the i-th block or obstacle of the state, 100 + i the i-th goal.
"""

import xml.etree.ElementTree as ET
from functools import lru_cache

import numpy as np
from scipy.spatial.transform import Rotation

from envs.bodies.rendering.parts import FLOOR_SEGMENT, WALL_SEGMENT, Part, quads
from envs.bodies.rotations import rotation
from envs.trifinger.robot.kinematics import Kinematics
from envs.trifinger.robot.robot import FINGERS, FLOOR, JOINTS_LOW
from envs.trifinger.robot.urdf import urdf_file
from envs.trifinger.scene.simulation import WALL_HEIGHT, WALL_RADIUS
from envs.trifinger.scene.state import CUBE, GOAL, GOAL_SPHERE, STATIC, State, of_type

ROBOT_SEGMENT, FIRST_BLOCK, FIRST_GOAL = 3, 10, 100
_PART_OF_LINK = {"base": 0, "upper": 1, "middle": 2, "lower": 3, "tip": 3}


def _floor() -> np.ndarray:
    square = np.array([[-0.355, -0.38, 0], [0.355, -0.38, 0], [0.355, 0.38, 0], [-0.355, 0.38, 0]])
    return np.stack([square[:3], square[[0, 2, 3]]])


def _wall() -> np.ndarray:
    angle = np.linspace(0, 2 * np.pi, 49)
    ring = np.stack([np.cos(angle), np.sin(angle), 0 * angle], -1)
    inner, outer, up = ring * WALL_RADIUS, ring * (WALL_RADIUS + 0.003), np.array([0, 0, WALL_HEIGHT])
    inside = quads(inner[1:], inner[:-1], inner[:-1] + up, inner[1:] + up)
    rim = quads(inner[1:] + up, inner[:-1] + up, outer[:-1] + up, outer[1:] + up)
    return np.concatenate([inside, rim, quads(outer[:-1], outer[1:], outer[1:] + up, outer[:-1] + up)])


MESHES = {"floor": _floor(), "wall": _wall()}  # triangles (n, 3, 3) of the arena, as renderers are handed them


@lru_cache
def _visuals(model: str) -> tuple[tuple[str, str, np.ndarray, int], ...]:
    """(link, mesh file, offset in the link (4, 4), which of the finger's four variables colours it), of the URDF."""
    with urdf_file(model) as path:
        links = list(ET.parse(path).iter("link"))
    found = []
    for link in links:
        name = link.get("name")
        for visual in link.findall("visual"):
            mesh, origin = visual.find("geometry/mesh"), visual.find("origin")
            if mesh is None or not name.startswith("finger"):
                continue
            offset = np.eye(4)
            if origin is not None:
                offset[:3, 3] = [float(x) for x in origin.get("xyz", "0 0 0").split()]
                angles = [float(x) for x in origin.get("rpy", "0 0 0").split()]
                offset[:3, :3] = Rotation.from_euler("xyz", angles).as_matrix()
            finger = (0, 120, 240).index(int(name.rsplit("_", 1)[1]))
            found.append((name, mesh.get("filename"), offset, finger * 4 + _PART_OF_LINK[name.split("_")[1]]))
    return tuple(found)


class Drawing:
    """Makes the parts of states, for one robot model."""

    def __init__(self, model: str = "edu") -> None:
        self._model, self._kinematics = model, Kinematics(model)

    def scene(self, state: State, goal_alpha: float = 0.0) -> list[Part]:
        """Robot, arena, blocks, and the goals where goal_alpha > 0."""
        parts = self._arena(state) + self._robot(state, state["joint_positions"])
        parts += [self._object(state[name], FIRST_BLOCK + i) for i, name in enumerate(of_type(state, CUBE, STATIC))]
        return parts + (self._goals(state, goal_alpha) if goal_alpha else [])

    def goals(self, state: State) -> list[Part]:
        """The goals alone in the arena, the fingers at their lowest joints and so out of the way, as in CausalWorld."""
        return self._arena(state) + self._robot(state, JOINTS_LOW) + self._goals(state, 1.0)

    def _arena(self, state: State) -> list[Part]:
        ground = np.eye(4)
        ground[2, 3] = FLOOR
        floor = Part("floor", ground, state["floor_color"], FLOOR_SEGMENT, casts=False)
        return [floor, Part("wall", ground, state["stage_color"], WALL_SEGMENT, casts=False)]

    def _robot(self, state: State, joints: np.ndarray) -> list[Part]:
        poses = self._kinematics.link_poses(joints)
        colors = [state[f"robot_finger_{finger}_link_{part}"]["color"] for finger in FINGERS for part in range(4)]
        return [Part(mesh, poses[link] @ offset, colors[i], ROBOT_SEGMENT) for link, mesh, offset, i in _visuals(self._model)]

    def _goals(self, state: State, alpha: float) -> list[Part]:
        return [self._object(state[name], FIRST_GOAL + i, alpha) for i, name in enumerate(of_type(state, GOAL, GOAL_SPHERE))]

    @staticmethod
    def _object(thing: dict, segment: int, alpha: float = 1.0) -> Part:
        pose = np.eye(4)
        pose[:3, :3] = rotation(thing["orientation"]) * thing["size"]
        pose[:3, 3] = thing["cartesian_position"] + (0, 0, FLOOR)
        return Part("sphere" if int(thing["type"]) == GOAL_SPHERE else "box", pose, thing["color"], segment, alpha)
