"""Next colours of clean objects while the factors of others are noise: what a model, the true model and a floor predict."""

import numpy as np
import torch

from envs.graphs import ancestors
from envs.streams import Stream
from eval.ranking import centred
from eval.rollouts import actions_of, encode_frames, rollout
from eval.terminal import Steps

SAMPLES = 128  # draws of the true model
BOARDS = 256  # whose alternatives are encoded at a time


def draw_noisy(count: int, num_objects: int, nodes: int, rng: np.random.Generator) -> np.ndarray:
    """`nodes` random objects of every state, (count, N) bool."""
    return rng.random((count, num_objects)).argsort(1) < nodes


def add_noise(factors: np.ndarray, noisy: np.ndarray, sigma: float, rng: np.random.Generator) -> np.ndarray:
    """Factors (M, N, F) with those of the noisy (M, N) objects replaced by noise, float32."""
    noise = rng.normal(0, sigma, factors.shape)
    return np.where(noisy[..., None], noise, factors).astype(np.float32)


def undisturbed(noisy: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Objects that are clean and have no noisy ancestor.  noisy (M, N), parents (N, N)[child, parent]  ->  (M, N) bool."""
    return ~noisy & ~(noisy[:, None] & ancestors(parents)).any(-1)


@torch.no_grad()
def predicts_color(model, world, predicted: torch.Tensor, after) -> np.ndarray:
    """Whether predictions have the true next colour of every object; ties count against the model.

    predicted (S, M, K, D): S predictions of the M boards `after`.  -> (S, M, N) bool.
    A decoder predicts the colour with the largest logit. Without a decoder the true board is encoded with the object in
    every colour in turn, and the true colour must be nearest.
    """
    true = torch.from_numpy(after.colors).long()
    if model.decoder is not None:
        flat = predicted.flatten(0, 1).split(1024)
        logits = torch.cat([model.decoder(part.to(model.device)).cpu() for part in flat])
        misfit = -logits[..., : world.num_colors].unflatten(0, predicted.shape[:2]).double()
        return _strictly_least(misfit, true, 0.0).numpy()
    hits, n, c = [], world.num_objects, world.num_colors
    for rows in np.array_split(np.arange(len(after)), -(-len(after) // BOARDS)):
        boards = after.take(np.repeat(rows, n * c))
        cases = np.arange(len(boards))
        boards.colors[cases, cases // c % n] = cases % c
        codes = encode_frames(model, world.observe(boards)).flatten(1).double().view(len(rows), n, c, -1)
        guesses = predicted[:, rows].flatten(2).double()[:, :, None, None]
        hits.append(torch.stack([_nearest_is_true(guess, codes, true[rows]) for guess in guesses]))
    return torch.cat(hits, 1).numpy()


def _nearest_is_true(guess: torch.Tensor, codes: torch.Tensor, true: torch.Tensor) -> torch.Tensor:
    """guess (M, 1, 1, D), codes (M, N, C, D) of boards with each object in each colour, true (M, N)  ->  (M, N) bool."""
    guess, codes, slack = centred(guess, codes, (1, 2))
    return _strictly_least((codes - guess).pow(2).sum(-1), true, slack[..., 0])


def _strictly_least(misfit: torch.Tensor, true: torch.Tensor, slack) -> torch.Tensor:
    """misfit (..., M, N, C), true (M, N)  ->  (..., M, N) bool: the true colour's misfit is the only smallest one."""
    own = true.expand(misfit.shape[:-1])[..., None]
    rivals = misfit.scatter(-1, own, torch.inf).amin(-1)
    return misfit.gather(-1, own)[..., 0] + slack < rivals


def true_model_predicts(world, boards, action: np.ndarray, after, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Whether the true model, given clean boards, is right: its mode, the likeliest of SAMPLES draws.  (M, N) bool each."""
    mode, _ = world.step(boards, action, None)
    votes, colors = np.zeros((*after.colors.shape, world.num_colors), np.int32), np.eye(world.num_colors, dtype=np.int32)
    for _ in range(SAMPLES):
        drawn, _ = world.step(boards, action, world.noise(len(boards), rng))
        votes += colors[drawn.colors]
    return mode.colors == after.colors, votes.argmax(-1) == after.colors


def measure(model, world, obs, action, state, nodes: list[int], sigma: float, seed: int) -> dict[str, float]:
    """All in percent.  obs (E, T+1, N, F) factors, action (E, T+1), state (E, T+1, N, ...)."""
    factors, action = obs[:, :-1].reshape(-1, *obs.shape[2:]), action[:, :-1].reshape(-1)
    boards, after = (world.unpack(s.reshape(-1, *s.shape[2:])) for s in (state[:, :-1], state[:, 1:]))
    actions = actions_of(action[:, None], world.spec)
    masks, predictions = [], []
    with Steps("noisy nodes", len(nodes) + 2) as progress:
        for n in nodes:
            rng = Stream.NOISY.rng(seed, n)
            masks.append(draw_noisy(len(factors), world.num_objects, n, rng))
            shown = add_noise(factors, masks[-1], sigma, rng)
            predictions.append(rollout(model, encode_frames(model, shown), actions))
            progress.step(f"predictions under {n}")
        right = predicts_color(model, world, torch.stack(predictions), after)
        progress.step("their colours")
        truth = true_model_predicts(world, boards, action, after, Stream.NOISY_TRUTH.rng(seed))
        progress.step("ceiling")
    painted = world.paint(boards, action).colors == after.colors
    metrics = {}
    for n, noisy, hits in zip(nodes, masks, right):
        asked = undisturbed(noisy, world.parents)
        metrics[f"noisy/asked/n{n}"] = 100 * asked.mean()
        if asked.any():
            metrics[f"noisy/accuracy/n{n}"] = 100 * hits[asked].mean()
            metrics[f"noisy/ceiling/n{n}"] = 100 * max(said[asked].mean() for said in truth)
            metrics[f"noisy/floor/paint/n{n}"] = 100 * painted[asked].mean()
    return {name: float(value) for name, value in metrics.items()}
