"""A trained agent as eval/planning/tasks.py asks a policy: the same tasks, the same rule of success."""

import numpy as np

from envs.boards import Boards
from eval.planning.tasks import Tasks
from train.agents.board_envs import glimpse, observation

AT_ONCE = 1024  # boards looked at together


class AgentPolicy:
    """The likeliest action for every board, at every step from the true board.  longest: horizon it was trained for."""

    def __init__(self, agent, world, longest: int) -> None:
        self.agent, self.world, self.longest = agent, world, longest

    def begin(self, tasks: Tasks) -> None:
        self.goal = glimpse(self.world, tasks.goal)

    def act(self, boards: Boards, remaining: int) -> np.ndarray:
        now, actions = glimpse(self.world, boards), []
        for first in range(0, len(boards), AT_ONCE):
            rows = slice(first, first + AT_ONCE)
            left = np.full(len(now[rows]), remaining)
            seen = observation(now[rows], self.goal[rows], left, self.longest)
            actions.append(self.agent.predict(seen, deterministic=True)[0])
        return np.concatenate(actions)
