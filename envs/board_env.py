"""Grid worlds as Gymnasium environments: one board (`BoardEnv`) or many at once (`BoardVectorEnv`)."""

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from envs.chemistry import ChemistryWorld
from envs.physics import PhysicsWorld
from envs.problem import Problem, nearest

_OPTIONS = {"mode", "num_steps", "goal_may_equal_start"}
WORLDS = {"physics": PhysicsWorld, "chemistry": ChemistryWorld}


class BoardVectorEnv(gym.vector.VectorEnv):
    """`num_envs` boards stepped as one batch; autoreset on the step after an episode's end.

    world: physics | chemistry; further arguments are those of PhysicsWorld or ChemistryWorld.
    Observation: frames (num_envs, H, W, 3) uint8, ten pixels a cell.  Reward: physics, minus the mean L1 distance to the goal
    in cells, in [-2 (board - 1), 0]; chemistry, the share of objects in the goal's colour, in [0, 1].
    terminated: the goal is met.  truncated: `max_steps` are over.  info: goal (num_envs, H, W, 3) uint8, distance, and in
    physics invalid_push.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 5, "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self, num_envs: int = 1, render_mode: str | None = "rgb_array", max_steps: int = 200, world: str = "physics", **rules
    ) -> None:
        if world not in WORLDS:
            raise Problem(f"there is no grid world '{world}': {nearest(world, WORLDS)}")
        self.num_envs, self.render_mode, self.max_steps = num_envs, render_mode, max_steps
        self.world = WORLDS[world](**rules)
        self.single_observation_space = gym.spaces.Box(0, 255, self.world.spec.shown("pixels").shape, np.uint8)
        self.single_action_space = gym.spaces.Discrete(self.world.spec.action.size)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._boards = None

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        """options: mode (default train), num_steps from start to goal (10), goal_may_equal_start (False)."""
        super().reset(seed=seed)
        self._options = options = dict(options or {})
        for key in options:
            if key not in _OPTIONS:
                raise Problem(f"reset has no option '{key}': {nearest(key, _OPTIONS)}")
        self._boards, self._goal = self._draw(self.num_envs)
        self._goal_frames = self.world.render(self._goal)  # drawn again where a goal is drawn
        self._steps = np.zeros(self.num_envs, int)
        self._over = np.zeros(self.num_envs, bool)
        return self.render_boards(), self._info(np.zeros(self.num_envs, bool))

    def _draw(self, batch: int):
        boards = self.world.reset(batch, self.np_random, self._options.get("mode", "train"))
        steps, same = self._options.get("num_steps", 10), self._options.get("goal_may_equal_start", False)
        return boards, self.world.draw_goals(boards, self.np_random, steps, same)[0]

    def step(self, actions):
        if self._boards is None:
            raise Problem("step was called before reset; call reset() first")
        actions = np.asarray(actions)
        if not ((actions >= 0) & (actions < self.single_action_space.n)).all():
            raise Problem(f"actions go from 0 to {self.single_action_space.n - 1}, got {actions.tolist()}")
        fresh = np.flatnonzero(self._over)
        self._boards, invalid = self.world.step(self._boards, actions, self.world.noise(self.num_envs, self.np_random))
        self._steps += 1
        if len(fresh):
            new, goal = self._draw(len(fresh))
            self._boards.put(fresh, new)
            self._goal.put(fresh, goal)
            self._goal_frames[fresh] = self.world.render(goal)
            self._steps[fresh], invalid[fresh] = 0, False
        terminated, truncated = self.world.solved(self._boards, self._goal), self._steps >= self.max_steps
        reward = self.world.reward(self._boards, self._goal)
        reward[fresh], terminated[fresh] = 0.0, False
        self._over = terminated | truncated
        return self.render_boards(), reward, terminated, truncated, self._info(invalid)

    def _info(self, invalid) -> dict:
        info = {"distance": self.world.distance(self._boards, self._goal), "goal": self._goal_frames.copy()}
        return info if self.world.invalid_flag is None else {**info, self.world.invalid_flag: invalid}

    def render_boards(self) -> np.ndarray:
        """The boards as they are, (num_envs, H, W, 3) uint8."""
        return self.world.render(self._boards)

    def render(self):
        return tuple(self.render_boards())


class BoardEnv(gym.Env):
    """One board; the vector environment with a batch of one."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 5}

    def __init__(self, render_mode: str | None = None, max_steps: int = 200, world: str = "physics", **rules) -> None:
        self.render_mode = render_mode
        self._batch = BoardVectorEnv(1, max_steps=max_steps, world=world, **rules)
        self.observation_space = self._batch.single_observation_space
        self.action_space = self._batch.single_action_space

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        super().reset(seed=seed)
        if seed is not None or self._batch._np_random is None:
            self._batch._np_random = self.np_random  # one stream of random numbers, owned by this env
        frames, info = self._batch.reset(options=options)
        return frames[0], self._single(info)

    def step(self, action):
        if self._batch._boards is not None:
            self._batch._over[:] = False  # the caller resets a single env
        frames, reward, terminated, truncated, info = self._batch.step(np.array([action]))
        return frames[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), self._single(info)

    @staticmethod
    def _single(info: dict) -> dict:
        return {name: value[0] if value[0].ndim else value[0].item() for name, value in info.items()}

    def render(self):
        return self._batch.render_boards()[0]


def register() -> None:
    """Add both grid worlds to Gymnasium; what distinguishes their presets are arguments of `gymnasium.make`:

    make("causalwm/Chemistry-v0", graph="full5", movement="dynamic"), make("causalwm/Physics-v0", object_order="shuffled").
    """
    ids = {
        "Physics": {}, "Physics3": {"num_objects": 3}, "Physics5Shuffled": {"object_order": "shuffled"},
        "Chemistry": {"world": "chemistry"},
        "ChemistryChain5Dynamic": {"world": "chemistry", "movement": "dynamic"},
    }  # fmt: skip
    for name, rules in ids.items():
        gym.register(
            f"causalwm/{name}-v0", entry_point="envs.board_env:BoardEnv",
            vector_entry_point="envs.board_env:BoardVectorEnv", kwargs=rules,
        )  # fmt: skip
