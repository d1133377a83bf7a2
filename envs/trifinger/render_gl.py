"""The OpenGL renderer (moderngl over EGL): no display needed, one light, shadows; a software GL will do.

All views of a call are drawn side by side into one picture and read back once.
"""

import numpy as np

from envs.trifinger.cameras import Camera
from envs.trifinger.drawing import WALL_SEGMENT, Part, triangles

_SHADOW = 1024  # pixels of the shadow map, each side
LIGHT = np.array([0.35, -0.25, 1.0])  # direction to the light
_BACKGROUND = (0.75, 0.8, 0.85)

_VERTEX = """
#version 330
uniform mat4 model, view_projection, light;
in vec3 position;
out vec3 world;
out vec4 lit;
void main() {
    vec4 at = model * vec4(position, 1.0);
    world = at.xyz;
    lit = light * at;
    gl_Position = view_projection * at;
}
"""
_FRAGMENT = """
#version 330
uniform vec4 color;
uniform uint segment;
uniform vec3 to_light, eye;
uniform sampler2DShadow shadow;
in vec3 world;
in vec4 lit;
layout(location = 0) out vec4 picture;
layout(location = 1) out uint found;
void main() {
    vec3 normal = normalize(cross(dFdx(world), dFdy(world)));
    if (dot(normal, eye - world) < 0.0) normal = -normal;  // meshes are not all wound the same way
    float facing = dot(normal, to_light);
    vec3 at = lit.xyz * 0.5 + 0.5;
    float open = facing > 0.0 ? texture(shadow, vec3(at.xy, at.z - 0.004)) : 0.0;
    picture = vec4(color.rgb * (0.45 + 0.15 * normal.z + 0.45 * max(facing, 0.0) * open), color.a);
    found = segment;
}
"""
_SHADOW_VERTEX = """
#version 330
uniform mat4 model, light;
in vec3 position;
void main() { gl_Position = light * model * vec4(position, 1.0); }
"""


