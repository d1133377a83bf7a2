"""Planners that search with drawn candidates, by a learned model or, with as many candidates, by the true world.

What the second reaches is what the first could be worth with the same search and the same distance.
"""

import numpy as np
import torch

from envs.problem import Problem, nearest
from envs.protocols import Goals, State
from envs.streams import Stream
from eval.planning.actions import check_bounds
from eval.planning.latent_planner import ROWS, LatentPlanner
from eval.planning.search import CANDIDATES, Search
from eval.planning.tasks import Oracle, Tasks
from eval.rollouts import actions_of, encode_frames, finite

COSTS = ("final", "sum")


def _check(cost: str, search: dict, action) -> None:
    if cost not in COSTS:
        raise Problem(f"there is no cost '{cost}' of a plan: {nearest(str(cost), COSTS)}")
    Search(action, np.random.default_rng(), **search)  # says what is wrong before it takes long


class Sampling(LatentPlanner):
    """By a learned model.

    cost: distance to the goal at the end of a plan (final), or after each of its actions (sum).  search: of `Search`.
    """

    def __init__(self, model, world, distance, seed: int = 0, closed: bool = True, cost: str = "final", **search) -> None:
        super().__init__(model, world, distance, seed, closed)
        self.check(model, world)
        _check(cost, search, world.spec.action)
        self.cost, self.search = cost, search
        self.at_once = ROWS // search.get("candidates", CANDIDATES)

    @staticmethod
    def check(model, world) -> None:
        check_bounds(world.spec.action)

    def begin(self, goal_obs: np.ndarray) -> None:
        super().begin(goal_obs)
        self.rng, self.searches = Stream.CANDIDATES.rng(self.seed), {}

    def _search(self, rows: torch.Tensor, remaining: int) -> np.ndarray:
        first = int(rows[0])
        if first not in self.searches:
            self.searches[first] = Search(self.spec.action, self.rng, **self.search)
        return self.searches[first].act(len(rows), remaining, lambda plans: self._costs(rows, plans))

    def _costs(self, rows: torch.Tensor, plans: np.ndarray) -> np.ndarray:
        """plans (E, N, T, ...) for the episodes `rows` (E,)  ->  (E, N)."""
        actions = actions_of(plans, self.spec).flatten(0, 1).to(self.model.device)
        episode, costs = rows.repeat_interleave(plans.shape[1]), []
        for part in torch.arange(len(episode)).split(self._rows_at_once()):
            own, total = episode[part], 0.0
            latent, memory, goal = self.latent[own], self._memory(own), self.goal[own]
            for step in range(actions.shape[1]):
                latent, memory = self.model.step(latent, actions[part, step], memory)
                if self.cost == "sum" or step == actions.shape[1] - 1:
                    total = total + self.distance(latent, goal)
            costs.append(finite(total, "distances to the goal"))
        return torch.cat(costs).view(len(rows), -1).double().cpu().numpy()


class TrueSampling(Oracle):
    """By the true world, gone on from exact states.  cost, search: as of `Sampling`; the model encodes for the distance."""

    def __init__(self, model, world: Goals, distance, seed: int = 0, cost: str = "final", **search) -> None:
        self.check(model, world)
        _check(cost, search, world.spec.action)
        self.model, self.world, self.distance = model, world, distance.to(model.device)
        self.cost, self.seed, self.search = cost, seed, search

    @staticmethod
    def check(model, world) -> None:
        check_bounds(world.spec.action)

    def begin(self, tasks: Tasks) -> None:
        self.goal, self.chance = self._encode(tasks.goal), Stream.SIMULATOR.rng(self.seed)
        self.searching = Search(self.world.spec.action, Stream.CANDIDATES.rng(self.seed), **self.search)

    def act(self, state: State, remaining: int) -> np.ndarray:
        return self.searching.act(len(state), remaining, lambda plans: self._costs(state, plans))

    def _encode(self, state: State) -> torch.Tensor:
        return encode_frames(self.model, self.world.observe(state)).to(self.model.device)

    @torch.no_grad()
    def _costs(self, state: State, plans: np.ndarray) -> np.ndarray:
        """plans (E, N, T, ...) from states (E)  ->  (E, N); the plans of a state meet the same chance."""
        episodes, count, steps = plans.shape[:3]
        state, goal, total = state.take(np.repeat(np.arange(episodes), count)), self.goal.repeat_interleave(count, 0), 0.0
        for step in range(steps):
            noise = self.world.noise(episodes, self.chance)
            state, _ = self.world.step(
                state,
                plans[:, :, step].reshape(episodes * count, *plans.shape[3:]),
                None if noise is None else np.repeat(noise, count, 0),
            )
            if self.cost == "sum" or step == steps - 1:
                total = total + self.distance(self._encode(state), goal)
        return finite(total, "distances to the goal").view(episodes, count).double().cpu().numpy()
