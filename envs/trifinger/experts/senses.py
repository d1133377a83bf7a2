"""What an expert knows: an observation vector as joints, tips and boxes. Masses and frictions are not in it."""

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


@dataclass(frozen=True)
class Scene:
    """One observation.  joints (9,) radians; tips (3, 3) metres; boxes by name."""

    joints: np.ndarray
    tips: np.ndarray
    boxes: dict[str, Box]


def read(parts: dict[str, np.ndarray]) -> Scene:
    """parts: of a structured observation, as `TriFingerEnv.named` gives them."""
    boxes = {
        (name := key.removesuffix("/size")): Box(size, parts[f"{name}/cartesian_position"], rotation(parts[f"{name}/orientation"]))
        for key, size in parts.items()
        if key.endswith("/size")
    }
    return Scene(parts["joint_positions"], parts["end_effector_positions"].reshape(3, 3), boxes)
