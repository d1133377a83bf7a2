"""Training a distance predictor: pairs of frames of one episode, latents computed once, the world's own distance as target."""

import math
import time
from io import BytesIO
from pathlib import Path

import numpy as np
import torch

from envs.problem import Problem
from envs.streams import Stream
from envs.whole_files import write_whole
from eval.planning.blocks_distance import BlocksDistance
from eval.rollouts import encode_frames
from eval.runs.checkpoints import digest
from eval.terminal import Steps
from models.goal_distance import FlatDistance, LatentDistance, SiameseDistance

NOT_LEARNED = ("latent", "blocks")
HEADS = {"siamese": SiameseDistance, "flat": FlatDistance}
BATCH = 1024


class Pairs:
    """Frames of the same episodes, at most `reach` steps apart, with their true distance.

    ahead: the goal is always `reach` steps later, or the last frame, as in the authors' data; else any two frames.
    """

    def __init__(self, model, world, file, reach: int, ahead: bool) -> None:
        obs, state = file.episodes(world.shown.column, "state")
        self.world, self.reach, self.ahead = world, reach, ahead
        self.episodes, self.rows = state.shape[:2]
        obs, state = (c.reshape(-1, *c.shape[2:]) for c in (obs, state))
        self.latent, self.boards = encode_frames(model, obs), world.unpack(state)

    def draw(self, count: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """latents (count, K, D) of states and of goals, and their distances (count,)."""
        first = rng.integers(0, self.rows, count)
        offset = self.reach if self.ahead else rng.integers(-self.reach, self.reach + 1, count)
        second = np.clip(first + offset, 0, self.rows - 1)
        base = rng.integers(0, self.episodes, count) * self.rows
        a, b = base + first, base + second
        far = self.world.distance(self.boards.take(a), self.boards.take(b))
        return self.latent[a], self.latent[b], torch.as_tensor(far, dtype=torch.float32)


def fit_distance(kind: str, train: Pairs, valid: Pairs, steps: int, learning_rate: float, seed: int, quiet: bool = True):
    """-> (predictor in eval mode, its mean absolute error on held-out pairs, in the world's distance).

    quiet: show no progress.
    """
    torch.manual_seed(seed)
    head = HEADS[kind](train.latent[0].numel())
    optimizer = torch.optim.Adam(head.parameters(), learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    rng = Stream.PAIRS.rng(seed)
    with Steps("training the distance predictor", steps, quiet) as progress:
        for _ in range(steps):
            latent, goal, far = train.draw(BATCH, rng)
            loss = (head(latent, goal) - far).abs().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            progress.step()
        progress.part("done")
    with torch.no_grad():
        latent, goal, far = valid.draw(8 * BATCH, Stream.HELD_OUT_PAIRS.rng(seed))
        error = (head(latent, goal) - far).abs().mean().item()
    return head.eval().requires_grad_(False), error


def save_distance(path: Path, kind: str, head, error: float, model) -> None:
    """Keep a predictor with its held-out error and the digest of the encoder it was trained on."""
    encoder, size, content = digest(model.encoder.state_dict()), head.size, BytesIO()
    torch.save({"kind": kind, "size": size, "state": head.state_dict(), "error": error, "encoder": encoder}, content)
    write_whole(path, content.getvalue())


def load_distance(path: Path, model):
    """(predictor, error) as `fit_distance` gave them; that of another encoder or a damaged file is refused."""
    try:
        kept = torch.load(path, weights_only=True)
        if kept["encoder"] != digest(model.encoder.state_dict()):
            raise Problem(f"{path} was trained on another encoder; remove it and plan again")
        head, held_out = HEADS[kept["kind"]](kept["size"]), float(kept["error"])
        head.load_state_dict(kept["state"])
    except Problem:
        raise
    except Exception as error:  # a damaged pickle can raise nearly anything
        raise Problem(f"{path} is not a readable predictor ({type(error).__name__}); remove it and plan again") from error
    return head.eval().requires_grad_(False), held_out


def learned_distance(model, run, data_dir, asked: dict, folder: Path | None = None):
    """The distance that a protocol asks for: (predictor, held-out error or none, seconds of training or none).

    run: whose data is learned from.  folder: where predictors stay, and are found again.
    """
    start = time.monotonic()
    if asked["reward"] == "latent":
        return LatentDistance(), None, None
    if asked["reward"] == "blocks":
        return BlocksDistance(model, run.world), None, None
    name = "-".join(str(asked[key]) for key in ("reward", "reach", "ahead", "reward_steps", "reward_learning_rate", "seed"))
    path = None if folder is None else folder / f"distance-{name}.pt"
    if path is not None and path.exists():
        return *load_distance(path, model), None
    pairs = [Pairs(model, run.world, run.file(split, data_dir), asked["reach"], asked["ahead"]) for split in ("train", "valid")]
    settings = asked["reward_steps"], asked["reward_learning_rate"], asked["seed"]
    head, error = fit_distance(asked["reward"], *pairs, *settings, quiet=False)
    if not math.isfinite(error):
        raise Problem(f"the distance predictor diverged (held-out error {error}); lower reward_learning_rate=")
    if path is not None:
        save_distance(path, asked["reward"], head, error, model)
    return head, error, time.monotonic() - start
