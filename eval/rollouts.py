"""What a model predicts for held-out episodes: encoded frames, open-loop rollouts, and counterfactual rollouts."""

from typing import NamedTuple

import numpy as np
import torch

from envs.frames import frame_ids
from envs.problem import Diverged, Problem
from envs.protocols import Factors, Simulator, State
from eval.ranking import centred
from models.abilities import Filters
from models.actions import vector
from models.layers.pixels import as_obs, to_float


def actions_of(action: np.ndarray, spec) -> torch.Tensor:
    """Recorded actions (..., ) as the transition reads them, (..., A) float."""
    return vector(torch.from_numpy(np.ascontiguousarray(action)), spec.action)


def finite(latent: torch.Tensor, what: str = "predictions") -> torch.Tensor:
    """The latent as it came.

    Raises Diverged on NaN or infinity: comparisons with NaN are all false, and a diverged model would look like a weak one.
    """
    if not latent.isfinite().all():
        raise Diverged(f"{what} hold NaN or infinity; the model diverged, train it again")
    return latent


@torch.no_grad()
def encode_frames(model, obs: np.ndarray, batch: int = 1024) -> torch.Tensor:
    """Observations as a file or a world gives them, (M, H, W, 3) or (M, N, F)  ->  latents (M, K, D), in float32.

    Written into one tensor: latents kept part by part lie in what the part before has freed, so that the next one takes new
    memory, which where freed memory is kept (train/malloc.py) came to 22 GB of 100,000 frames.
    """
    stored, latent = torch.from_numpy(np.ascontiguousarray(obs)), None
    for rows in torch.arange(len(stored)).split(batch):
        found = model.encode(as_obs(stored[rows]).to(model.device)).cpu()
        latent = found.new_empty(len(stored), *found.shape[1:]) if latent is None else latent
        latent[rows] = found
        del found  # before the next one is made
    return latent


@torch.no_grad()
def rollout(model, latent: torch.Tensor, actions: torch.Tensor, memory=None, batch: int = 4096) -> torch.Tensor:
    """latent (N, K, D), actions (N, T, A)  ->  the last predicted latent (N, K, D), open loop.

    memory (N, M): what the model keeps of the time before, where it keeps any.
    """
    return rollout_at(model, latent, actions, [actions.shape[1]], memory, batch)[0]


@torch.no_grad()
def rollout_at(
    model, latent: torch.Tensor, actions: torch.Tensor, steps: list[int], memory=None, batch: int = 4096
) -> list[torch.Tensor]:
    """As `rollout`, the predicted latent (N, K, D) after each of some steps of the same actions, which are computed once."""
    parts, at = [], torch.tensor(steps) - 1
    for rows in torch.arange(len(latent)).split(batch):
        before = () if memory is None else (memory[rows].to(model.device),)
        path = model.rollout(latent[rows].to(model.device), actions[rows].to(model.device), *before)
        if path.shape[1] != actions.shape[1]:
            raise Problem(f"rollout gave {path.shape[1]} latents for {actions.shape[1]} actions; it gives one after each, "
                          f"without the start")  # fmt: skip
        parts.append(path[:, at.to(path.device)].cpu())
    return [finite(end, f"predictions after {step} steps") for step, end in zip(steps, torch.cat(parts).unbind(1))]


@torch.no_grad()
def _share(model, latent: torch.Tensor, actions: torch.Tensor):
    """Where the shared beginning leads and what is remembered of it: (latent (N, K, D), memory (N, M) or none)."""
    if not actions.shape[1]:
        return latent, None
    latent, actions = latent.to(model.device), actions.to(model.device)
    path = torch.cat([latent[:, None], model.rollout(latent, actions)], 1)
    memory = model.filter(path, actions) if isinstance(model, Filters) else None
    return path[:, -1].cpu(), None if memory is None else memory.cpu()


def branch(model, latent: torch.Tensor, sequences: np.ndarray, spec) -> torch.Tensor:
    """Open-loop rollouts of sequences that share their beginning, which is computed once; memory branches with them.

    latent (M, K, D), sequences (M, C, T, ...) of recorded actions; the C sequences of one state part at one step.
    -> last predicted latents (M, C, K, D).
    """
    count, choices, steps = sequences.shape[:3]
    differs = (sequences != sequences[:, :1]).reshape(count, choices, steps, -1).any(-1)
    parting = differs.any(1).argmax(1)
    ends = latent.new_empty(len(latent), choices, *latent.shape[1:])
    for step in np.unique(parting):
        rows = np.flatnonzero(parting == step)
        here, memory = _share(model, latent[rows], actions_of(sequences[rows, 0, :step], spec))
        here = here.repeat_interleave(choices, 0)
        memory = None if memory is None else memory.repeat_interleave(choices, 0)
        apart = actions_of(sequences[rows][:, :, step:], spec).flatten(0, 1)
        ends[rows] = rollout(model, here, apart, memory).unflatten(0, (-1, choices))
    return ends


@torch.no_grad()
def decode_frames(model, latent: torch.Tensor, batch: int = 512) -> torch.Tensor:
    """latent (M, K, D)  ->  frames (M, 3, H, W), or factors (M, N, F), in [0, 1]."""
    return torch.cat([model.decode(part.to(model.device)).cpu() for part in latent.split(batch)])


def true_frames(obs: np.ndarray) -> torch.Tensor:
    """Observations as `decode_frames` should give them, floats in [0, 1]."""
    numbers, scale = to_float(as_obs(torch.from_numpy(np.ascontiguousarray(obs))))
    return numbers * scale


