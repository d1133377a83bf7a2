"""What a run says of whole clips: how much they surprise it, frame by frame or as a whole, and what its heads read off them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from envs.episodes.on_disk import OnDisk
from envs.problem import Problem
from models.abilities import JudgesClips
from models.layers.pixels import as_obs

HORIZONS = (15, 25)  # frames ahead that are asked where nothing is said; chosen on validation pairs
LABEL = ("label_features", "label_posterior", "label_version")  # columns that heads read
AT_ONCE = 32  # clips


@dataclass(frozen=True)
class Asked:
    """How world models are asked.  context: frames seen before the first prediction.  horizons: frames that are predicted
    ahead; of several the one that surprises most counts at every frame.  decoded: the error is that of what the decoder draws,
    else of the latent.  of_clip: what of a curve is the surprise of the whole clip, its peak or its mean."""

    context: int = 10
    horizons: tuple[int, ...] = (1,)
    decoded: bool = False
    of_clip: str = "mean"

    @property
    def firsts(self) -> np.ndarray:
        """The first frame that is predicted over each horizon, (H,), from 0."""
        return self.context - 1 + np.array(self.horizons)

    @classmethod
    def of(cls, frames: int, context: int | None = None) -> "Asked":
        """Where nothing is said of the horizons: HORIZONS, as far as clips of so many frames reach; of shorter ones the end."""
        context = context or min(cls.context, frames // 2)
        return cls(context, tuple(one for one in HORIZONS if context + one <= frames) or (max(frames - context, 1),))


class Clips(NamedTuple):
    """Clips of one version in the order of their trials. trial, subtype, violation (P,): as their columns say; score (P,):
    surprise of the whole clip; curve (P, T): of every frame, (P, H, T) before it is scaled, none where a model judges clips
    as a whole; change (P, T): how much what is shown changes from frame to frame; posterior (P, Q): the observed rules."""

    trial: np.ndarray
    subtype: np.ndarray
    violation: np.ndarray
    posterior: np.ndarray
    score: np.ndarray
    curve: np.ndarray | None
    change: np.ndarray

    def take(self, index: np.ndarray) -> "Clips":
        return Clips(*(None if part is None else part[index] for part in self))


def labels_of(file, *names: str) -> list[np.ndarray]:
    """Columns of labels, one row for each clip: (P, ...)."""
    columns = file.read(*names)
    return [columns[name][file.ep_offset] for name in names]


def frames_of(file) -> int:
    """How many frames every clip of a file has; clips of several lengths are refused."""
    frames = np.unique(file.ep_len)
    if len(frames) > 1:
        raise Problem(f"clips of {file.path} have {frames[0]} to {frames[-1]} frames, and surprise is compared frame by frame; "
                      f"expected one length, collect them again")  # fmt: skip
    return int(frames[0])


def _shown(run, file) -> Iterator[tuple[np.ndarray, Tensor]]:
    """AT_ONCE clips of a file at a time: their numbers (n,), and what is shown of them (n, T, ...)."""
    stored, steps = OnDisk(file, run.world.shown.column), np.arange(frames_of(file))
    for some in np.array_split(np.arange(len(file)), -(-len(file) // AT_ONCE)):
        rows = file.ep_offset[some][:, None] + steps
        yield some, as_obs(torch.from_numpy(np.ascontiguousarray(stored.take(rows.ravel())))).unflatten(0, rows.shape)


def clips_of(run, file, asked: Asked, say: Callable[[str], None] = lambda text: None) -> Clips:
    """Surprise of a run at all clips of a file; curves are not scaled yet, and `asked.of_clip` is left to who scales them."""
    frames, judges = frames_of(file), isinstance(run.model, JudgesClips)
    if judges and frames != (learned := run.config.loss.stages[-1].window + 1):
        raise Problem(f"clips of {file.path} have {frames} frames, and the run learned on clips of {learned}; score it on such")
    if not judges and asked.context + max(asked.horizons) > frames:
        raise Problem(f"context={asked.context} and {max(asked.horizons)} frames ahead leave nothing of clips of {frames} "
                      f"frames to predict; set context= and horizons= to less")  # fmt: skip
    trial, subtype, violation, posterior = labels_of(file, "label_trial", "label_subtype", "label_violation", "label_posterior")
    parts = []
    for some, obs in _shown(run, file):
        change = (obs[:, 1:].float() - obs[:, :-1].float()).pow(2).flatten(2).mean(2)
        shown = obs.to(run.model.device)
        if judges:
            found = run.model.judge(shown, torch.from_numpy(posterior[some]).long())
        else:
            found = run.model.surprises(shown, None, asked.context, asked.horizons, asked.decoded).movedim(0, 1)
        parts.append((found.cpu().double().numpy(), np.pad(change.double().numpy(), ((0, 0), (1, 0)))))
    found, change = (np.concatenate(part) for part in zip(*parts))
    if not np.isfinite(found).all():
        raise Problem(f"surprise at clips of {file.path} is not finite; the model diverged, train it again")
    say(f"surprise at {len(file)} clips of {file.header['split']}")
    order = np.argsort(trial, kind="stable")
    score, curve = (found, None) if judges else (found.max((1, 2)), found)
    return Clips(trial, subtype, violation, posterior, score, curve, change).take(order)


def heads_report(run, file) -> dict[str, float]:
    """Of every head that the clips ask for: the mean error of a number, or the share of wrong answers."""
    columns = {name: torch.from_numpy(one) for name, one in zip(LABEL, labels_of(file, *LABEL))}
    read = torch.cat([run.model.answers(obs.to(run.model.device)).cpu() for _, obs in _shown(run, file)])
    found = {}
    for head, told in zip(run.model.heads.heads, read.T):
        true = columns[head.column].view(len(told), -1)[:, head.index].float()
        if not head.irrelevant(columns[head.column]):
            error = (told - true).abs() if head.classes == 0 else (told.round() != true).float()
            found[head.name] = round(float(error.mean()), 4)
    return found
