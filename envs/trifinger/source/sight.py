"""What models see of states as pictures: which cameras, how many pixels, how finely drawn."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from envs.bodies.rendering.cameras import Camera
from envs.problem import Problem, nearest
from envs.trifinger.scene.views import FRONT, VIEWS

COUNTS = {"pixels": 1, "views": 3}  # observation -> cameras
CAMERAS: Mapping[str, tuple[Camera, ...]] = {"eyes": VIEWS, "front": (FRONT,)}
_FINEST = 4


@dataclass(frozen=True)
class Sight:
    """camera: eyes, the reference's, of which `pixels` shows the first; or front, one that no finger is hidden from.
    size: pixels along a side.  drawn: every pixel is the mean of drawn x drawn, so that an edge is not all or nothing.

    Problem on what there is not.
    """

    observation: str
    camera: str = "eyes"
    size: int = 64
    drawn: int = 1

    def __post_init__(self) -> None:
        if self.camera not in CAMERAS:
            raise Problem(f"there is no camera '{self.camera}': {nearest(str(self.camera), CAMERAS)}; set env.world.camera=")
        if len(CAMERAS[self.camera]) < self.count:
            raise Problem(f"observation '{self.observation}' is of {self.count} cameras, and camera '{self.camera}' is one; "
                          f"set env.observation=pixels, or env.world.camera=eyes")  # fmt: skip
        if not (isinstance(self.drawn, int) and 1 <= self.drawn <= _FINEST):
            raise Problem(f"a pixel is the mean of drawn x drawn, drawn 1 to {_FINEST}, got {self.drawn!r}; "
                          f"set env.world.drawn=")  # fmt: skip

    @property
    def count(self) -> int:
        """Cameras; 0 where the observation is no picture."""
        return COUNTS.get(self.observation, 0)

    @property
    def cameras(self) -> tuple[Camera, ...]:
        """As large as they are drawn."""
        side = self.size * self.drawn
        return tuple(camera.sized(side, side) for camera in CAMERAS[self.camera][: self.count])

    def shown(self, drawn: np.ndarray) -> np.ndarray:
        """What the cameras drew of rows, (B, cameras, S, S, 3) uint8  ->  (B, size, size, 3 cameras) uint8."""
        rows = drawn.transpose(0, 2, 3, 1, 4).reshape(len(drawn), *(self.size, self.drawn) * 2, 3 * self.count)
        if self.drawn == 1:
            return rows[:, :, 0, :, 0]
        return np.rint(rows.mean((2, 4), dtype=np.float32)).astype(np.uint8)

    def header(self) -> dict:
        """What decides a byte, without what is as it always was."""
        about = {"image_size": self.size} if self.count else {}
        if self.count and self.camera != "eyes":
            about["camera"] = [[*camera.eye, *camera.target, camera.fov] for camera in self.cameras]
        if self.count and self.drawn != 1:
            about["drawn"] = self.drawn
        return about
