"""Opening a renderer: OpenGL where it is to be had, Bullet's elsewhere."""

import sys
from collections.abc import Mapping

import numpy as np

from envs.bodies.rendering.lighting import ARENA, Lighting
from envs.bodies.rendering.opengl import GLRenderer
from envs.bodies.rendering.tiny import BulletRenderer
from envs.problem import Problem, nearest

RENDERERS = ("auto", "moderngl", "bullet")
_said: set[str] = set()


def open_renderer(
    meshes: Mapping[str, np.ndarray], kind: str = "auto", lighting: Lighting = ARENA
) -> GLRenderer | BulletRenderer:
    """auto: OpenGL, or Bullet with one sentence about it on stderr, once for each process.

    meshes: as `triangles` reads them.
    """
    if kind not in RENDERERS:
        raise Problem(f"there is no renderer '{kind}': {nearest(str(kind), RENDERERS)}")
    if kind != "bullet":
        try:
            return GLRenderer(meshes, lighting)
        except Exception as error:  # moderngl and the GL loader raise what they like
            why = " ".join(str(error).split()) or type(error).__name__
            if kind == "moderngl":
                raise Problem(f"OpenGL is not available: {why}; install libegl1 and libgl1-mesa-dri, or use bullet") from error
            if why not in _said:
                _said.add(why)
                print(f"OpenGL is not available ({why}): drawing with Bullet's renderer, which is slower", file=sys.stderr)
    return BulletRenderer(meshes, lighting)
