"""The OpenGL renderer (moderngl over EGL): no display needed, one light, shadows; software GL suffices.

All parts are one list of triangles, so that a view is one call; all views are drawn side by side and read back once.
"""

import os
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec

import numpy as np

from envs.bodies.rendering.cameras import Camera
from envs.bodies.rendering.parts import FLOOR_SEGMENT, WALL_SEGMENT, Part, triangles

_SHADOW = 512  # pixels of the shadow map, each side
LIGHT = np.array([0.35, -0.25, 1.0])  # direction to the light
_BACKGROUND = (0.75, 0.8, 0.85)
_opened_by: set[int] = set()  # processes
_COLOR = np.dtype([("color", "f4", 4), ("segment", "u4")])

_VERTEX = """
#version 330
uniform mat4 view_projection, light;
in vec3 position;
in vec4 color_in;
in uint segment_in;
out vec3 world;
out vec4 lit;
flat out vec4 color;
flat out uint segment;
void main() {
    world = position;
    lit = light * vec4(position, 1.0);
    color = color_in;
    segment = segment_in;
    gl_Position = view_projection * vec4(position, 1.0);
}
"""
_FRAGMENT = """
#version 330
uniform vec3 to_light;
uniform sampler2DShadow shadow;
in vec3 world;
in vec4 lit;
flat in vec4 color;
flat in uint segment;
layout(location = 0) out vec4 picture;
layout(location = 1) out uint found;
void main() {
    vec3 normal = normalize(cross(dFdx(world), dFdy(world)));  // towards the eye
    float facing = dot(normal, to_light);
    vec3 at = lit.xyz * 0.5 + 0.5;
    float open = facing > 0.0 ? texture(shadow, vec3(at.xy, at.z - 0.004)) : 0.0;
    picture = vec4(color.rgb * (0.45 + 0.15 * normal.z + 0.45 * max(facing, 0.0) * open), color.a);
    found = segment;
}
"""
_SHADOW_VERTEX = """
#version 330
uniform mat4 light;
in vec3 position;
void main() { gl_Position = light * vec4(position, 1.0); }
"""


class GLRenderer:
    """Pictures of lists of parts. Raises where no OpenGL can be had; `open_renderer` falls back then.

    meshes: of shapes that are a world's own, as `triangles` reads them.
    """

    name = "moderngl"

    def __init__(self, meshes: Mapping[str, np.ndarray]) -> None:
        import moderngl  # here: importing it where there is no GL library fails

        if find_spec("triton") is not None:  # of torch
            import_module("triton")  # a software GL brings an LLVM of its own: loaded after it, triton's ends the process
        if _opened_by - {os.getpid()}:  # it would wait for ever for threads that the fork did not take along
            raise RuntimeError("a process that had opened it was forked; start its children with context='spawn'")
        self._gl = moderngl.create_context(standalone=True, backend="egl", require=330)
        _opened_by.add(os.getpid())
        with self._gl:
            self._program = self._gl.program(vertex_shader=_VERTEX, fragment_shader=_FRAGMENT)
            self._shadow_program = self._gl.program(
                vertex_shader=_SHADOW_VERTEX, fragment_shader="#version 330\nvoid main() {}"
            )
            self._shadow = self._gl.depth_texture((_SHADOW, _SHADOW))
            self._shadow.compare_func, self._shadow.repeat_x, self._shadow.repeat_y = "<=", False, False
            self._shadow_frame = self._gl.framebuffer(depth_attachment=self._shadow)
            self._gl.enable(moderngl.DEPTH_TEST | moderngl.BLEND | moderngl.CULL_FACE)
            light = self._light_matrix().T.astype("f4").tobytes()
            for program in (self._program, self._shadow_program):
                program["light"].write(light)
            self._program["to_light"].value = tuple(LIGHT / np.linalg.norm(LIGHT))
            self._program["shadow"].value = 0
        self._meshes = meshes
        self._frames: dict[tuple[int, int], tuple] = {}
        self._scenes: dict[tuple[str, ...], _Scene] = {}

    @staticmethod
    def _light_matrix() -> np.ndarray:
        """Light as a camera without perspective around the arena."""
        light = Camera(tuple(LIGHT), (0.0, 0.0, 0.0)).view()
        box = np.diag([1 / 0.55, 1 / 0.55, -1 / 1.0, 1.0])
        box[2, 3] = -1.0 * np.linalg.norm(LIGHT)
        return box @ light

    def _frame(self, width: int, height: int) -> tuple:
        if (width, height) not in self._frames:
            size = (width, height)
            pictures = [self._gl.texture(size, 4), self._gl.texture(size, 1, dtype="u1")]
            whole = self._gl.framebuffer(pictures, self._gl.depth_texture(size))
            self._frames[size] = whole, self._gl.framebuffer(pictures[1:])
        return self._frames[width, height]

    def draw(self, parts: list[Part], cameras: tuple[Camera, ...]) -> "Pictures":
        """All cameras must have one size."""
        parts = sorted(parts, key=_turn)
        casting = sum(_turn(part) == 0 for part in parts)
        height, width = cameras[0].height, cameras[0].width
        with self._gl:  # the one that is drawn with: others may be open
            scene = self._scene(tuple(part.shape for part in parts))
            scene.move(parts)
            self._shadow_frame.use()
            self._shadow_frame.clear(depth=1.0)
            scene.draw_shadows(casting)
            frame, segments = self._frame(width * len(cameras), height)
            frame.clear(*_BACKGROUND, 1.0, depth=1.0)
            segments.clear()  # a colour of floats means nothing to whole numbers
            frame.use()
            self._shadow.use(0)
            for i, camera in enumerate(cameras):
                frame.viewport = (i * width, 0, width, height)
                self._program["view_projection"].write((camera.projection() @ camera.view()).T.astype("f4").tobytes())
                scene.draw(len(parts))
            frame.viewport = (0, 0, width * len(cameras), height)
        return Pictures(self._gl, frame, cameras)

    def _scene(self, shapes: tuple[str, ...]) -> "_Scene":
        if shapes not in self._scenes:
            self._scenes[shapes] = _Scene(self._gl, shapes, self._meshes, self._program, self._shadow_program)
        return self._scenes[shapes]

    def close(self) -> None:
        self._gl.release()


