"""What a model predicts for held-out episodes: encoded frames, open-loop rollouts, and what-if rollouts."""

from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional as F

from envs.frames import frame_ids


def actions_of(action: np.ndarray, spec) -> torch.Tensor:
    """Recorded actions (..., ) as the transition reads them, (..., A) float."""
    action = torch.from_numpy(np.ascontiguousarray(action))
    return F.one_hot(action, spec.action_size).float() if spec.action_kind == "object" else action.float()


@torch.no_grad()
def encode_frames(model, pixels: np.ndarray, batch: int = 1024) -> torch.Tensor:
    """(N, H, W, 3) uint8  ->  latents (N, K, D), in float32."""
    frames = torch.from_numpy(np.ascontiguousarray(pixels)).permute(0, 3, 1, 2)
    return torch.cat([model.encode(part.to(model.device)).cpu() for part in frames.split(batch)])


@torch.no_grad()
def rollout(model, latent: torch.Tensor, actions: torch.Tensor, memory=None, batch: int = 4096) -> torch.Tensor:
    """latent (N, K, D), actions (N, T, A)  ->  the last predicted latent (N, K, D), open loop.

    memory (N, M): what the model keeps of the time before, where it keeps any.
    """
    parts = []
    for rows in torch.arange(len(latent)).split(batch):
        before = () if memory is None else (memory[rows].to(model.device),)
        parts.append(model.rollout(latent[rows].to(model.device), actions[rows].to(model.device), *before)[:, -1].cpu())
    return torch.cat(parts)


@torch.no_grad()
def _share(model, latent: torch.Tensor, actions: torch.Tensor):
    """Where the shared beginning leads and what is remembered of it: (latent (N, K, D), memory (N, M) or none)."""
    if not actions.shape[1]:
        return latent, None
    latent, actions = latent.to(model.device), actions.to(model.device)
    path = torch.cat([latent[:, None], model.rollout(latent, actions)], 1)
    memory = model.remember(path, actions) if hasattr(model, "remember") else None
    return path[:, -1].cpu(), None if memory is None else memory.cpu()


def branch(model, latent: torch.Tensor, sequences: np.ndarray, spec) -> torch.Tensor:
    """Open-loop rollouts of sequences that share their beginning, which is computed once; memory branches with them.

    latent (M, K, D), sequences (M, A, T) of recorded actions; the A sequences of one state part at one step.
    -> last predicted latents (M, A, K, D).
    """
    choices = sequences.shape[1]
    parting = (sequences != sequences[:, :1]).any(1).argmax(1)
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
    """latent (N, K, D)  ->  frames (N, 3, H, W) in [0, 1]."""
    return torch.cat([model.decode(part.to(model.device)).cpu() for part in latent.split(batch)])


def what_if(world, state: np.ndarray, action: np.ndarray, horizon: int, rng: np.random.Generator):
    """True outcomes of action sequences that differ in one action.

    state (M, N, 7) rows of the state column; action (M, T >= horizon). The action at one random step of the first
    `horizon` is replaced by every action in turn.
    -> (sequences (M, A, horizon) int, frames (U, H, W, 3) uint8 of the distinct outcomes, outcome (M, A) index into them).
    """
    count, choices = len(state), world.spec.action_size
    sequences = np.repeat(action[:, None, :horizon], choices, 1)
    step = rng.integers(0, horizon, count)
    sequences[np.arange(count), :, step] = np.arange(choices)
    boards = world.unpack(np.repeat(state, choices, 0))
    for t in range(horizon):
        boards, _ = world.step(boards, sequences[:, :, t].reshape(-1))
    # Equal outcomes of one state are one candidate; only distinct boards are drawn.
    key = np.concatenate([np.repeat(np.arange(count), choices)[:, None], world.pack(boards).reshape(count * choices, -1)], 1)
    _, first, outcome = np.unique(key, axis=0, return_index=True, return_inverse=True)
    return sequences, world.render(boards.take(first)), outcome.reshape(count, choices)


class WhatIfRanks(NamedTuple):
    """Ranks (M, A), 0 = best: of the model, and of the floor that answers "nothing happens" in the model's own latents."""

    model: np.ndarray
    copy: np.ndarray


def what_if_ranks(model, world, pixels, state, action, horizon: int, rng) -> WhatIfRanks:
    """Rank of the true outcome of every action among the distinct outcomes of all actions, ties against us.

    pixels (M, H, W, 3): the frames of `state`.
    """
    sequences, frames, outcome = what_if(world, state, action, horizon, rng)
    ids = frame_ids(frames)
    count, choices = outcome.shape
    start = encode_frames(model, pixels)
    predicted = branch(model, start, sequences, world.spec).flatten(2).double()
    nothing = start.flatten(1)[:, None].expand(-1, choices, -1).double()
    candidates = encode_frames(model, frames).flatten(1).double()[torch.from_numpy(outcome)]  # (M, A, D)
    name = ids[outcome]  # (M, A): two boards that look the same are one outcome too
    same = name[:, :, None] == name[:, None, :]
    first = ~np.tril(same, -1).any(-1)
    other = torch.from_numpy(first[:, None, :] & ~same)

    def rank(query):
        distance = torch.cdist(query, candidates, compute_mode="donot_use_mm_for_euclid_dist").pow(2)
        true = distance.diagonal(dim1=1, dim2=2)[..., None]
        slack = 1e-9 * (query.pow(2).sum(-1, keepdim=True) + candidates.pow(2).sum(-1).amax(1)[:, None, None])
        return ((distance <= true + slack) & other).sum(-1).numpy()

    return WhatIfRanks(rank(predicted), rank(nothing))
