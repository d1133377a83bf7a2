"""What models see of states as pictures: which cameras, how many pixels, how finely drawn, and a moment before or none."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from envs.bodies.rendering.cameras import Camera
from envs.problem import Problem, nearest
from envs.trifinger.scene.state import State
from envs.trifinger.scene.views import FRONT, VIEWS

COUNTS = {"pixels": 1, "views": 3}  # observation -> cameras
CAMERAS: Mapping[str, tuple[Camera, ...]] = {"eyes": VIEWS, "front": (FRONT,)}
_FINEST, _LONGEST = 4, 0.5


@dataclass(frozen=True)
class Sight:
    """camera: eyes, the reference's, of which `pixels` shows the first; or front, one between two fingers, from where less is
    hidden. size: pixels along a side.  drawn: every pixel is the mean of drawn x drawn, so that an edge is not all or nothing.
    motion: seconds; beside every picture stands one of where joints and blocks were so long before at their velocities
    (`earlier`). A state alone makes both, so that one that was set has its pictures, too; none: the picture alone.

    Problem on what there is not.
    """

    observation: str
    camera: str = "eyes"
    size: int = 64
    drawn: int = 1
    motion: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.camera, str) or self.camera not in CAMERAS:
            raise Problem(f"there is no camera '{self.camera}': {nearest(str(self.camera), CAMERAS)}; set env.world.camera=")
        if len(CAMERAS[self.camera]) < self.count:
            raise Problem(f"observation '{self.observation}' is of {self.count} cameras, and camera '{self.camera}' is one; "
                          f"set env.observation=pixels, or env.world.camera=eyes")  # fmt: skip
        if not (isinstance(self.size, int) and self.size is not True and self.size >= 1):
            raise Problem(f"image_size is a number of pixels >= 1 along a side, got {self.size!r}; set env.world.image_size=")
        if not (isinstance(self.drawn, int) and self.drawn is not True and 1 <= self.drawn <= _FINEST):
            raise Problem(f"a pixel is the mean of drawn x drawn, drawn 1 to {_FINEST}, got {self.drawn!r}; "
                          f"set env.world.drawn=")  # fmt: skip
        if self.motion is not None and not (isinstance(self.motion, int | float) and 0 < self.motion <= _LONGEST):
            raise Problem(f"motion is the time between two pictures, more than 0 and at most {_LONGEST} s, "
                          f"or null for one picture, got {self.motion!r}; set env.world.motion=")  # fmt: skip

    @property
    def count(self) -> int:
        """Cameras; 0 where the observation is no picture."""
        return COUNTS.get(self.observation, 0)

    @property
    def cameras(self) -> tuple[Camera, ...]:
        """As large as they are drawn."""
        side = self.size * self.drawn
        return tuple(camera.sized(side, side) for camera in CAMERAS[self.camera][: self.count])

    @property
    def colors(self) -> int:
        """Of what is shown: three for each picture."""
        return 3 * self.count * (1 if self.motion is None else 2)

    def moments(self, state: State) -> list[State]:
        """The states that are drawn for one."""
        return [state] if self.motion is None else [state, earlier(state, self.motion)]

    def shown(self, drawn: np.ndarray) -> np.ndarray:
        """What was drawn of rows, (B, pictures, S, S, 3) uint8  ->  (B, size, size, 3 pictures) uint8."""
        rows = drawn.transpose(0, 2, 3, 1, 4).reshape(len(drawn), *(self.size, self.drawn) * 2, -1)
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
        if self.count and self.motion is not None:
            about["motion"] = self.motion
        return about


def earlier(state: State, seconds: float) -> State:
    """Where joints and blocks were so long before at the velocities of the state; all else is shared with it."""
    found = dict(state)
    found["joint_positions"] = state["joint_positions"] - seconds * state["joint_velocities"]
    for name, thing in state.items():
        if thing.__class__ is dict and "linear_velocity" in thing:
            turned = Rotation.from_rotvec(-seconds * thing["angular_velocity"]) * Rotation.from_quat(thing["orientation"])
            where = thing["cartesian_position"] - seconds * thing["linear_velocity"]
            found[name] = {**thing, "cartesian_position": where, "orientation": turned.as_quat()}
    return found