def _turn(part: Part) -> int:
    """What throws a shadow comes first, then the arena, which lies in the light, then what shines through."""
    return 2 if part.alpha < 1.0 else int(part.segment in (FLOOR_SEGMENT, WALL_SEGMENT))


class _Scene:
    """The triangles of a list of shapes, moved here: a few thousand corners cost numpy little."""

    def __init__(self, gl, shapes: tuple[str, ...], meshes: Mapping[str, np.ndarray], program, shadow_program) -> None:
        corners, order, self._ends = [], [], [0]
        for shape in shapes:
            corner, at = np.unique(triangles(shape, meshes).reshape(-1, 3).astype("f4"), axis=0, return_inverse=True)
            order.append(at.ravel() + sum(map(len, corners)))
            corners.append(corner)
            self._ends.append(self._ends[-1] + at.size)
        self._counts = [len(corner) for corner in corners]
        self._corners = np.concatenate(corners)[:, None]
        self._positions = gl.buffer(reserve=12 * len(self._corners))
        self._colors = gl.buffer(reserve=20 * len(self._corners))
        index = gl.buffer(np.concatenate(order).astype("u4").tobytes())
        colors = (self._colors, "4f 1u", "color_in", "segment_in")
        self._array = gl.vertex_array(program, [(self._positions, "3f", "position"), colors], index)
        self._shadows = gl.vertex_array(shadow_program, [(self._positions, "3f", "position")], index)

    def move(self, parts: list[Part]) -> None:
        poses = np.repeat(np.stack([part.pose for part in parts]).astype("f4"), self._counts, axis=0)
        self._positions.write(((self._corners * poses[:, :3, :3]).sum(2) + poses[:, :3, 3]).tobytes())
        colors = [((*part.color, part.alpha), part.segment) for part in parts]
        self._colors.write(np.repeat(np.array(colors, _COLOR), self._counts).tobytes())

    def draw(self, count: int) -> None:
        """The first `count` parts."""
        self._array.render(vertices=self._ends[count])

    def draw_shadows(self, count: int) -> None:
        """The first `count` parts."""
        if count:
            self._shadows.render(vertices=self._ends[count])


class Pictures:
    """The pictures of one call, valid until the next call. Arrays (views, H, W, ...), first row on top."""

    def __init__(self, gl, frame, cameras: tuple[Camera, ...]) -> None:
        self._gl, self._frame, self._cameras = gl, frame, cameras

    def _views(self, kind: str, channels: int, **read) -> np.ndarray:
        with self._gl:
            raw = self._frame.read(components=channels, alignment=1, **read)
        n, height, width = len(self._cameras), self._cameras[0].height, self._cameras[0].width
        wide = np.frombuffer(raw, kind).reshape(height, n, width, channels)[::-1].transpose(1, 0, 2, 3)
        return np.stack([view[:, ::-1] if c.mirrored else view for view, c in zip(wide, self._cameras)])

    def rgb(self) -> np.ndarray:
        """(views, H, W, 3) uint8"""
        return self._views("u1", 3)

    def depth(self) -> np.ndarray:
        """(views, H, W) metres along the view axis"""
        raw = self._views("f4", 1, attachment=-1, dtype="f4")[..., 0]
        return np.stack([camera.metres(view) for camera, view in zip(self._cameras, raw)])

    def segments(self) -> np.ndarray:
        """(views, H, W) uint8, numbers of the parts"""
        return self._views("u1", 1, attachment=1, dtype="u1")[..., 0]