class Outcomes(NamedTuple):
    """sequences (M, C, horizon, ...) of actions; states: the U distinct outcomes; outcome (M, C) index into them.

    changed (M, C): how many objects the replaced action changes, at its own step; None where the world has no factors.
    """

    sequences: np.ndarray
    states: State
    outcome: np.ndarray
    changed: np.ndarray | None


def values(world: Factors, state: State) -> np.ndarray:
    """The factors of states as numbers, (B, N, G); -1 of an absent object."""
    groups = np.split(world.factors(state), np.cumsum(world.factor_sizes)[:-1], -1)
    return np.stack([np.where(group.any(-1), group.argmax(-1), -1) for group in groups], -1)


def changed_objects(world: Factors, before: State, after: State) -> np.ndarray:
    """How many objects have another factor afterwards, (B,)."""
    return (values(world, before) != values(world, after)).any(-1).sum(-1)


def counterfactual_outcomes(
    world: Simulator, state: np.ndarray, action: np.ndarray, horizon: int, rng: np.random.Generator, count: int = 25
) -> Outcomes:
    """True outcomes of action sequences that differ in one action.

    state (M, ...) rows of the state column; action (M, T >= horizon, ...). The action at one random step of the first
    `horizon` is replaced by every candidate in turn: every action where the world can count them, else the one done and
    draws, `count` in all. Chance, where the world has any, is the same for all candidates of a state: the outcomes are
    counterfactuals of one another, not samples.
    """
    rows = np.arange(len(state))
    step = rng.integers(0, horizon, len(state))
    candidates = world.candidates(action[rows, step], rng, count)
    choices = candidates.shape[1]
    sequences = np.repeat(action[:, None, :horizon], choices, 1)
    sequences[rows, :, step] = candidates
    states = world.unpack(np.repeat(state, choices, 0))
    changed = np.zeros((len(state), choices), int) if isinstance(world, Factors) else None
    for t in range(horizon):
        before, noise = states, world.noise(len(state), rng)
        noise = None if noise is None else np.repeat(noise, choices, 0)
        states, _ = world.step(before, sequences[:, :, t].reshape(-1, *sequences.shape[3:]), noise)
        if changed is not None and (now := step == t).any():
            of = np.flatnonzero(np.repeat(now, choices))
            changed[now] = changed_objects(world, before.take(of), states.take(of)).reshape(-1, choices)
    # Equal outcomes of one state are one candidate.
    key = np.concatenate([np.repeat(rows, choices)[:, None], world.pack(states).reshape(len(states), -1)], 1)
    _, first, outcome = np.unique(key, axis=0, return_index=True, return_inverse=True)
    return Outcomes(sequences, states.take(first), outcome.reshape(len(state), choices), changed)


def rank_outcomes(query: torch.Tensor, outcomes: torch.Tensor, outcome: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Rank of the true outcome of every action among the distinct outcomes of all actions of its state, ties against us.

    query (M, C, ...) predictions; outcomes (U, ...) codes, outcome (M, C) index into them, ids (U,) equal for those that
    look the same: two states that look the same are one outcome.  -> (M, C), 0 = best.
    """
    query, outcomes = finite(query).flatten(2).double(), finite(outcomes, "latents of outcomes")
    candidates = outcomes.flatten(1).double()[torch.from_numpy(outcome)]  # (M, C, D)
    name = ids[outcome]  # (M, C)
    same = name[:, :, None] == name[:, None, :]
    first = ~np.tril(same, -1).any(-1)
    other = torch.from_numpy(first[:, None, :] & ~same)
    query, candidates, slack = centred(query, candidates, 1)
    distance = torch.cdist(query, candidates, compute_mode="donot_use_mm_for_euclid_dist").pow(2)
    true = distance.diagonal(dim1=1, dim2=2)[..., None]
    return ((distance <= true + slack[..., None]) & other).sum(-1).numpy()


class CounterfactualRanks(NamedTuple):
    """Ranks (M, C), 0 = best: of the model, and of the floor that answers "nothing happens" in the model's own latents.

    changed: as of `Outcomes`.  alone (M,): states whose sequences all end in what looks the same: no answer is wrong there.
    """

    model: np.ndarray
    copy: np.ndarray
    changed: np.ndarray | None
    alone: np.ndarray


def counterfactual_ranks(model, world, obs, state, action, horizon: int, rng) -> CounterfactualRanks:
    """`rank_outcomes` of a model's predictions.  obs (M, ...): what the model is shown of `state`."""
    return ranks_among(model, world, obs, counterfactual_outcomes(world, state, action, horizon, rng))


def ranks_among(model, world, obs, found: Outcomes) -> CounterfactualRanks:
    """`rank_outcomes` of a model's predictions among known outcomes.  obs (M, ...): what it is shown of their states."""
    outcomes = world.observe(found.states)
    ids = frame_ids(outcomes, world.shown.resolution)
    start, codes = encode_frames(model, obs), encode_frames(model, outcomes)
    nothing = start[:, None].expand(-1, found.outcome.shape[1], -1, -1)
    predicted = branch(model, start, found.sequences, world.spec)
    ranks = (rank_outcomes(guess, codes, found.outcome, ids) for guess in (predicted, nothing))
    names = ids[found.outcome]
    return CounterfactualRanks(*ranks, found.changed, (names == names[:, :1]).all(1))
