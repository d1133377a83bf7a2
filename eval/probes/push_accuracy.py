"""Push accuracy against observed steps: does a model that sees the frames so far predict whether a block yields?"""

import numpy as np
import torch

from eval.probes.weight_posterior import if_heavier
from eval.rollouts import actions_of, encode_frames, finite

BUCKET, AFTER = 10, 20  # steps


@torch.no_grad()
def predict_along(model, latent: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
    """Predictions of every next latent from the frames and actions so far.  (E, T+1, K, D), (E, T, A)  ->  (E, T, K, D)."""
    steps, memory = [], None
    for now, action in zip(latent[:, :-1].unbind(1), actions.unbind(1)):
        predicted, memory = model.step(now.to(model.device), action.to(model.device), memory)
        steps.append(predicted.cpu())
    return finite(torch.stack(steps, 1))


def push_hits(model, world, obs, state, action):
    """(hit, pushed, step), each (contacts,): was the prediction strictly nearer to what happened, what happened, and when.

    obs (E, T+1, ...) as the model is shown it, state (E, T+1, N, 7), action (E, T+1).
    """
    episodes, frames = action.shape
    latent = encode_frames(model, obs.reshape(-1, *obs.shape[2:])).unflatten(0, (episodes, frames))
    predicted = predict_along(model, latent, actions_of(action[:, :-1], world.spec))
    boards, moves = world.unpack(state[:, :-1].reshape(-1, *state.shape[2:])), action[:, :-1].reshape(-1)
    events = world.events(boards, moves)
    rows = np.flatnonzero(events["contact"])
    after, _, _ = if_heavier(world, boards.take(rows), moves[rows])
    query = predicted.flatten(0, 1)[rows].flatten(1).double()
    still = latent[:, :-1].flatten(0, 1)[rows].flatten(1).double()
    yielding = encode_frames(model, world.observe(after)).flatten(1).double()
    to_still, to_yielding = (query - still).pow(2).sum(1).numpy(), (query - yielding).pow(2).sum(1).numpy()
    pushed = events["push"][rows]
    return np.where(pushed, to_yielding < to_still, to_still < to_yielding), pushed, rows % (frames - 1)


def buckets(hit, pushed, step, posterior) -> list[dict]:
    """One entry for every ten observed steps, all in percent.  hit, pushed, step (contacts,); posterior of those contacts."""
    even = np.isclose(posterior, 0.5)
    perfect = np.where(even, 0.5, (posterior > 0.5) == pushed)
    found = []
    for first in range(0, int(step.max()) + 1, BUCKET):
        rows = (step >= first) & (step < first + BUCKET)
        if rows.any():
            share = pushed[rows].mean()
            found.append({
                "observed": [first, first + BUCKET - 1], "contacts": int(rows.sum()),
                "accuracy": 100 * hit[rows].mean(), "ceiling": 100 * perfect[rows].mean(),
                "one_answer": 100 * max(share, 1 - share),
            })  # fmt: skip
    return found