class GLRenderer:
    """Pictures of lists of parts. Raises where no OpenGL can be had; `open_renderer` falls back then."""

    name = "moderngl"

    def __init__(self) -> None:
        import moderngl  # here: importing it where there is no GL library fails

        self._gl = moderngl.create_context(standalone=True, backend="egl", require=330)
        self._program = self._gl.program(vertex_shader=_VERTEX, fragment_shader=_FRAGMENT)
        self._shadow_program = self._gl.program(vertex_shader=_SHADOW_VERTEX, fragment_shader="#version 330\nvoid main() {}")
        self._shadow = self._gl.depth_texture((_SHADOW, _SHADOW))
        self._shadow.compare_func, self._shadow.repeat_x, self._shadow.repeat_y = "<=", False, False
        self._shadow_frame = self._gl.framebuffer(depth_attachment=self._shadow)
        self._frames: dict[tuple[int, int], object] = {}
        self._shapes: dict[str, tuple] = {}
        self._light = self._light_matrix()
        self._gl.enable(moderngl.DEPTH_TEST)
        self._blend = moderngl.BLEND

    @staticmethod
    def _light_matrix() -> np.ndarray:
        """Light as a camera without perspective around the arena."""
        light = Camera(tuple(LIGHT), (0.0, 0.0, 0.0)).view()
        box = np.diag([1 / 0.55, 1 / 0.55, -1 / 1.0, 1.0])
        box[2, 3] = -1.0 * np.linalg.norm(LIGHT)
        return box @ light

    def _shape(self, name: str) -> tuple:
        """(to draw it, to draw its shadow)"""
        if name not in self._shapes:
            corners, order = np.unique(triangles(name).reshape(-1, 3).astype("f4"), axis=0, return_inverse=True)
            buffers = self._gl.buffer(corners.tobytes()), self._gl.buffer(order.astype("u4").tobytes())
            programs = (self._program, self._shadow_program)
            self._shapes[name] = tuple(self._gl.vertex_array(p, [(buffers[0], "3f", "position")], buffers[1]) for p in programs)
        return self._shapes[name]

    def _frame(self, width: int, height: int):
        if (width, height) not in self._frames:
            size = (width, height)
            pictures = [self._gl.texture(size, 4), self._gl.texture(size, 1, dtype="u1")]
            whole = self._gl.framebuffer(pictures, self._gl.depth_texture(size))
            self._frames[size] = whole, self._gl.framebuffer(pictures[1:])
        return self._frames[width, height]

    def draw(self, parts: list[Part], cameras: tuple[Camera, ...]) -> "Pictures":
        """All cameras must have one size."""
        height, width = cameras[0].height, cameras[0].width
        solid = [part for part in parts if part.alpha >= 1.0]
        clear = [part for part in parts if part.alpha < 1.0]
        poses = {id(part): np.ascontiguousarray(part.pose.T, dtype="f4").tobytes() for part in parts}
        light = self._light.T.astype("f4").tobytes()
        self._shadow_frame.use()
        self._shadow_frame.clear(depth=1.0)
        self._shadow_program["light"].write(light)
        for part in solid:
            if part.segment == WALL_SEGMENT:  # the arena lies in the light
                continue
            self._shadow_program["model"].write(poses[id(part)])
            self._shape(part.shape)[1].render()
        frame, segments = self._frame(width * len(cameras), height)
        frame.clear(*_BACKGROUND, 1.0, depth=1.0)
        segments.clear()  # a colour of floats means nothing to whole numbers
        frame.use()
        self._shadow.use(0)
        program = self._program
        program["light"].write(light)
        program["to_light"].value = tuple(LIGHT / np.linalg.norm(LIGHT))
        for i, camera in enumerate(cameras):
            frame.viewport = (i * width, 0, width, height)
            program["view_projection"].write((camera.projection() @ camera.view()).T.astype("f4").tobytes())
            program["eye"].value = camera.eye
            for part in solid:
                self._draw(part, poses[id(part)])
            if clear:
                self._gl.enable(self._blend)
                for part in clear:
                    self._draw(part, poses[id(part)])
                self._gl.disable(self._blend)
        frame.viewport = (0, 0, width * len(cameras), height)
        return Pictures(frame, cameras)

    def _draw(self, part: Part, pose: bytes) -> None:
        self._program["model"].write(pose)
        self._program["color"].value = (*part.color.tolist(), part.alpha)
        self._program["segment"].value = part.segment
        self._shape(part.shape)[0].render()

    def close(self) -> None:
        self._gl.release()


class Pictures:
    """What a call drew; valid until the next one. Arrays (views, H, W, ...), first row on top."""

    def __init__(self, frame, cameras: tuple[Camera, ...]) -> None:
        self._frame, self._cameras = frame, cameras

    def _views(self, raw: bytes, kind: str, channels: int) -> np.ndarray:
        n, height, width = len(self._cameras), self._cameras[0].height, self._cameras[0].width
        wide = np.frombuffer(raw, kind).reshape(height, n, width, channels)[::-1].transpose(1, 0, 2, 3)
        return np.stack([view[:, ::-1] if c.mirrored else view for view, c in zip(wide, self._cameras)])

    def rgb(self) -> np.ndarray:
        """(views, H, W, 3) uint8"""
        return self._views(self._frame.read(components=3, alignment=1), "u1", 3)

    def depth(self) -> np.ndarray:
        """(views, H, W) metres along the view axis"""
        raw = self._views(self._frame.read(attachment=-1, components=1, dtype="f4", alignment=1), "f4", 1)[..., 0]
        return np.stack([camera.metres(view) for camera, view in zip(self._cameras, raw)])

    def segments(self) -> np.ndarray:
        """(views, H, W) uint8, numbers of `drawing`"""
        return self._views(self._frame.read(attachment=1, components=1, dtype="u1", alignment=1), "u1", 1)[..., 0]
