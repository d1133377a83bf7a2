"""General: blocks are dropped, and where they came to rest is the goal."""

import numpy as np

from envs.bodies.rotations import to_quaternion
from envs.problem import Problem
from envs.trifinger.robot.robot import RAISED
from envs.trifinger.scene.simulation import World
from envs.trifinger.scene.state import State, arena, block
from envs.trifinger.scene.variables import ARENA_HIGH, variable
from envs.trifinger.tasks.family import Family, tools_and_goals
from envs.trifinger.tasks.layout import in_columns, scattered
from envs.trifinger.tasks.task import Task

_TRIES = 20
_FALL = 200  # time steps of a fall, .8 seconds
_DROPS = np.array([  # metres: where the blocks of the default scene fall from
    (0.10, 0.10, 0.20), (0.0, 0.0, 0.20), (0.05, 0.05, 0.30), (-0.05, 0.05, 0.10), (0.05, -0.05, 0.10), (-0.08, -0.08, 0.15),
    (0.0, -0.10, 0.10), (-0.10, 0.0, 0.10), (0.0, 0.10, 0.10),
])  # fmt: skip


class General(Family):
    """Reference section 9.6; observed are all blocks, then all goals. Differs from CausalWorld: a goal whose block rolled
    beyond the arena is drawn again."""

    name = "general"
    family = {
        "nums_objects": (5, variable("1", (), (1, 9), (1, 5), (6, 9), integer=True)),
        "tool_block_size": (0.05, variable("m", (), (0.02, 0.1), (0.05, 0.07), (0.04, 0.05))),
        "blocks_mass": (0.08, variable("kg", (), (1e-3, 2), (0.02, 0.06), (0.06, 0.08))),
    }

    _world: World | None = None  # where blocks fall; made when first needed

    features = Task.features  # not block and goal in turn, as in the other families

    def build(self, values, rng) -> State:
        count, edge, mass = int(values["nums_objects"]), float(values["tool_block_size"]), float(values["blocks_mass"])
        source = np.random.default_rng(0) if rng is None else rng
        names, sizes = [str(i) for i in range(count)], np.full((count, 3), edge)
        for attempt in range(_TRIES):
            positions, turns = self._fallen(names, sizes, mass, source, _DROPS if rng is None and not attempt else ())
            if (np.abs(positions[:, :2]) <= ARENA_HIGH[:2]).all():
                break
        else:
            raise Problem(f"{count} blocks of {1000 * edge:.0f} mm did not come to rest within the arena in {_TRIES} tries")
        if rng is None:  # off the goals
            footprint = positions[:, :2].min(0) - edge / 2, positions[:, :2].max(0) + edge / 2
            tools, yaw = in_columns(sizes, footprint), np.zeros(count)
        else:
            tools, yaw = scattered(rng, sizes)
        state = tools_and_goals(names, sizes, tools, positions, mass, yaw)
        for name, turn in zip(names, turns):
            state[f"goal_{name}"]["orientation"] = turn
        return state

    def _fallen(self, names, sizes, mass: float, rng: np.random.Generator, drops) -> tuple[np.ndarray, np.ndarray]:
        """Drops block after block on those that lie there.  -> positions (n, 3), quaternions (n, 4)"""
        if self._world is None:
            self._world = World(collision="primitive")
        world = self._world
        state = arena(world.robot.default_masses, RAISED)
        low, high = np.array([-0.11, -0.11, 0.08]), np.array([0.11, 0.11, 0.22])
        for i, name in enumerate(names):
            at, turn = (drops[i], np.zeros(3)) if i < len(drops) else (rng.uniform(low, high), rng.uniform(-np.pi, np.pi, 3))
            state = {**state, name: block(at, sizes[i], mass, orientation=to_quaternion(turn))}
            world.load(state)
            world.follow(RAISED, _FALL)
            state = world.read()
        return tuple(np.array([state[name][key] for name in names]) for key in ("cartesian_position", "orientation"))
