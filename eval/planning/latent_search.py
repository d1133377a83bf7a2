"""Planners that ask a learned model: its encoder alone, or a search with its transition."""

import numpy as np
import torch

from envs.boards import Boards
from envs.problem import Problem
from envs.streams import Stream
from eval.planning.tasks import Tasks, after_every_action
from eval.rollouts import actions_of, encode_frames

ROWS = 16384  # latents that are searched at a time
ROWS_OF_CPU = 1024  # of them stepped at a time on a CPU: as many as its caches hold


def _finite(far: torch.Tensor) -> torch.Tensor:
    """The same; the smallest of NaNs would be some action, and a diverged model look like a weak one."""
    if not far.isfinite().all():
        raise Problem("distances to the goal hold NaN or infinity: the model or its reward diverged; train it again")
    return far


class Simulator:
    """The true world says what every action would show; encoder and distance choose. No transition has a part in it."""

    def __init__(self, model, world, distance, seed: int) -> None:
        self.model, self.world, self.distance, self.rng = model, world, distance, Stream.SIMULATOR.rng(seed)

    def begin(self, tasks: Tasks) -> None:
        self.goal = encode_frames(self.model, self.world.observe(tasks.goal))

    @torch.no_grad()
    def act(self, boards: Boards, remaining: int) -> np.ndarray:
        after = after_every_action(self.world, boards, self.world.noise(len(boards), self.rng))
        state = self.world.pack(after).reshape(len(after), -1)
        _, first, which = np.unique(state, axis=0, return_index=True, return_inverse=True)  # many actions do the same
        latent = encode_frames(self.model, self.world.observe(after.take(first)))[which.ravel()]
        far = _finite(self.distance(latent, self.goal.repeat_interleave(self.world.spec.action.size, 0)))
        return far.view(len(boards), -1).argmin(1).numpy()


class LatentSearch:
    """Beam search with the learned transition; width 1 and depth 1 is the greedy planner of the paper.

    closed: every step begins at the encoded true frame; else the start is encoded once and the predicted latent of the
    chosen action is carried on (the authors' planner). What a model remembers is carried either way.
    The best board at the end of the search decides; the first of equals is taken.
    """

    def __init__(self, model, world, distance, closed: bool = True, width: int = 1, depth: int = 1) -> None:
        self.model, self.world, self.distance = model, world, distance
        self.closed, self.width, self.depth = closed, width, depth
        self.actions = actions_of(np.arange(world.spec.action.size), world.spec)

    def begin(self, tasks: Tasks) -> None:
        self.goal = encode_frames(self.model, self.world.observe(tasks.goal))
        self.latent = self.memory = self.action = None

    @torch.no_grad()
    def act(self, boards: Boards, remaining: int) -> np.ndarray:
        if self.latent is None:
            self.latent = encode_frames(self.model, self.world.observe(boards))
        else:
            memory = None if self.memory is None else self.memory.to(self.model.device)
            step = self.latent.to(self.model.device), self.actions[self.action].to(self.model.device), memory
            predicted, self.memory = (None if made is None else made.cpu() for made in self.model.step(*step))
            self.latent = encode_frames(self.model, self.world.observe(boards)) if self.closed else predicted
        at_once = max(1, ROWS // (self.width * len(self.actions)))
        parts = torch.arange(len(boards)).split(at_once)
        self.action = torch.cat([self._search(rows, min(self.depth, remaining)) for rows in parts])
        return self.action.numpy()

    def _search(self, rows: torch.Tensor, depth: int) -> torch.Tensor:
        """The first action (E,) of the best sequence of `depth`, for the episodes `rows` (E,)."""
        episodes, choices, goal = len(rows), len(self.actions), self.goal[rows]
        row = torch.arange(episodes)[:, None]
        latent, memory = self.latent[rows, None], None if self.memory is None else self.memory[rows, None]
        first = None  # (E, W): what each beam began with
        for level in range(depth):
            beams = latent.shape[1]
            latent, memory = self._step_every(latent.flatten(0, 1), None if memory is None else memory.flatten(0, 1))
            far = _finite(self.distance(latent, goal.repeat_interleave(beams * choices, 0))).view(episodes, -1)
            if level == depth - 1:
                best = far.argmin(1)
                return best if first is None else first[row[:, 0], best // choices]
            kept = far.argsort(dim=1, stable=True)[:, : self.width]  # (E, W), of equals the first
            first = kept if first is None else first[row, kept // choices]
            latent = latent.unflatten(0, (episodes, -1))[row, kept]
            memory = None if memory is None else memory.unflatten(0, (episodes, -1))[row, kept]

    def _step_every(self, latent, memory):
        """Every action from any number of latents, in parts."""
        parts, actions = [], self.actions.to(self.model.device)
        at_once = ROWS_OF_CPU if actions.device.type == "cpu" else ROWS
        for rows in torch.arange(len(latent)).split(max(1, at_once // len(actions))):
            before = None if memory is None else memory[rows].to(self.model.device)
            predicted, after = self.model.step_every(latent[rows].to(self.model.device), actions, before)
            parts.append((predicted.cpu(), None if after is None else after.cpu()))
        latents, memories = zip(*parts)
        return torch.cat(latents), None if memories[0] is None else torch.cat(memories)


class CausesFirst(LatentSearch):
    """Greedy, but causes are put right before effects, whatever those do meanwhile; the last action is plainly greedy.

    ordered: a distance in which a cause outweighs all it may upset. One action for each object then reaches any goal.
    """

    def __init__(self, model, world, distance, ordered) -> None:
        super().__init__(model, world, distance)
        self.plain, self.ordered = distance, ordered

    def act(self, boards: Boards, remaining: int) -> np.ndarray:
        self.distance = self.plain if remaining == 1 else self.ordered
        return super().act(boards, remaining)
