"""Beam search over every action with the learned transition; of width and depth 1 it is the greedy planner of the paper."""

import numpy as np
import torch

from envs.problem import Problem
from eval.planning.actions import every_action
from eval.planning.latent_planner import ROWS, LatentPlanner
from eval.rollouts import actions_of, finite


class LatentSearch(LatentPlanner):
    """The best latent at the end of the search decides; the first of equals is taken. It never looks past the last action.

    seed: nothing is drawn.
    """

    def __init__(
        self, model, world, distance, seed: int = 0, closed: bool = True, width: int = 1, depth: int = 1
    ) -> None:
        super().__init__(model, world, distance, seed, closed)
        for name, number in {"width": width, "depth": depth}.items():
            if number < 1:
                raise Problem(f"{name} of a beam search is at least 1, got {number}; set {name}=")
        self.width, self.depth = width, depth
        self.actions = actions_of(every_action(self.spec.action), self.spec).to(model.device)
        self.at_once = ROWS // (width * len(self.actions))

    @staticmethod
    def check(model, world) -> None:
        every_action(world.spec.action)

    def _search(self, rows: torch.Tensor, remaining: int) -> np.ndarray:
        episodes, choices, goal, depth = len(rows), len(self.actions), self.goal[rows], min(self.depth, remaining)
        row = torch.arange(episodes, device=goal.device)[:, None]
        latent, memory = self.latent[rows, None], None if self.memory is None else self.memory[rows, None]
        first = None  # (E, W): what each beam began with
        for level in range(depth):
            beams = latent.shape[1]
            latent, memory = self._step_every(latent.flatten(0, 1), None if memory is None else memory.flatten(0, 1))
            far = self.distance(latent, goal.repeat_interleave(beams * choices, 0))
            far = finite(far, "distances to the goal").view(episodes, -1)
            if level == depth - 1:
                best = far.argmin(1)
                return (best if first is None else first[row[:, 0], best // choices]).cpu().numpy()
            kept = far.argsort(dim=1, stable=True)[:, : self.width]  # (E, W), of equals the first
            first = kept if first is None else first[row, kept // choices]
            latent = latent.unflatten(0, (episodes, -1))[row, kept]
            memory = None if memory is None else memory.unflatten(0, (episodes, -1))[row, kept]

    def _step_every(self, latent: torch.Tensor, memory: torch.Tensor | None):
        """Every action from any number of latents, in parts."""
        parts = []
        for rows in torch.arange(len(latent)).split(max(1, self._rows_at_once() // len(self.actions))):
            parts.append(self.model.step_all_actions(latent[rows], self.actions, None if memory is None else memory[rows]))
        latents, memories = zip(*parts)
        return torch.cat(latents), None if memories[0] is None else torch.cat(memories)
