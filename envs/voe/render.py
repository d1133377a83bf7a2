"""Pictures of clips: color, depth and masks, by the camera and the light of the published set.

    film = Studio().draw(clip, 112, 112);  film.rgb, film.depth, film.masks

Whatever the size of a picture, it shows the view of 960 x 540 pixels, squeezed.
"""

from dataclasses import dataclass

import numpy as np

import envs.voe.extra  # noqa: F401  first
from envs.bodies.rendering.cameras import Camera
from envs.bodies.rendering.lighting import Lighting
from envs.bodies.rendering.open import open_renderer
from envs.bodies.rendering.parts import Part, quads
from envs.bodies.rotations import rotation
from envs.voe import shapes
from envs.voe.clip import FRAMES, GROUND, Clip

WIDTH, HEIGHT = 960, 540  # of the published videos
_EYE, _DOWN, _ASIDE = np.array([-8.04, -27.78, 10.60]), np.radians(90 - 71.6), np.radians(16.4)
_LENS = 0.36  # tangent of half the horizontal view: half of 36 mm of film behind 50 mm
_FORWARD = np.array([np.sin(_ASIDE) * np.cos(_DOWN), np.cos(_ASIDE) * np.cos(_DOWN), -np.sin(_DOWN)])
CAMERA = Camera(
    tuple(_EYE), tuple(_EYE + 30 * _FORWARD), fov=float(np.degrees(2 * np.arctan(_LENS * HEIGHT / WIDTH))),
    height=HEIGHT, width=WIDTH, near=4.0, far=150.0, aspect=WIDTH / HEIGHT,
)  # fmt: skip
LIGHT = Lighting(
    direction=(-0.55, -0.45, 1.0), target=(0.0, -3.0, 2.0), reach=19.0, depth=22.0, pixels=512, background=(0.02, 0.02, 0.02),
    softness=0.16, lamp=(-11.0, -12.0, 20.0), fade=62.0,
)  # fmt: skip
_FINER = 2  # pixels drawn, each way, for one whose color is their mean
_WHITE = np.array([0.86, 0.86, 0.86])


def _ground() -> np.ndarray:
    """What the camera sees of the ground, as squares: Bullet's renderer draws no triangle that begins behind the camera."""
    x, y = np.meshgrid(np.linspace(-60, 100, 9), np.linspace(-17, 103, 7), indexing="ij")
    points = np.stack([x, y, 0 * x], -1)
    return quads(points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:])


MESHES = {"ground": _ground(), **{name: shapes.mesh(name) for name in shapes.COMMON}}


@dataclass(frozen=True)
class Film:
    """rgb (T, H, W, 3) uint8; depth (T, H, W) float32, scene units along the camera's axis; masks (T, H, W) uint8, numbers of
    `envs/voe/clip.py`."""

    rgb: np.ndarray
    depth: np.ndarray
    masks: np.ndarray


class Studio:
    """Draws clips. renderer: auto | moderngl | bullet."""

    def __init__(self, renderer: str = "auto") -> None:
        self._renderer = open_renderer(MESHES, renderer, LIGHT)

    @property
    def drawn_by(self) -> str:
        """moderngl | bullet"""
        return self._renderer.name

    def draw(self, clip: Clip, height: int, width: int, frames=range(FRAMES)) -> Film:
        """The frames of these numbers."""
        camera, seen = (CAMERA.sized(_FINER * height, _FINER * width),), []
        for number, frame in enumerate(frames):
            if number and _still(clip, frames[number - 1], frame):
                seen.append(seen[-1])
                continue
            pictures = self._renderer.draw(parts(clip, frame), camera)
            fine = pictures.rgb()[0].reshape(height, _FINER, width, _FINER, 3)
            rgb = (fine.sum((1, 3), dtype=np.uint16) // _FINER**2).astype(np.uint8)
            depth, masks = (one[0, ::_FINER, ::_FINER] for one in (pictures.depth(), pictures.segments()))
            seen.append((rgb, depth.astype(np.float32), masks))
        return Film(*(np.stack(one) for one in zip(*seen)))

    def close(self) -> None:
        self._renderer.close()


def _still(clip: Clip, before: int, frame: int) -> bool:
    """Whether two frames show the same."""
    moving = [clip.poses, clip.shown, *clip.cloth.values()]
    return all(np.array_equal(one[before], one[frame]) for one in moving)


def parts(clip: Clip, frame: int) -> list[Part]:
    """What is drawn of a clip in one frame."""
    found = [Part("ground", np.eye(4), _WHITE, GROUND, casts=False)]
    for number, body in enumerate(clip.bodies):
        if not clip.shown[frame, number]:
            continue
        pose, shape = np.eye(4), clip.meshes.get(body.mesh, body.mesh)
        if body.name in clip.cloth:
            shape = clip.cloth[body.name][frame]
        else:
            pose[:3, :3] = rotation(clip.poses[frame, number, 3:]) * body.scale
            pose[:3, 3] = clip.poses[frame, number, :3]
        found.append(Part(shape, pose, np.array(body.color), body.segment))
    return found
