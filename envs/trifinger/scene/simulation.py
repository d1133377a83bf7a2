"""The simulation: robot, floor, wall and blocks in one Bullet client, made equal to a state and read back into it.

Goals are not bodies: nothing touches them, so they exist in the state alone.
"""

from collections.abc import Callable

import numpy as np

from envs.bodies.bullet import new_client
from envs.problem import Problem, nearest
from envs.trifinger.robot.robot import FLOOR, LINKS, REST, Robot
from envs.trifinger.scene.state import CUBE, STATIC, State, copied, of_type

TIME_STEP = 1 / 250  # seconds
WALL_RADIUS, WALL_HEIGHT = 0.242, 0.25  # metres, inner radius of the round wall
DYNAMICS = ("default", "legacy")
_SHAPES = 300  # boxes of other sizes, of 3 kB each, before the engine is started anew; that takes 30 ms
_MOVING = ("cartesian_position", "orientation", "linear_velocity", "angular_velocity")


class World:
    """One simulated arena. Not thread-safe; worlds share nothing, every one has a client of its own."""

    def __init__(self, robot: str = "edu", collision: str = "mesh", dynamics: str = "default") -> None:
        if dynamics not in DYNAMICS:
            raise Problem(f"there is no dynamics '{dynamics}': {nearest(str(dynamics), DYNAMICS)}")
        self._kind = robot, collision, dynamics
        self._build()

    def _build(self) -> None:
        """A client with robot, floor and wall, and no block yet."""
        self._bullet = bullet = new_client()
        bullet.setTimeStep(TIME_STEP)
        # One island: the solver ends by the error left over all bodies that it solves together; were they groups, made by a
        # union of what touched what, its result would depend in the last digits on how the past had grouped them.
        bullet.setPhysicsEngineParameter(deterministicOverlappingPairs=1, minimumSolverIslandSize=10**6)
        self.robot = Robot(bullet, *self._kind)
        self._floor = bullet.createMultiBody(0, bullet.createCollisionShape(bullet.GEOM_PLANE), basePosition=[0, 0, FLOOR])
        self._wall = bullet.createMultiBody(0, self._wall_shape())
        self._bodies: dict[str, int] = {}
        self._shapes: dict[tuple, int] = {}  # size -> box
        self._loaded: State = {}  # as the engine has it, but for what moves

    def _wall_shape(self, sides: int = 64) -> int:
        """The inner face of the wall as triangles: a round wall is hollow, which no convex shape is."""
        angle = np.arange(sides) * 2 * np.pi / sides
        ring = np.stack([np.cos(angle), np.sin(angle)], 1) * WALL_RADIUS / np.cos(np.pi / sides)  # faces touch the circle
        vertices = np.concatenate([np.column_stack([ring, np.full(sides, z)]) for z in (0.0, WALL_HEIGHT + FLOOR)])
        here, there = np.arange(sides), (np.arange(sides) + 1) % sides
        triangles = np.stack([here, there, there + sides, here, there + sides, here + sides], 1)
        return self._bullet.createCollisionShape(
            self._bullet.GEOM_MESH, vertices=vertices.tolist(), indices=triangles.ravel().tolist(),
            flags=self._bullet.GEOM_FORCE_CONCAVE_TRIMESH,
        )  # fmt: skip

    def load(self, state: State) -> None:
        """Make the world equal to the state, whatever happened before: no contact of the past acts on.

        Blocks whose size, type or place in the order changed are built anew, with all after them, so that the engine meets
        bodies in the order of the state.
        """
        if len(self._shapes) > _SHAPES:  # the engine itself never gives one back
            self.close()
            self._build()
        bullet = self._bullet
        self.robot.set_joints(REST, np.zeros(9))  # where it touches nothing
        self._set_bodies(state)
        for i, body in enumerate(self._bodies.values()):
            bullet.resetBasePositionAndOrientation(body, [10.0 + i, 10.0, 1.0], [0, 0, 0, 1])
        bullet.performCollisionDetection()  # everything is apart now, which empties the engine's cache of contacts
        self.robot.set_joints(state["joint_positions"], state["joint_velocities"])
        for name, body in self._bodies.items():
            self._place(body, state[name])
        self._set_constants(state)
        self._loaded = copied(state)

    def _set_bodies(self, state: State) -> None:
        bullet, wanted = self._bullet, of_type(state, CUBE, STATIC)
        keep = 0
        for old, new in zip(self._bodies, wanted):
            known = self._loaded[old]
            if old != new or known["type"] != state[new]["type"] or not np.array_equal(known["size"], state[new]["size"]):
                break
            keep += 1
        for name in list(self._bodies)[keep:]:
            bullet.removeBody(self._bodies.pop(name))
            self._loaded.pop(name)
        for name in wanted[keep:]:
            thing = state[name]
            mass = float(thing["mass"]) if int(thing["type"]) == CUBE else 0.0
            self._bodies[name] = bullet.createMultiBody(mass, self._box(tuple(thing["size"] / 2)))
            self._loaded[name] = {"type": thing["type"], "size": thing["size"], "friction": None, "mass": mass}

    def _box(self, half: tuple) -> int:
        if half not in self._shapes:
            self._shapes[half] = self._bullet.createCollisionShape(self._bullet.GEOM_BOX, halfExtents=half)
        return self._shapes[half]

    def _place(self, body: int, thing: dict) -> None:
        x, y, z = thing["cartesian_position"].tolist()
        self._bullet.resetBasePositionAndOrientation(body, [x, y, z + FLOOR], thing["orientation"].tolist())
        if "linear_velocity" in thing:
            self._bullet.resetBaseVelocity(body, thing["linear_velocity"].tolist(), thing["angular_velocity"].tolist())

    def _set_constants(self, state: State) -> None:
        """Masses, frictions, gravity: what differs from what the engine has."""
        bullet, known = self._bullet, self._loaded
        if not np.array_equal(known.get("gravity"), state["gravity"]):
            bullet.setGravity(*state["gravity"].tolist())
        for body, key in ((self._floor, "floor_friction"), (self._wall, "stage_friction")):
            if known.get(key) != state[key]:
                bullet.changeDynamics(body, -1, lateralFriction=float(state[key]))
        if known.get("finger_friction") != state["finger_friction"]:
            self.robot.set_friction(float(state["finger_friction"]))
        self.robot.set_masses(np.array([state[link]["mass"] for link in LINKS]))
        for name, body in self._bodies.items():
            thing, before = state[name], known[name]
            if "mass" in thing and before["mass"] != thing["mass"]:
                bullet.changeDynamics(body, -1, mass=float(thing["mass"]))
            if before["friction"] is None or before["friction"] != thing["friction"]:
                bullet.changeDynamics(
                    body, -1, lateralFriction=float(thing["friction"]), spinningFriction=0.001, restitution=0.0
                )

    @property
    def loaded(self) -> State:
        """The state last given to `load`, which shares nothing with what was given. Keep it, but do not write into it."""
        return dict(self._loaded)

    def read(self) -> State:
        """The state as it is now. What does not move is shared with other states: keep it, but do not write into it."""
        positions, velocities = self.robot.joint_state()
        state = {**self._loaded, "joint_positions": positions, "joint_velocities": velocities}
        for name, body in self._bodies.items():
            if "mass" in state[name]:
                (x, y, z), orientation = self._bullet.getBasePositionAndOrientation(body)
                linear, angular = self._bullet.getBaseVelocity(body)
                moving = (x, y, z - FLOOR), orientation, linear, angular
                state[name] = {**state[name], **dict(zip(_MOVING, map(np.array, moving)))}
        return state

    def follow(self, target: np.ndarray, steps: int) -> np.ndarray:
        """`steps` time steps towards joint positions (9,).  -> torques of the last one (9,)"""
        return self._advance(self.robot.follow, target, steps)

    def push(self, torques: np.ndarray, steps: int) -> np.ndarray:
        """`steps` time steps of the same wanted torques (9,).  -> torques of the last one, after the safety limits (9,)"""
        return self._advance(self.robot.push, torques, steps)

    def _advance(self, drive: Callable[[list[float]], list[float]], command: np.ndarray, steps: int) -> np.ndarray:
        command, applied = command.tolist(), None
        for _ in range(steps):  # one by one: torques answer to the joints of every time step
            applied = drive(command)
            self._bullet.stepSimulation()
        return np.array(applied)

    def save(self) -> State:
        """The state, exactly: what follows `load` of it is bit for bit what follows now, in this world or in another.

        For that the world itself goes on from the state alone, as after `load`: the engine forgets the contact forces it
        would have begun its next search with.
        """
        state = self.read()
        self.load(state)
        return state

    def contacts(self) -> list[tuple[str, str, float]]:
        """Pairs that touch: names ("robot", "floor", "stage" or a block's), depth in metres (positive = inside)."""
        self._bullet.performCollisionDetection()
        names = {self.robot.body: "robot", self._floor: "floor", self._wall: "stage"} | {b: n for n, b in self._bodies.items()}
        return [(names[c[1]], names[c[2]], -c[8]) for c in self._bullet.getContactPoints()]

    def close(self) -> None:
        """Disconnect; a second time does nothing."""
        if self._bullet is not None:
            self._bullet.disconnect()
            self._bullet = None
