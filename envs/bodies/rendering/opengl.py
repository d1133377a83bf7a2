"""The OpenGL renderer (moderngl over EGL): no display needed, one light, shadows; a software GL will do.

All parts are one list of triangles, so that a view is one call; all views are drawn side by side and read back once.
"""

import os
from collections import OrderedDict
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec

import numpy as np

from envs.bodies.rendering.cameras import Camera
from envs.bodies.rendering.lighting import ARENA, Lighting
from envs.bodies.rendering.parts import Part, triangles
from envs.bodies.rendering.shaders import HARD, NOTHING, SHADOW_VERTEX, SOFT, SOFT_VERTEX, VERTEX

_KEPT = 64  # lists of shapes whose triangles stay with OpenGL
_opened_by: set[int] = set()  # processes
_COLOR = np.dtype([("color", "f4", 4), ("segment", "u4")])


class GLRenderer:
    """Pictures of lists of parts. Raises where no OpenGL can be had; `open_renderer` falls back then.

    meshes: of shapes that are a world's own, as `triangles` reads them.
    """

    name = "moderngl"

    def __init__(self, meshes: Mapping[str, np.ndarray], lighting: Lighting = ARENA) -> None:
        import moderngl  # here: importing it where there is no GL library fails

        if find_spec("triton") is not None:  # of torch
            import_module("triton")  # a software GL brings an LLVM of its own: loaded after it, triton's ends the process
        if _opened_by - {os.getpid()}:  # it would wait for ever for threads that the fork did not take along
            raise RuntimeError("a process that had opened it was forked; start its children with context='spawn'")
        self._gl = moderngl.create_context(standalone=True, backend="egl", require=330)
        _opened_by.add(os.getpid())
        self._lighting, soft = lighting, lighting.softness > 0
        with self._gl:
            self._program = self._gl.program(
                vertex_shader=SOFT_VERTEX if soft else VERTEX, fragment_shader=SOFT if soft else HARD
            )
            self._shadow_program = self._gl.program(vertex_shader=SHADOW_VERTEX, fragment_shader=NOTHING)
            self._shadow = self._gl.depth_texture((lighting.pixels, lighting.pixels))
            self._shadow.compare_func, self._shadow.repeat_x, self._shadow.repeat_y = "<=", False, False
            self._shadow_frame = self._gl.framebuffer(depth_attachment=self._shadow)
            self._gl.enable(moderngl.DEPTH_TEST | moderngl.BLEND | moderngl.CULL_FACE)
            self._light_up(lighting)
            if soft:  # the same map once more, for its depths
                self._depths = self._gl.sampler(repeat_x=False, repeat_y=False, filter=(moderngl.NEAREST, moderngl.NEAREST))
        self._meshes = meshes
        self._frames: dict[tuple[int, int], tuple] = {}
        self._scenes: OrderedDict[tuple, _Scene] = OrderedDict()

    def _light_up(self, lighting: Lighting) -> None:
        """Hands the light to the shaders."""
        matrix, uniforms = lighting.matrix(), self._program
        for program in (self._program, self._shadow_program):
            program["light"].write(matrix.T.astype("f4").tobytes())
        uniforms["to_light"].value = tuple(lighting.toward())
        uniforms["shadow"].value = 0
        if lighting.softness:
            uniforms["nearest"].value = 1
            uniforms["lamp"].value, uniforms["fade"].value = lighting.lamp, lighting.fade
            uniforms["plane"].write(np.linalg.inv(matrix[:3, :3]).astype("f4").tobytes())  # its transpose, by columns
            uniforms["spread"].value = lighting.softness * lighting.depth / lighting.reach

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
            scene = self._scene(parts)
            scene.move(parts)
            self._shadow_frame.use()
            self._shadow_frame.clear(depth=1.0)
            scene.draw_shadows(casting)
            frame, segments = self._frame(width * len(cameras), height)
            frame.clear(*self._lighting.background, 1.0, depth=1.0)
            segments.clear()  # a colour of floats means nothing to whole numbers
            frame.use()
            self._shadow.use(0)
            if self._lighting.softness:
                self._shadow.use(1)
                self._depths.use(1)
            for i, camera in enumerate(cameras):
                frame.viewport = (i * width, 0, width, height)
                self._program["view_projection"].write((camera.projection() @ camera.view()).T.astype("f4").tobytes())
                scene.draw(len(parts))
            frame.viewport = (0, 0, width * len(cameras), height)
        return Pictures(self._gl, frame, cameras)

    def _scene(self, parts: list[Part]) -> "_Scene":
        shapes = tuple(part.shape if isinstance(part.shape, str) else len(part.shape) for part in parts)
        if shapes not in self._scenes:
            programs = self._program, self._shadow_program
            self._scenes[shapes] = _Scene(self._gl, shapes, self._meshes, *programs, bent=self._lighting.softness > 0)
            if len(self._scenes) > _KEPT:
                self._scenes.popitem(last=False)[1].release()
        self._scenes.move_to_end(shapes)
        return self._scenes[shapes]

    def close(self) -> None:
        self._gl.release()


