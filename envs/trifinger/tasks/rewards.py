"""The reward of a step, per second of its time: dense, fractional, sparse or none."""

from collections.abc import Sequence

from envs.problem import Problem, nearest
from envs.trifinger.tasks.task import StepContext, Task

KINDS = ("dense", "fractional", "sparse", "none")


class Rewards:
    """kind: dense = weighted terms of the task + weighted fractional success; fractional = fractional success; sparse = 1 where
    solved; none = 0.  dense, fractional: weights in place of the task's."""

    def __init__(self, task: Task, kind: str, dense: Sequence[float] | None, fractional: float | None) -> None:
        if kind not in KINDS:
            raise Problem(f"there is no reward '{kind}': {nearest(str(kind), KINDS)}")
        own = task.dense_weights
        if dense is not None and len(dense) != len(own):
            raise Problem(f"{task.name} has {len(own)} dense terms, weights {list(own)}; got dense_weights={list(dense)}")
        self._task, self.kind = task, kind
        self.dense_weights = own if dense is None else tuple(dense)
        self.fractional_weight = task.fractional_weight if fractional is None else fractional

    def of_step(self, now: StepContext, before: StepContext, fraction: float) -> float:
        """fraction: fractional success now."""
        if self.kind != "dense":
            return self.of_fraction(fraction)
        terms = self._task.dense_terms(now, before)
        weighted = sum(weight * term for weight, term in zip(self.dense_weights, terms, strict=True))
        return weighted + self.fractional_weight * fraction

    def of_fraction(self, fraction: float) -> float:
        """Of the kinds that need nothing but the fractional success."""
        return {"fractional": fraction, "sparse": float(self._task.solved(fraction)), "none": 0.0}[self.kind]
