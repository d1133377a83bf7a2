"""What an expert knows: an observation as joints, tips and boxes. Masses and frictions are not in it."""

from dataclasses import dataclass

import numpy as np

from envs.bodies.rotations import rotation


@dataclass(frozen=True)
class Box:
    """A block, its goal or an obstacle.  size, position (3,) metres; rotation (3, 3), from its frame to the world's."""

    size: np.ndarray
    position: np.ndarray
    rotation: np.ndarray

    @property
    def yaw(self) -> float:
        """Turn of its x axis about the vertical, radians."""
        return float(np.arctan2(self.rotation[1, 0], self.rotation[0, 0]))

    def moved(self, position: np.ndarray) -> "Box":
        return Box(self.size, np.asarray(position, float), self.rotation)


@dataclass(frozen=True)
class Scene:
    """One observation.  joints (9,) radians; tips (3, 3) metres; boxes by name,
    among them points to be reached, without size."""

    joints: np.ndarray
    tips: np.ndarray
    boxes: dict[str, Box]


def read(parts: dict[str, np.ndarray]) -> Scene:
    """parts: of a structured observation, as `TriFingerEnv.named` gives them."""
    boxes = {}
    for key, position in parts.items():
        name, slash, feature = key.partition("/")
        if slash and feature == "cartesian_position":
            whole = f"{name}/orientation" in parts  # of a point to be reached nothing else is known
            turn = rotation(parts[f"{name}/orientation"]) if whole else np.eye(3)
            boxes[name] = Box(parts[f"{name}/size"] if whole else np.zeros(3), position, turn)
    return Scene(parts["joint_positions"], parts["end_effector_positions"].reshape(3, 3), boxes)


def turned(yaw: float) -> np.ndarray:
    """The rotation about the vertical by an angle, (3, 3)."""
    c, s = np.cos(yaw), np.sin(yaw)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def upright(box: Box) -> Box:
    """The same box, its axes renamed so that the third is the one nearest to the vertical."""
    up = int(np.argmax(np.abs(box.rotation[2])))
    order = [(up + 1) % 3, (up + 2) % 3, up]
    axes = box.rotation[:, order]
    return Box(box.size[order], box.position, axes if axes[2, 2] > 0 else axes * (1, -1, -1))


def fitting_yaws(block: Box, goal: Box) -> list[float]:
    """Yaws, the nearest first, at which an upright block fills its goal."""
    goal, quarter = upright(goal), np.pi / 2
    turns = np.round((block.yaw - goal.yaw) / quarter) + np.array([0, -1, 1])
    cube = np.ptp(block.size[:2]) < 0.003
    across = np.abs(goal.size[:2] - block.size[:2]).max() > 0.003  # its sides lie the other way round
    return [float(goal.yaw + quarter * n) for n in turns if cube or int(n) % 2 == int(across)]
