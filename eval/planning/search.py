"""Search with drawn candidates: plans are drawn, their costs foretold, and the best of them fit the next draw.

Elites that count alike make it the cross-entropy method (Rubinstein 1999); weights exp(-cost / temperature) make it model
predictive path integral control (Williams et al. 2017). Actions may be vectors or whole numbers.
"""

from collections.abc import Callable

import numpy as np

from envs.problem import Problem
from envs.spec import Action
from eval.planning.actions import distribution

CANDIDATES = 128  # plans of an iteration, unless others are asked for
Costs = Callable[[np.ndarray], np.ndarray]  # plans (E, N, T, ...), an action for every step -> (E, N)


class Search:
    """The search of some episodes, from step to step of the world.

    The first action of the best plan that was seen in any iteration is taken; the rest begins the next search.

    depth: actions of a plan, never past the last step.  hold: steps for which each of them is held, after which a new search
    begins.  candidates: plans drawn in each of the `iterations`.  elites: how many of them fit the next draw, the nearest to
    the goal; none: all of them.  temperature: of their weights, in standard deviations of their costs; none: they count alike.
    smoothing: how much of a distribution stays when it is fitted, 0 to 1.
    """

    def __init__(
        self, action: Action, rng: np.random.Generator, depth: int = 5, candidates: int = CANDIDATES, iterations: int = 4,
        elites: int | None = None, temperature: float | None = None, smoothing: float = 0.1, hold: int = 1,
    ) -> None:  # fmt: skip
        if candidates < 2:
            raise Problem(f"a search draws at least 2 candidates, got {candidates}; set candidates=")
        if hold < 1:
            raise Problem(f"an action is held for at least 1 step, got {hold}; set hold=")
        for name, number in {"depth": depth, "iterations": iterations, "elites": 1 if elites is None else elites}.items():
            if number < 1:
                raise Problem(f"{name} of a search is at least 1, got {number}; set {name}=")
        if elites is not None and elites > candidates:
            raise Problem(f"elites are of the {candidates} candidates of a search, got {elites}; set elites= to less")
        if temperature is not None and not temperature > 0:
            raise Problem(
                f"the temperature of a search is above 0, or null where elites count alike, got {temperature}; set temperature="
            )
        if not 0 <= smoothing <= 1:
            raise Problem(f"smoothing of a search is from 0 to 1, got {smoothing}; set smoothing=")
        self._action, self._rng, self._depth, self._hold = action, rng, depth, hold
        self._candidates, self._iterations, self._elites = candidates, iterations, elites or candidates
        self._temperature, self._smoothing = temperature, smoothing
        self._best: np.ndarray | None = None  # the last plan (E, depth, ...)
        self._left = 0  # steps for which its first action is held yet

    def act(self, episodes: int, remaining: int, costs: Costs) -> np.ndarray:
        """The actions (E, ...) of this step, one of `remaining`."""
        if not self._left:
            self._best, self._left = self._found(episodes, remaining, costs), min(self._hold, remaining)
        self._left -= 1
        return self._best[:, 0]

    def _found(self, episodes: int, remaining: int, costs: Costs) -> np.ndarray:
        """The best plan (E, T, ...)."""
        steps = min(self._depth, -(-remaining // self._hold))
        proposal, best, row = distribution(self._action, episodes, steps), None, np.arange(episodes)
        for _ in range(self._iterations):
            plans = proposal.draw(self._rng, self._candidates)  # (E, N, T, ...)
            if best is not None:
                plans[:, 0], plans[:, 1] = best, proposal.mode()
            elif self._best is not None:
                rest = self._best[:, 1 : 1 + steps]
                plans[:, 0, : rest.shape[1]] = rest
            cost = costs(plans.repeat(self._hold, 2)[:, :, :remaining])
            order = cost.argsort(1, kind="stable")[:, : self._elites]
            best = plans[row, order[:, 0]]
            proposal.fit(plans[row[:, None], order], self._weights(cost[row[:, None], order]), self._smoothing)
        return best

    def _weights(self, cost: np.ndarray) -> np.ndarray:
        """Of elites, by their costs (E, L), each row of sum 1."""
        if self._temperature is None:
            return np.full(cost.shape, 1 / cost.shape[1])
        spread = cost.std(1, keepdims=True).clip(1e-12)
        weight = np.exp(-(cost - cost[:, :1]) / (self._temperature * spread))
        return weight / weight.sum(1, keepdims=True)
