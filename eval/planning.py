"""Reaching goals: policies that choose one action for every board at once, from the true world or from a learned one.

A policy is told the goals once (`begin`), then at every step the boards and the steps that remain (`act`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from envs.boards import Boards, walk_to_goal
from envs.observe import show
from envs.problem import Problem
from envs.streams import Stream
from eval.rollouts import actions_of, encode_frames

ROWS = 16384  # latents that are searched at a time
ROWS_OF_CPU = 1024  # of them stepped at a time on a CPU: as many as its caches hold
SAMPLES = 16  # of chance, where the true world plans


@dataclass(frozen=True)
class Tasks:
    """start and goal, E boards each, and the actions (E, T) that made the goals."""

    start: Boards
    goal: Boards
    actions: np.ndarray

    @property
    def horizon(self) -> int:
        return self.actions.shape[1]


def draw_tasks(world, episodes: int, horizon: int, seed: int, mode: str = "train", may_equal_start: bool = False) -> Tasks:
    """Fresh boards with goals `horizon` random actions away; the same for every model."""
    rng = Stream.TASKS.rng(seed, horizon)
    start = world.reset(episodes, rng, mode)
    return Tasks(start, *walk_to_goal(world, start, rng, horizon, may_equal_start))


def has_goals(world) -> bool:
    """Whether a world tells how far its boards are from a goal, and has actions that can be tried one by one."""
    return hasattr(world, "distance") and world.spec.action_kind == "object"


class Policy(Protocol):
    """Chooses an action for every board."""

    def begin(self, tasks: Tasks) -> None: ...
    def act(self, boards: Boards, remaining: int) -> np.ndarray: ...


def reach(world, tasks: Tasks, policy: Policy, seed: int, after_step: Callable[[], None] = lambda: None) -> np.ndarray:
    """Which goals stand after exactly as many steps as made them, (E,) bool. Chance is the same for every policy.

    after_step: called after every step of all episodes.
    """
    rng, boards = Stream.CHANCE.rng(seed, tasks.horizon), tasks.start
    policy.begin(tasks)
    for t in range(tasks.horizon):
        noise = world.noise(len(boards), rng)
        boards, _ = world.step(boards, policy.act(boards, tasks.horizon - t), noise)
        after_step()
    return world.distance(boards, tasks.goal) == 0


def after_every_action(world, boards: Boards, noise) -> Boards:
    """The boards after every action in turn, E * A of them; chance (E, ...) is shared by the actions of a board."""
    count, choices = len(boards), world.spec.action_size
    noise = None if noise is None else np.repeat(noise, choices, 0)
    return world.step(boards.take(np.repeat(np.arange(count), choices)), np.tile(np.arange(choices), count), noise)[0]


def greedy(world, boards: Boards, goal: Boards, rng: np.random.Generator, samples: int = SAMPLES) -> np.ndarray:
    """The action after which the true world expects the smallest distance to the goal, (E,)."""
    count, choices = len(boards), world.spec.action_size
    aim, expected = goal.take(np.repeat(np.arange(count), choices)), np.zeros(count * choices)
    for _ in range(samples):
        noise = world.noise(count, rng)
        expected += world.distance(after_every_action(world, boards, noise), aim)
        if noise is None:
            break
    return expected.reshape(count, choices).argmin(1)


def _finite(far: torch.Tensor) -> torch.Tensor:
    """The same; the smallest of NaNs would be some action, and a diverged model look like a weak one."""
    if not far.isfinite().all():
        raise Problem("distances to the goal hold NaN or infinity: the model or its reward diverged; train it again")
    return far


class Random:
    """Floor."""

    def __init__(self, world, seed: int) -> None:
        self.choices, self.rng = world.spec.action_size, Stream.RANDOM.rng(seed)

    def begin(self, tasks: Tasks) -> None: ...

    def act(self, boards: Boards, remaining: int) -> np.ndarray:
        return self.rng.integers(0, self.choices, len(boards))


class LowestWrong:
    """Floor: the lowest-numbered object of a wrong colour is painted; where none is wrong, the last one.

    It knows no causes. Where objects are numbered in causal order it puts causes before effects all the same.
    """

    def __init__(self, world) -> None:
        self.num_colors = world.num_colors

    def begin(self, tasks: Tasks) -> None:
        self.goal = tasks.goal

    def act(self, boards: Boards, remaining: int) -> np.ndarray:
        wrong = boards.colors != self.goal.colors
        first = np.where(wrong.any(1), wrong.argmax(1), wrong.shape[1] - 1)
        return first * self.num_colors + self.goal.colors[np.arange(len(first)), first].astype(np.int64)


class Replay:
    """The actions that made the goal: certain where there is no chance; where there is, often far below the best plan."""

    def begin(self, tasks: Tasks) -> None:
        self.actions = tasks.actions

    def act(self, boards: Boards, remaining: int) -> np.ndarray:
        return self.actions[:, -remaining]


class TrueGreedy:
    """One step ahead with the true world and the true distance."""

    def __init__(self, world, seed: int) -> None:
        self.world, self.rng = world, Stream.GREEDY.rng(seed)

    def begin(self, tasks: Tasks) -> None:
        self.goal = tasks.goal

    def act(self, boards: Boards, remaining: int) -> np.ndarray:
        return greedy(self.world, boards, self.goal, self.rng)


class Simulator:
    """The true world says what every action would show; encoder and distance choose. No transition has a part in it."""

    def __init__(self, model, world, distance, seed: int) -> None:
        self.model, self.world, self.distance, self.rng = model, world, distance, Stream.SIMULATOR.rng(seed)

    def begin(self, tasks: Tasks) -> None:
        self.goal = encode_frames(self.model, show(self.world, tasks.goal))

    @torch.no_grad()
    def act(self, boards: Boards, remaining: int) -> np.ndarray:
        after = after_every_action(self.world, boards, self.world.noise(len(boards), self.rng))
        state = self.world.pack(after).reshape(len(after), -1)
        _, first, which = np.unique(state, axis=0, return_index=True, return_inverse=True)  # many actions do the same
        latent = encode_frames(self.model, show(self.world, after.take(first)))[which.ravel()]
        far = _finite(self.distance(latent, self.goal.repeat_interleave(self.world.spec.action_size, 0)))
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
        self.actions = actions_of(np.arange(world.spec.action_size), world.spec)

    def begin(self, tasks: Tasks) -> None:
        self.goal = encode_frames(self.model, show(self.world, tasks.goal))
        self.latent = self.memory = self.action = None

    @torch.no_grad()
    def act(self, boards: Boards, remaining: int) -> np.ndarray:
        if self.latent is None:
            self.latent = encode_frames(self.model, show(self.world, boards))
        else:
            memory = None if self.memory is None else self.memory.to(self.model.device)
            step = self.latent.to(self.model.device), self.actions[self.action].to(self.model.device), memory
            predicted, self.memory = (None if made is None else made.cpu() for made in self.model.step(*step))
            self.latent = encode_frames(self.model, show(self.world, boards)) if self.closed else predicted
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
