"""Goal-reaching episodes as a vector environment of stable-baselines3; all boards are stepped as one batch."""

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv

from envs.streams import Stream

STOCK = 4096  # tasks drawn at a time: a walk of one board costs as much as one of hundreds


def glimpse(obs: np.ndarray) -> np.ndarray:
    """B observations as the agent's network reads them: frames (B, H, W, 3) -> (B, 3, H, W); tables (B, N, F) as they are."""
    return obs.transpose(0, 3, 1, 2) if obs.ndim == 4 else obs


def observation(now: np.ndarray, goal: np.ndarray, remaining: np.ndarray, longest: int) -> dict[str, np.ndarray]:
    """board: glimpses of board and goal, one behind the other along axis 1.  remaining (B, longest): actions left, one-hot."""
    return {"board": np.concatenate([now, goal], 1), "remaining": np.eye(longest, dtype=np.uint8)[remaining - 1]}


class GoalEpisodes(VecEnv):
    """`num_envs` boards (at most STOCK), each with a goal T random actions away and T actions to reach it, T = 1..longest.

    Tasks are drawn as in eval/planning/tasks.py (goals differ from the start), from random numbers of their own. An episode
    ends after its actions and never before, so the agent must keep a reached goal; the next episode begins in the same step.
    Reward: the decrease of the distance to the goal, summed over objects, and 1 more for a goal that is reached at the end. The
    info of every step has this end as `success`.
    """

    def __init__(self, world, num_envs: int, longest: int, seed: list[int]) -> None:
        self.world, self.longest, self.render_mode = world, longest, None
        self.rng = Stream.EPISODES.rng(*seed)
        self._draw()
        first, *others = self._glimpse(self._start.take(np.arange(1)))[0].shape
        board = spaces.Box(0, 255 if others[1:] else 1, (2 * first, *others), np.uint8)  # bytes of frames, or one-hot factors
        seen = spaces.Dict(board=board, remaining=spaces.Box(0, 1, (longest,), np.uint8))
        super().__init__(num_envs, seen, spaces.Discrete(world.spec.action.size))

    def _glimpse(self, boards) -> np.ndarray:
        return glimpse(self.world.observe(boards))

    def _draw(self) -> None:
        """A new stock of tasks."""
        self._start, self._used = self.world.reset(STOCK, self.rng, "train"), 0
        self._goal, self._horizon = self._start.take(np.arange(STOCK)), self.rng.integers(1, self.longest + 1, STOCK)
        for horizon in range(1, self.longest + 1):
            rows = np.flatnonzero(self._horizon == horizon)
            self._goal = self._replaced(self._goal, rows, self.world.draw_goals(self._start.take(rows), self.rng, horizon)[0])

    def _replaced(self, state, rows: np.ndarray, other):
        """The states with those at `rows` replaced by the others."""
        packed = np.array(self.world.pack(state))
        packed[rows] = self.world.pack(other)
        return self.world.unpack(packed)

    def _next(self, count: int) -> np.ndarray:
        """Indices of the next tasks of the stock."""
        if self._used + count > STOCK:
            self._draw()
        self._used += count
        return np.arange(self._used - count, self._used)

    def reset(self) -> dict[str, np.ndarray]:
        which = self._next(self.num_envs)
        self.boards, self.goal, self.remaining = self._start.take(which), self._goal.take(which), self._horizon[which]
        self.distance, self._goal_seen = self.world.distance(self.boards, self.goal), self._glimpse(self.goal)
        return self._observe()

    def _observe(self) -> dict[str, np.ndarray]:
        return observation(self._glimpse(self.boards), self._goal_seen, self.remaining, self.longest)

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self):
        noise = self.world.noise(self.num_envs, self.rng)
        self.boards, _ = self.world.step(self.boards, self._actions, noise)
        before, self.distance = self.distance, self.world.distance(self.boards, self.goal)
        self.remaining = self.remaining - 1
        over = self.remaining == 0
        reached = over & self.world.solved(self.boards, self.goal)
        reward = (before - self.distance) * self.world.spec.objects + reached
        infos = [{"success": bool(one)} for one in reached]
        rows = np.flatnonzero(over)
        if len(rows):
            which = self._next(len(rows))
            self.boards = self._replaced(self.boards, rows, self._start.take(which))
            self.goal = self._replaced(self.goal, rows, self._goal.take(which))
            self.remaining[rows], self._goal_seen[rows] = self._horizon[which], self._glimpse(self._goal.take(which))
            self.distance[rows] = self.world.distance(self._start.take(which), self._goal.take(which))
        return self._observe(), reward.astype(np.float32), over, infos

    # What else stable-baselines3 asks of a batch: it has no boards with attributes or methods of their own.

    def close(self) -> None: ...

    def get_attr(self, attr_name: str, indices=None) -> list:
        return [getattr(self, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value, indices=None) -> None:
        setattr(self, attr_name, value)

    def env_method(self, method_name: str, *arguments, indices=None, **named) -> list:
        raise NotImplementedError(f"boards are stepped as one batch and have no method '{method_name}' each")

    def env_is_wrapped(self, wrapper_class, indices=None) -> list[bool]:
        return [False] * self.num_envs
