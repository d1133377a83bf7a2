"""Pictures of a state: OpenGL where it is to be had, Bullet's renderer elsewhere; views of the goal drawn once."""

import sys

import numpy as np

from envs.problem import Problem, nearest
from envs.trifinger.cameras import FILM, Camera
from envs.trifinger.drawing import Drawing
from envs.trifinger.render_bullet import BulletRenderer
from envs.trifinger.render_gl import GLRenderer
from envs.trifinger.state import GOAL, GOAL_SPHERE, State, of_type

RENDERERS = ("auto", "moderngl", "bullet")
_said: set[str] = set()


def open_renderer(kind: str = "auto") -> GLRenderer | BulletRenderer:
    """auto: OpenGL, or Bullet with one sentence about it on stderr, once for each process."""
    if kind not in RENDERERS:
        raise Problem(f"there is no renderer '{kind}': {nearest(str(kind), RENDERERS)}")
    if kind != "bullet":
        try:
            return GLRenderer()
        except Exception as error:  # moderngl and the GL loader raise what they like
            why = " ".join(str(error).split()) or type(error).__name__
            if kind == "moderngl":
                raise Problem(f"OpenGL cannot be had: {why}; install libegl1 and libgl1-mesa-dri, or use bullet") from error
            if why not in _said:
                _said.add(why)
                print(f"OpenGL cannot be had ({why}): drawing with Bullet's renderer, which is slower", file=sys.stderr)
    return BulletRenderer()


class Views:
    """What cameras see of states, for one robot model. Opens its renderer when first asked."""

    def __init__(self, model: str = "edu", renderer: str = "auto") -> None:
        self._drawing, self._kind, self._renderer = Drawing(model), renderer, None
        self._goals: tuple[list, np.ndarray] | None = None

    def _draw(self, parts, cameras):
        if self._renderer is None:
            self._renderer = open_renderer(self._kind)
        return self._renderer.draw(parts, cameras)

    def now(self, state: State, cameras: tuple[Camera, ...]) -> np.ndarray:
        """The scene without its goals, (cameras, H, W, 3) uint8."""
        return self._draw(self._drawing.scene(state), cameras).rgb()

    def goal(self, state: State, cameras: tuple[Camera, ...]) -> np.ndarray:
        """The goals in the empty arena, (cameras, H, W, 3) uint8; drawn again only when something in it changed."""
        names = of_type(state, GOAL, GOAL_SPHERE)
        colors = [value["color"] for key, value in state.items() if key.startswith("robot")]
        seen = [*(v for name in names for v in state[name].values()), *colors, state["floor_color"], state["stage_color"]]
        key = [cameras, names, np.concatenate([np.ravel(v) for v in seen]).tolist()]
        if self._goals is None or self._goals[0] != key:
            self._goals = key, self._draw(self._drawing.goals(state), cameras).rgb()
        return self._goals[1]

    def film(self, state: State, camera: Camera = FILM) -> np.ndarray:
        """The scene with its goals shining through, (H, W, 3) uint8."""
        return self._draw(self._drawing.scene(state, goal_alpha=0.4), (camera,)).rgb()[0]

    def depth(self, state: State, cameras: tuple[Camera, ...]) -> np.ndarray:
        """(cameras, H, W) metres along each camera's axis"""
        return self._draw(self._drawing.scene(state), cameras).depth()

    def segments(self, state: State, cameras: tuple[Camera, ...]) -> np.ndarray:
        """(cameras, H, W) uint8: what each pixel shows (numbers of `drawing`)"""
        return self._draw(self._drawing.scene(state), cameras).segments()

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
