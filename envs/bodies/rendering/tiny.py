"""Bullet's own renderer (TinyRenderer, on the CPU): slow, and there wherever the simulation runs. As `opengl`."""

from collections.abc import Mapping

import numpy as np
from scipy.spatial.transform import Rotation

from envs.bodies.bullet import new_client
from envs.bodies.rendering.cameras import Camera
from envs.bodies.rendering.lighting import ARENA, Lighting
from envs.bodies.rendering.parts import Part, triangles


class BulletRenderer:
    """Pictures of lists of parts, from a client that simulates nothing."""

    name = "bullet"

    def __init__(self, meshes: Mapping[str, np.ndarray], lighting: Lighting = ARENA) -> None:
        self._bullet, self._meshes, self._lighting = new_client(), meshes, lighting
        self._bodies: list[int] = []
        self._built: list[tuple] = []

    def _body(self, shape: str | np.ndarray, size: np.ndarray) -> int:
        faces = triangles(shape, self._meshes) * size
        normals = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
        normals = np.repeat(normals / np.linalg.norm(normals, axis=1, keepdims=True), 3, axis=0)
        visual = self._bullet.createVisualShape(
            self._bullet.GEOM_MESH, vertices=faces.reshape(-1, 3).tolist(), indices=list(range(3 * len(faces))),
            normals=normals.tolist(), uvs=[[0.0, 0.0]] * (3 * len(faces)),
        )  # fmt: skip
        return self._bullet.createMultiBody(baseMass=0, baseVisualShapeIndex=visual)

    def draw(self, parts: list[Part], cameras: tuple[Camera, ...]) -> "Pictures":
        sizes = [np.linalg.norm(part.pose[:3, :3], axis=0) for part in parts]
        shapes = [part.shape if isinstance(part.shape, str) else part.shape.tobytes() for part in parts]
        wanted = [(shape, *size.round(6)) for shape, size in zip(shapes, sizes)]
        if wanted != self._built:
            for body in self._bodies:
                self._bullet.removeBody(body)
            self._bodies = [self._body(part.shape, size) for part, size in zip(parts, sizes)]
            self._built = wanted
        for body, part, size in zip(self._bodies, parts, sizes):
            turn = Rotation.from_matrix(part.pose[:3, :3] / size).as_quat()
            self._bullet.resetBasePositionAndOrientation(body, part.pose[:3, 3].tolist(), turn.tolist())
            self._bullet.changeVisualShape(body, -1, rgbaColor=[*part.color.tolist(), part.alpha])
        segments = np.zeros(max(self._bodies, default=0) + 2, np.uint8)
        segments[self._bodies] = [part.segment for part in parts]
        return Pictures([self._picture(camera) for camera in cameras], cameras, segments)

    def _picture(self, camera: Camera):
        return self._bullet.getCameraImage(
            camera.width, camera.height, camera.view().T.ravel().tolist(), camera.projection().T.ravel().tolist(),
            lightDirection=list(self._lighting.direction), lightDistance=self._lighting.depth,
            lightAmbientCoeff=0.4, lightDiffuseCoeff=0.6,
            shadow=int(self._lighting.softness == 0),  # its map is made for a table
            renderer=self._bullet.ER_TINY_RENDERER,
        )  # fmt: skip

    def close(self) -> None:
        self._bullet.disconnect()


class Pictures:
    """As those of `opengl`."""

    def __init__(self, raw: list, cameras: tuple[Camera, ...], segments: np.ndarray) -> None:
        self._raw, self._cameras, self._segments = raw, cameras, segments

    def _views(self, index: int) -> np.ndarray:
        shapes = ((camera.height, camera.width, -1) for camera in self._cameras)
        views = [np.asarray(raw[index]).reshape(shape) for raw, shape in zip(self._raw, shapes)]
        return np.stack([view[:, ::-1] if camera.mirrored else view for view, camera in zip(views, self._cameras)])

    def rgb(self) -> np.ndarray:
        return self._views(2)[..., :3].astype(np.uint8)

    def depth(self) -> np.ndarray:
        return np.stack([camera.metres(view) for camera, view in zip(self._cameras, self._views(3)[..., 0])])

    def segments(self) -> np.ndarray:
        return self._segments[self._views(4)[..., 0]]  # -1, nothing, is the last one
