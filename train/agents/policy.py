"""A trained agent as a policy of eval/planning/tasks.py, with the tasks and the rule of success of planners."""

import numpy as np

from train.agents.board_envs import glimpse, observation

AT_ONCE = 1024  # boards in a batch


class AgentPolicy:
    """The likeliest action for every board, at every step from the true frame.  longest: horizon it was trained for."""

    def __init__(self, agent, longest: int) -> None:
        self.agent, self.longest = agent, longest

    def begin(self, goal_obs: np.ndarray) -> None:
        self.goal = glimpse(goal_obs)

    def act(self, obs: np.ndarray, remaining: int) -> np.ndarray:
        now, actions = glimpse(obs), []
        for first in range(0, len(now), AT_ONCE):
            rows = slice(first, first + AT_ONCE)
            left = np.full(len(now[rows]), remaining)
            seen = observation(now[rows], self.goal[rows], left, self.longest)
            actions.append(self.agent.predict(seen, deterministic=True)[0])
        return np.concatenate(actions)