def _turn(part: Part) -> int:
    """What throws a shadow comes first, then what lies in the light, then what shines through."""
    return 2 if part.alpha < 1.0 else int(not part.casts)


class _Scene:
    """The triangles of a list of shapes, moved here: a few thousand corners cost numpy little.

    shapes: names, or numbers of triangles that each part brings along.  bent: corners have normals, so that round is seen
    round.
    """

    def __init__(self, gl, shapes: tuple[str | int, ...], meshes: Mapping, program, shadow_program, bent: bool) -> None:
        corners, normals, order, self._ends = [], [], [], [0]
        for shape in shapes:
            if isinstance(shape, int):
                corner, normal, at = np.zeros((3 * shape, 3), "f4"), np.zeros((3 * shape, 3), "f4"), np.arange(3 * shape)
            else:
                corner, normal, at = _shared(triangles(shape, meshes), bent)
            order.append(at + sum(map(len, corners)))
            corners.append(corner)
            normals.append(normal)
            self._ends.append(self._ends[-1] + at.size)
        self._counts = [len(corner) for corner in corners]
        self._starts = np.cumsum(self._counts) - self._counts
        self._corners, self._normals = np.concatenate(corners)[:, None], np.concatenate(normals)[:, None] if bent else None
        self._positions = gl.buffer(reserve=12 * len(self._corners))
        self._colors = gl.buffer(reserve=20 * len(self._corners))
        index = gl.buffer(np.concatenate(order).astype("u4").tobytes())
        content = [(self._positions, "3f", "position"), (self._colors, "4f 1u", "color_in", "segment_in")]
        self._turned = gl.buffer(reserve=12 * len(self._corners)) if bent else None
        if bent:
            content.append((self._turned, "3f", "normal_in"))
        self._array = gl.vertex_array(program, content, index)
        self._shadows = gl.vertex_array(shadow_program, [(self._positions, "3f", "position")], index)
        self._owned = [one for one in (self._array, self._shadows, index, self._positions, self._colors, self._turned) if one]

    def move(self, parts: list[Part]) -> None:
        for part, start, count in zip(parts, self._starts, self._counts):
            if not isinstance(part.shape, str):
                self._corners[start : start + count, 0] = part.shape.reshape(-1, 3)
        poses = np.stack([part.pose for part in parts]).astype("f4")
        spread = np.repeat(poses, self._counts, axis=0)
        self._positions.write(((self._corners * spread[:, :3, :3]).sum(2) + spread[:, :3, 3]).tobytes())
        if self._turned is not None:
            turns = np.repeat(poses[:, :3, :3] / (poses[:, :3, :3] ** 2).sum(1, keepdims=True), self._counts, axis=0)
            self._turned.write((self._normals * turns).sum(2).tobytes())
        colors = [((*part.color, part.alpha), part.segment) for part in parts]
        self._colors.write(np.repeat(np.array(colors, _COLOR), self._counts).tobytes())

    def draw(self, count: int) -> None:
        """The first `count` parts."""
        self._array.render(vertices=self._ends[count])

    def draw_shadows(self, count: int) -> None:
        """The first `count` parts."""
        if count:
            self._shadows.render(vertices=self._ends[count])

    def release(self) -> None:
        """Gives back what OpenGL keeps of it."""
        for one in self._owned:
            one.release()


def _shared(faces: np.ndarray, bent: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Triangles (n, 3, 3) -> corners that differ (m, 3), their normals (m, 3) or zeros, and which of them each triangle has.

    A normal is the mean of the faces about a corner that are less than 45 degrees apart.
    """
    flat = faces.reshape(-1, 3).astype("f4")
    if not bent:
        corners, at = np.unique(flat, axis=0, return_inverse=True)
        return corners, np.zeros_like(corners), at.ravel()
    normals = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    units = np.repeat(normals / np.linalg.norm(normals, axis=1, keepdims=True), 3, axis=0)
    where = np.unique(flat.round(5), axis=0, return_inverse=True)[1].ravel()
    means = np.empty_like(units)
    for corner in range(where.max() + 1):
        here = np.flatnonzero(where == corner)
        near = units[here] @ units[here].T > np.cos(np.radians(45))
        mean = near @ np.repeat(normals, 3, axis=0)[here]
        means[here] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    both, at = np.unique(np.concatenate([flat, means.astype("f4").round(4)], 1), axis=0, return_inverse=True)
    return both[:, :3].copy(), both[:, 3:].copy(), at.ravel()


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
