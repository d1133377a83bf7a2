"""Bullet for one clip: bodies made of convex pieces, free or on a rail along x.

Bullet never gives back what a convex piece takes, about 0.2 KB for each of its corners, not even with a new client: a process
that simulates for hours should be followed by another (2000 simulations take 0.1 GB).
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

import envs.voe.extra  # noqa: F401  first
from envs.bodies.bullet import Client, new_client
from envs.voe import shapes
from envs.voe.clip import FRAMES
from envs.voe.scenes import GRAVITY, RATE, STEPS

FRICTION = 0.5


_client = lru_cache(new_client)  # one for each process: opening it takes longer than a clip


def bullet(ground: bool = True) -> Client:
    """An empty simulation, with a ground or, for what slides, without; nothing is left of the one before."""
    client = _client()
    client.resetSimulation()
    client.setGravity(0, 0, -GRAVITY)
    client.setPhysicsEngineParameter(fixedTimeStep=1 / (RATE * STEPS), deterministicOverlappingPairs=1)
    if ground:
        client.createMultiBody(0, client.createCollisionShape(client.GEOM_PLANE))
    else:  # what has gone a little into something is not thrown back: that would be a bounce
        client.setPhysicsEngineParameter(erp=0.0, contactERP=0.0)
    return client


def fixed(client: Client, pieces: list[np.ndarray], position, restitution: float = 0.0) -> list[int]:
    """Pieces (n, 3) that no force moves, in scene units about `position`.  -> their bodies

    Bullet multiplies the restitutions of what meets.
    """
    found = []
    for piece in pieces:
        shape = client.createCollisionShape(client.GEOM_MESH, vertices=piece.tolist())
        found.append(client.createMultiBody(0, shape, basePosition=list(position)))
        client.changeDynamics(found[-1], -1, restitution=restitution, lateralFriction=FRICTION)
    return found


class Free:
    """A body that falls and turns. Its center of mass may be elsewhere than uniform density puts it."""

    def __init__(self, client: Client, shape: str, scale, position, restitution: float = 0.0, center=None) -> None:
        self.client, self.shape, self.scale = client, shape, np.asarray(scale, float)
        self.center = shapes.center_of_mass(shape) * self.scale if center is None else np.asarray(center, float)
        points = shapes.pieces(shape)[0] * self.scale - self.center
        made = client.createCollisionShape(client.GEOM_MESH, vertices=points.tolist())
        self.id = client.createMultiBody(1.0, made, basePosition=(np.asarray(position, float) + self.center).tolist())
        client.changeDynamics(
            self.id, -1, restitution=restitution, lateralFriction=FRICTION, rollingFriction=0.01, spinningFriction=0.01,
            linearDamping=0.0,
        )  # fmt: skip

    def pose(self) -> np.ndarray:
        """(7,): of the shape's origin."""
        position, turn = self.client.getBasePositionAndOrientation(self.id)
        return np.concatenate([np.array(position) - self._turned_center(turn), turn])

    def velocity(self) -> np.ndarray:
        """(3,): of the shape's origin, as the pose is. Bullet's is that of the center of mass, about which the body turns."""
        turn = self.client.getBasePositionAndOrientation(self.id)[1]
        linear, spin = map(np.array, self.client.getBaseVelocity(self.id))
        return linear - np.cross(spin, self._turned_center(turn))

    def _turned_center(self, turn) -> np.ndarray:
        """(3,): from the shape's origin to the center of mass, as the body is turned."""
        return np.array(self.client.getMatrixFromQuaternion(turn)).reshape(3, 3) @ self.center

    def touches(self, others: list[int]) -> bool:
        return any(self.client.getContactPoints(self.id, other) for other in others)


class Sliding:
    """A body on a rail along x, without friction: it neither turns nor rises."""

    def __init__(self, client: Client, points: np.ndarray, position, mass: float, speed: float) -> None:
        self.client, self.position = client, np.asarray(position, float)
        made = client.createCollisionShape(client.GEOM_MESH, vertices=points.tolist())
        self.id = client.createMultiBody(
            0, -1, -1, self.position.tolist(), linkMasses=[mass], linkCollisionShapeIndices=[made],
            linkVisualShapeIndices=[-1], linkPositions=[[0, 0, 0]], linkOrientations=[[0, 0, 0, 1]],
            linkInertialFramePositions=[[0, 0, 0]], linkInertialFrameOrientations=[[0, 0, 0, 1]], linkParentIndices=[0],
            linkJointTypes=[client.JOINT_PRISMATIC], linkJointAxis=[[1, 0, 0]],
        )  # fmt: skip
        client.setJointMotorControl2(self.id, 0, client.VELOCITY_CONTROL, force=0)
        for link in (-1, 0):
            client.changeDynamics(
                self.id, link, linearDamping=0, angularDamping=0, jointDamping=0, restitution=0, lateralFriction=0
            )
        client.resetJointState(self.id, 0, 0.0, speed)

    def state(self) -> tuple[float, float]:
        """Position and velocity along x."""
        way, speed = self.client.getJointState(self.id, 0)[:2]
        return self.position[0] + way, speed

    def touches(self, others: list[int]) -> bool:
        return any(self.client.getContactPoints(self.id, other) for other in others)

    def push(self, speed: float) -> None:
        """From now on it has this velocity."""
        self.client.resetJointState(self.id, 0, self.state()[0] - self.position[0], speed)


def frames(client: Client, read: Callable[[], np.ndarray], after: Callable[[int], None] = lambda step: None) -> np.ndarray:
    """(FRAMES, ...): what `read` finds in every frame; `after` is called with the number of every step once it is done."""
    found = []
    for frame in range(FRAMES):
        found.append(read())
        if frame + 1 < FRAMES:
            for step in range(frame * STEPS, (frame + 1) * STEPS):
                client.stepSimulation()
                after(step)
    return np.stack(found)
