"""Pictures of a state, by CausalWorld's three cameras (reference section 4) and others; views of the goal drawn once."""

from dataclasses import replace

import numpy as np

from envs.bodies.rendering.cameras import Camera
from envs.bodies.rendering.open import open_renderer
from envs.trifinger.scene.drawing import MESHES, Drawing
from envs.trifinger.scene.state import GOAL, GOAL_SPHERE, State, of_type

VIEWS = (  # the reference's eyes, and the table points that they look at
    Camera((0.2496, 0.2458, 0.58), (-0.048, -0.029, 0.0)),
    Camera((0.0047, -0.2834, 0.58), (0.0, 0.032, 0.0)),
    Camera((-0.2470, 0.2513, 0.50), (0.023, -0.027, 0.0)),
)
# between two fingers, before the third: less is hidden than from any of VIEWS
FRONT = Camera((0.0, -0.26, 0.46), (0.0, 0.0, 0.05), fov=56.0)
FILM = Camera((0.0, -0.30, 0.52), (0.0, 0.0, 0.0), fov=60.0, height=240, width=320)  # of render()
_ROLLS = 0.67, -2.04, 1.31  # of CausalWorld's cameras; ours stand level
LEGACY_VIEWS = tuple(replace(view, mirrored=True, roll=roll) for view, roll in zip(VIEWS, _ROLLS))  # as CausalWorld shows them


class Views:
    """What cameras see of states, for one robot model. Opens its renderer when first asked."""

    def __init__(self, model: str = "edu", renderer: str = "auto") -> None:
        self._drawing, self._kind, self._renderer = Drawing(model), renderer, None
        self._goals: tuple[list, np.ndarray] | None = None

    def _opened(self):
        if self._renderer is None:
            self._renderer = open_renderer(MESHES, self._kind)
        return self._renderer

    def _draw(self, parts, cameras):
        return self._opened().draw(parts, cameras)

    @property
    def drawn_by(self) -> str:
        """Name of the renderer: moderngl | bullet."""
        return self._opened().name

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
