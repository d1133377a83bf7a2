"""What all scenes share: frames, colours, where the camera stands, and how the tracks of bodies become a clip."""

import colorsys
from dataclasses import dataclass

import numpy as np

from envs.voe.clip import FRAMES, LEFT, OBJECT, OCCLUDER, RIGHT, Body, Clip
from envs.voe.settings import Setting

RATE = 24  # frames a second
STEPS = 10  # of the simulation in a frame
GRAVITY = 9.81
CAMERA = (-8.04, -27.78, 10.60)  # it looks 18.4 degrees down and 16.4 degrees to the right of y
DOWN, ASIDE = np.radians(18.4), np.radians(16.4)
HALF_VIEW = 0.36  # tangent of half the horizontal view: 36 mm of film behind a lens of 50 mm

COLORS = {
    "cube": (0.80, 0.05, 0.05), "cylinder": (0.55, 0.95, 0.10), "torus": (0.95, 0.50, 0.05), "sphere": (0.95, 0.90, 0.10),
    "cone": (0.05, 0.45, 0.10), "side_cylinder": (0.04, 0.04, 0.04), "inverted_cone": (0.45, 0.10, 0.65),
    "support": (0.45, 0.45, 0.45), "container": (0.95, 0.50, 0.65), "occluder": (0.10, 0.75, 0.90), "wall": (0.10, 0.20, 0.80),
}  # fmt: skip
_STILL = np.array([0.0, 0.0, 0.0, 1.0])  # as a quaternion


@dataclass(frozen=True)
class Track:
    """A body and where it is: poses (FRAMES, 7), velocities (FRAMES, 3), shown (FRAMES,) bool."""

    body: Body
    poses: np.ndarray
    velocities: np.ndarray
    shown: np.ndarray


@dataclass(frozen=True)
class Simulated:
    """A clip, and the frame from which on a surprising or a control version of it may differ: the moment of the cause."""

    clip: Clip
    moment: int


def track(body: Body, positions: np.ndarray, turns: np.ndarray | None = None, velocities: np.ndarray | None = None) -> Track:
    """positions (FRAMES, 3) or (3,); turns (FRAMES, 4) or (4,) or none; velocities (FRAMES, 3), or what the positions say."""
    positions = np.broadcast_to(positions, (FRAMES, 3)).astype(float)
    turns = np.broadcast_to(_STILL if turns is None else turns, (FRAMES, 4))
    if velocities is None:
        velocities = np.diff(positions, axis=0, prepend=positions[:1]) * RATE
    return Track(body, np.concatenate([positions, turns], 1), np.array(velocities, float), np.ones(FRAMES, bool))


def clip(tracks: list[Track], meshes: dict | None = None, cloth: dict | None = None) -> Clip:
    """The arrays cannot be written to: a clip may be handed out twice."""
    poses, velocities, shown = (
        np.stack([getattr(one, name) for one in tracks], 1) for name in ("poses", "velocities", "shown")
    )
    for array in (poses, velocities, shown, *(meshes or {}).values(), *(cloth or {}).values()):
        array.setflags(write=False)
    return Clip(tuple(one.body for one in tracks), poses, velocities, shown, meshes or {}, cloth or {})


def color(setting: Setting, shape: str, stream: int = 0) -> tuple[float, float, float]:
    """Of an object: that of its shape, or any bright one."""
    if setting.colors == "by_shape":
        return COLORS[shape]
    hue, light = setting.rng(10 + stream).random(2)
    return colorsys.hsv_to_rgb(float(hue), 0.85, 0.35 + 0.6 * float(light))


def thing(setting: Setting, shape: str, scale, name: str = "object") -> Body:
    """What moves in a trial."""
    segment = {"object": OBJECT, "left": LEFT, "right": RIGHT}[name]
    return Body(name, segment, shape, tuple(map(float, scale)), color(setting, shape, segment))


def occluder(scale, name: str = "occluder", mesh: str = "cube") -> Body:
    return Body(name, OCCLUDER, mesh, tuple(map(float, scale)), COLORS["occluder"])


def ramp(first: float, last: float) -> np.ndarray:
    """(FRAMES,): 0 before frame `first`, 1 from frame `last`, even in between. The papers' frame 1 is frame 0 here."""
    return np.clip((np.arange(FRAMES) - first) / (last - first), 0.0, 1.0)


def first_difference(one: Clip, other: Clip) -> int:
    """The first frame in which a body is elsewhere, turned or hidden; FRAMES where there is none."""
    differ = (one.poses != other.poses).any((1, 2)) | (one.shown != other.shown).any(1)
    for name, bent in one.cloth.items():
        differ |= (bent != other.cloth[name]).any((1, 2, 3))
    return int(np.argmax(differ)) if differ.any() else FRAMES
