"""Search with drawn candidates: plans are drawn, weighed by the learned model, and the best of them fit the next draw.

Elites that count alike make it the cross-entropy method (Rubinstein 1999); weights exp(-cost / temperature) make it model
predictive path integral control (Williams et al. 2017). Actions may be vectors or whole numbers.
"""

import numpy as np
import torch

from envs.problem import Problem, nearest
from envs.streams import Stream
from eval.planning.actions import check_bounds, distribution
from eval.planning.latent_planner import ROWS, LatentPlanner, finite
from eval.rollouts import actions_of

COSTS = ("final", "sum")


class Sampling(LatentPlanner):
    """The first action of the best plan that was seen in any iteration is taken; the rest begins the next step's search.

    depth: actions of a plan, never past the last one.  candidates: plans drawn in each of the `iterations`.
    elites: how many of them fit the next draw, the nearest to the goal; none: all of them.  temperature: of their weights, in
    standard deviations of their costs; none: they count alike.  cost: distance to the goal at the end of a plan (final), or
    after each of its actions (sum).  smoothing: how much of a distribution stays when it is fitted, 0 to 1.
    """

    def __init__(
        self, model, world, distance, seed: int = 0, closed: bool = True, depth: int = 5, candidates: int = 128,
        iterations: int = 4, elites: int | None = None, temperature: float | None = None, cost: str = "final",
        smoothing: float = 0.1,
    ) -> None:  # fmt: skip
        super().__init__(model, world, distance, closed)
        self.check(model, world)
        if candidates < 2:
            raise Problem(f"a search draws at least 2 candidates, got {candidates}; set candidates=")
        if cost not in COSTS:
            raise Problem(f"there is no cost '{cost}' of a plan: {nearest(str(cost), COSTS)}")
        self.depth, self.candidates, self.iterations, self.elites = depth, candidates, iterations, elites or candidates
        self.temperature, self.cost, self.smoothing, self.seed = temperature, cost, smoothing, seed
        self.at_once = ROWS // candidates

    @staticmethod
    def check(model, world) -> None:
        check_bounds(world.spec.action)

    def begin(self, goal_obs: np.ndarray) -> None:
        super().begin(goal_obs)
        self.rng, self.plan = Stream.CANDIDATES.rng(self.seed), {}

    def _search(self, rows: torch.Tensor, remaining: int) -> np.ndarray:
        episodes, steps = len(rows), min(self.depth, remaining)
        proposal, best, row = distribution(self.spec.action, episodes, steps), None, np.arange(episodes)
        carried = self.plan.get(int(rows[0]))  # of these episodes, from the step before
        for _ in range(self.iterations):
            plans = proposal.draw(self.rng, self.candidates)  # (E, N, T, ...)
            if best is not None:
                plans[:, 0], plans[:, 1] = best, proposal.mode()
            elif carried is not None:
                plans[:, 0, : carried.shape[1] - 1] = carried[:, 1:]
            cost = self._costs(rows, plans)
            order = cost.argsort(1, kind="stable")[:, : self.elites]
            best = plans[row, order[:, 0]]
            proposal.fit(plans[row[:, None], order], self._weights(cost[row[:, None], order]), self.smoothing)
        self.plan[int(rows[0])] = best
        return best[:, 0]

    def _weights(self, cost: np.ndarray) -> np.ndarray:
        """Of elites, by their costs (E, L), each row of sum 1."""
        if self.temperature is None:
            return np.full(cost.shape, 1 / cost.shape[1])
        spread = cost.std(1, keepdims=True).clip(1e-12)
        weight = np.exp(-(cost - cost[:, :1]) / (self.temperature * spread))
        return weight / weight.sum(1, keepdims=True)

    def _costs(self, rows: torch.Tensor, plans: np.ndarray) -> np.ndarray:
        """plans (E, N, T, ...) for the episodes `rows` (E,)  ->  (E, N)."""
        actions = actions_of(plans, self.spec).flatten(0, 1).to(self.model.device)
        episode, costs = rows.repeat_interleave(self.candidates), []
        for part in torch.arange(len(episode)).split(self._rows_at_once()):
            own, total = episode[part], 0.0
            latent, memory, goal = self.latent[own], self._memory(own), self.goal[own]
            for step in range(actions.shape[1]):
                latent, memory = self.model.step(latent, actions[part, step], memory)
                if self.cost == "sum" or step == actions.shape[1] - 1:
                    total = total + self.distance(latent, goal)
            costs.append(finite(total))
        return torch.cat(costs).view(len(rows), -1).double().cpu().numpy()
