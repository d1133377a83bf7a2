"""Figures of predictions beside what happened, as rows of pictures: rollouts, and one state under many actions."""

from typing import NamedTuple

import numpy as np
import torch

from envs.frames import frame_ids
from envs.protocols import NamedChoices, Simulator
from envs.streams import Stream
from eval.pages.html import picture, strip
from eval.ranking import centred, ranks
from eval.rollouts import actions_of, counterfactual_outcomes, counterfactual_ranks, decode_frames, encode_frames, rollout

BETWEEN_POOL = 2000  # episodes whose frames are candidates before the last step, where no number is computed


class Figures(NamedTuple):
    """Ready HTML, and the number of wrong predictions among `pool`."""

    html: str
    wrong: int
    pool: int


def nearest(query: torch.Tensor, candidates: torch.Tensor, names: np.ndarray, own: np.ndarray) -> np.ndarray:
    """The candidate nearest to each query; among equally near ones, one that is not its own, as in the ranking.

    query (M, D), candidates (N, D), names (N,) equal for identical frames, own (M,) names  ->  (M,) indices.
    """
    query, candidates, slack = centred(query.flatten(1).double(), candidates.flatten(1).double(), 0)
    best = np.empty(len(query), int)
    for i, q in enumerate(query):
        distance = (candidates - q).pow(2).sum(1)
        distance[torch.from_numpy(names == own[i])] += slack[i]
        best[i] = distance.argmin()
    return best


def choose(rank: np.ndarray, cases: int, rng: np.random.Generator) -> np.ndarray:
    """Rows to show, drawn at random: wrong ones first, up to three quarters of the count, then right ones."""
    wrong, right = rng.permutation(np.flatnonzero(rank > 0)), rng.permutation(np.flatnonzero(rank == 0))
    count = max(cases - cases // 4, cases - len(right))
    wrong = wrong[:count]
    return np.concatenate([wrong, right[: cases - len(wrong)]])


def decodes_pictures(model, world) -> bool:
    """Whether the decoder gives pictures; that of a table does not, and the frame of the nearest table is shown."""
    return model.decoder is not None and world.observation == "pixels"


def rollout_figures(model, world, obs, pixels, action, horizon: int, cases: int = 8) -> Figures:
    """Open-loop rollouts of held-out episodes.

    obs (E, T+1, ...): what the model is shown; pixels (E, T+1, H, W, 3) uint8: what the page shows; action (E, T+1).
    """
    start, last = encode_frames(model, obs[:, 0]), encode_frames(model, obs[:, horizon])
    actions = actions_of(action[:, :horizon], world.spec)
    rank = ranks(rollout(model, start, actions), last, groups=frame_ids(obs[:, horizon]))
    shown = choose(rank, cases, Stream.PICTURES.rng())
    with torch.inference_mode():
        paths = model.rollout(start[shown].to(model.device), actions[shown].to(model.device)).cpu()
    predicted = np.empty((len(shown), horizon, *pixels.shape[2:]), np.uint8)
    right = np.empty((len(shown), horizon), bool)
    some = np.union1d(np.arange(min(BETWEEN_POOL, len(pixels))), shown)
    for t in range(1, horizon + 1):
        rows = some if t < horizon else np.arange(len(pixels))
        candidates = obs[rows, t]
        names, own = frame_ids(candidates), frame_ids(obs[shown, t])
        latents = encode_frames(model, candidates) if t < horizon else last
        best = nearest(paths[:, t - 1], latents, names, own)
        predicted[:, t - 1], right[:, t - 1] = pixels[rows[best], t], names[best] == own
    decoded_pictures = decodes_pictures(model, world)
    if decoded_pictures:
        decoded = decode_frames(model, paths.flatten(0, 1)).permute(0, 2, 3, 1)
        predicted = (decoded * 255).round().byte().numpy().reshape(predicted.shape)
    figures = [
        _rollout_figure(pixels[e, : horizon + 1], predicted[i], right[i], e, rank[e], decoded_pictures)
        for i, e in enumerate(shown)
    ]
    return Figures("\n".join(figures), int((rank > 0).sum()), len(rank))


def _rollout_figure(true, predicted, right, episode: int, rank: int, decoded: bool) -> str:
    horizon, wrong = len(predicted), rank > 0
    before = f"; {rank} of the candidates come before the true frame" if wrong else ""
    label = f'<span class="tag{" wrong" if wrong else ""}">{"wrong" if wrong else "right"}</span>'
    happened = [picture(frame, alt=f"true frame, step {t}") for t, frame in enumerate(true)]
    guessed = ['<span class="step">given</span>'] + [
        picture(frame, ok, f"prediction, step {t}, {'right' if ok else 'wrong'}")
        for t, (frame, ok) in enumerate(zip(predicted, right), 1)
    ]
    rows = [("happened", happened), ("decoded" if decoded else "nearest", guessed)]
    steps = strip([str(t) for t in range(horizon + 1)], rows)
    return f"<figure><figcaption>{label}episode {episode}, {horizon} steps{before}</figcaption>{steps}</figure>"


def counterfactual_figure(model, world: Simulator, pixels, state, action, look: int = 100) -> Figures:
    """One state, the actions of one owner: the true outcome beside the nearest of all outcomes, after one step.

    pixels (E, H, W, 3), state (E, ...), action (E, T): starts of episodes, in a world whose actions are choices. Of the first
    `look` states, the one is shown whose picture the actions of one owner, an object where each has its own, change most.
    """
    own, count, owners = world.spec.action.choices, min(look, len(state)), world.spec.action.owners
    rng = Stream.COUNTERFACTUAL.rng
    _, states, outcome, _ = counterfactual_outcomes(world, state[:count], action[:count], 1, rng(1))
    changed = (world.observe(states, "pixels")[outcome] != pixels[:count, None]).reshape(count, owners, -1).sum(-1)
    row, block = divmod(int(changed.argmax()), owners)
    one = (state[[row]], action[[row]])
    sequences, states, outcome, _ = counterfactual_outcomes(world, *one, 1, rng(1))
    frames, outcomes = world.observe(states, "pixels"), world.observe(states)
    obs = world.observe(world.unpack(one[0]))
    wrong = counterfactual_ranks(model, world, obs, *one, 1, rng(1)).model[0] > 0
    start = encode_frames(model, obs).expand(len(sequences[0]), -1, -1)
    predicted = rollout(model, start, actions_of(sequences[0], world.spec))
    names = frame_ids(outcomes)
    best = nearest(predicted, encode_frames(model, outcomes), names, names[outcome[0]])
    labels = list(world.choice_names) if isinstance(world, NamedChoices) else [f"action {i}" for i in range(own)]
    happened = [picture(pixels[row], alt="the state")]
    guessed = ['<span class="step">given</span>']
    for label, a in zip(labels, range(block * own, (block + 1) * own)):
        happened.append(picture(frames[outcome[0, a]], alt=f"true outcome of {label}"))
        guessed.append(picture(frames[best[a]], not wrong[a], f"nearest outcome to the prediction for {label}"))
    html = strip(["state", *labels], [("happens", happened), ("nearest", guessed)])
    return Figures(f"<figure>{html}</figure>", int(wrong.sum()), len(wrong))
