"""Violated causes: is a model more surprised by them than by what one expects, and than by lawful changes of the same size?"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from envs.episodes.on_disk import OnDisk
from envs.problem import Problem
from envs.protocols import Violations
from envs.streams import Stream
from envs.voe.clip import SUBTYPES
from eval.probes.pair_scores import accuracy, auc, hit_rate, interval
from eval.probes.probe import Row, probe
from models.layers.pixels import as_obs
from models.ofpr import ClipModel
from models.trees import Rules

TOLD = ("label_trial", "label_features", "label_posterior")
HORIZONS = (15, 25)  # frames ahead that are asked where nothing is said; chosen on validation pairs
LABEL = ("label_features", "label_posterior", "label_version")  # columns that heads read
AT_ONCE = 32  # clips
FLOOR = 0.1  # of the mean spread: less spread at a frame is counted as this much
QUANTILE = 0.95  # of validation clips: a clip that surprises more is called surprising
HIT, AUC, ACCURACY, MOMENT = "voe/hit_rate", "voe/auc", "voe/accuracy", "voe/moment_error"
KINDS = {  # of pairs: their name in metrics -> the version that should surprise less, the one that should surprise more
    "": ("expected", "surprising"), "control/": ("control", "surprising"), "lawful/": ("expected", "control"),
}  # fmt: skip
LABELS = {"": "surprising over expected", "control/": "surprising over control", "lawful/": "control over expected"}


@dataclass(frozen=True)
class Asked:
    """How world models are asked.  context: frames seen before the first prediction.  horizons: frames that are predicted ahead;
    of several the one that surprises most counts at every frame.  decoded: the error is that of what the decoder draws, else
    of the latent.  of_clip: what of a curve is the surprise of the whole clip, its peak or its mean."""

    context: int = 10
    horizons: tuple[int, ...] = (1,)
    decoded: bool = False
    of_clip: str = "mean"

    @classmethod
    def of(cls, frames: int, context: int | None = None) -> "Asked":
        """Where nothing is said of the horizons: HORIZONS, as far as clips of so many frames reach."""
        context = context or min(cls.context, frames // 2)
        return cls(context, tuple(one for one in HORIZONS if context + one <= frames))


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


class Scale(NamedTuple):
    """Mean and spread (..., T) of the surprise at every frame of expected validation clips."""

    mean: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, curve: np.ndarray) -> "Scale":
        spread = curve.std(0)
        return cls(curve.mean(0), np.sqrt(spread**2 + (FLOOR * spread.mean(-1, keepdims=True)) ** 2 + 1e-24))

    def __call__(self, curve: np.ndarray) -> np.ndarray:
        """(P, ..., T) in units of the spread."""
        return (curve - self.mean) / self.spread


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


def clips_of(run, file, asked: Asked, say: Callable[[str], None] = lambda text: None) -> Clips:
    """Surprise of a run at all clips of a file, AT_ONCE at a time; curves are not scaled yet."""
    frames, judges = frames_of(file), isinstance(run.model, ClipModel)
    if judges and frames != (learned := run.config.loss.stages[-1].window + 1):
        raise Problem(f"clips of {file.path} have {frames} frames, and the run learned on clips of {learned}; score it on such")
    if not judges and asked.context + max(asked.horizons) > frames:
        raise Problem(f"context={asked.context} and {max(asked.horizons)} frames ahead leave nothing of clips of {frames} frames to "
                      f"predict; set context= and horizons= to less")  # fmt: skip
    trial, subtype, violation, posterior = labels_of(file, "label_trial", "label_subtype", "label_violation", "label_posterior")
    stored, parts = OnDisk(file, run.world.shown.column), []
    for some in np.array_split(np.arange(len(file)), -(-len(file) // AT_ONCE)):
        rows = file.ep_offset[some][:, None] + np.arange(frames)
        obs = as_obs(torch.from_numpy(np.ascontiguousarray(stored.take(rows.ravel())))).unflatten(0, rows.shape)
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


def summed_up(curve: np.ndarray, of_clip: str) -> np.ndarray:
    """(P, T)  ->  (P,): the peak of every curve, or its mean."""
    return curve.max(1) if of_clip == "peak" else curve.mean(1)


def scaled(clips: Clips, scale: Scale | None, change: Scale, of_clip: str = "peak") -> Clips:
    """Curves in units of the spread of expected validation clips, the largest of all horizons, and the score of a clip their
    peak, or their mean."""
    clips = clips._replace(change=change(clips.change))
    if scale is None:
        return clips
    curve = scale(clips.curve).max(1)
    return clips._replace(curve=curve, score=summed_up(curve, of_clip))


def matched(one: Clips, other: Clips) -> tuple[Clips, Clips]:
    """The clips of trials that both versions have, in one order."""
    _, mine, theirs = np.intersect1d(one.trial, other.trial, return_indices=True)
    if not len(mine):
        raise Problem("no trial is there in both versions; collect the splits again under one seed")
    return one.take(mine), other.take(theirs)


def pair_metrics(
    versions: dict[str, Clips], threshold: float, names: tuple[str, ...], of_clip: str = "peak"
) -> dict[str, float]:
    """Scores of every kind of pair that is there, in total and for each sub-type; from 0 to 1.  names: of the sub-types.
    of_clip: what of its change is the floor's score of a clip."""
    metrics = {}
    for kind, (less, more) in KINDS.items():
        if not {less, more} <= versions.keys():
            continue
        low, high = matched(versions[less], versions[more])
        key = HIT.replace("voe/", f"voe/{kind}")
        metrics |= {key: hit_rate(low.score, high.score), AUC.replace("voe/", f"voe/{kind}"): auc(low.score, high.score),
                    f"floor/change/{key}": hit_rate(*(summed_up(clips.change, of_clip) for clips in (low, high)))}  # fmt: skip
        if not kind:
            chance = Stream.VIOLATIONS.rng().random((2, len(low.trial)))
            metrics |= {ACCURACY: accuracy(low.score, high.score, threshold), f"floor/random/{HIT}": hit_rate(*chance)}
        for number in np.unique(high.subtype):
            of = high.subtype == number
            metrics[f"{key}/{names[number]}"] = hit_rate(low.score[of], high.score[of])
    return metrics


def intervals(versions: dict[str, Clips], metrics: dict[str, float], names: tuple[str, ...]) -> dict[str, list[float]]:
    """The 95 % interval [low, high] of every hit rate among the metrics, by its key.  names: of the sub-types."""
    found = {}
    for kind, (less, more) in KINDS.items():
        if (key := HIT.replace("voe/", f"voe/{kind}")) in metrics:
            subtype = matched(versions[less], versions[more])[1].subtype
            pairs = {key: len(subtype)} | {f"{key}/{names[one]}": int((subtype == one).sum()) for one in np.unique(subtype)}
            pairs[f"floor/change/{key}"] = len(subtype)
            found |= {key: [round(end, 4) for end in interval(metrics[key], count)] for key, count in pairs.items()}
    return found


def moment_error(clips: Clips) -> np.ndarray:
    """Frames between the violation and the peak of surprise, (P,), of clips that say when they violate."""
    there = clips.violation >= 0
    return np.abs(clips.curve[there].argmax(1) - clips.violation[there])


def ceiling(run, versions: dict[str, str], data_dir=None) -> dict[str, float]:
    """Hit rate of trees that are handed the true features: what a perfect eye can reach under these rules."""
    rules = Rules()
    true = labels_of(run.file("train", data_dir), "label_features", "label_prior", "label_posterior")
    rules.fit(*map(torch.from_numpy, true))
    told = {}
    for version in ("expected", "surprising"):
        trial, features, seen = labels_of(run.file(versions[version], data_dir), *TOLD)
        wrong = (rules(torch.from_numpy(features))[1].numpy() != seen).any(1)
        told[version] = dict(zip(trial.tolist(), wrong.astype(float)))
    both = sorted(told["expected"].keys() & told["surprising"].keys())
    return {f"ceiling/features/{HIT}": hit_rate(*([told[v][t] for t in both] for v in ("expected", "surprising")))}


def heads_report(run, file) -> dict[str, float]:
    """Of every head that the clips ask for: the mean error of a number, or the share of wrong answers."""
    columns = {name: torch.from_numpy(one) for name, one in zip(LABEL, labels_of(file, *LABEL))}
    obs, frames = OnDisk(file, run.world.shown.column), frames_of(file)
    parts = []
    for some in np.array_split(np.arange(len(file)), -(-len(file) // AT_ONCE)):
        rows = file.ep_offset[some][:, None] + np.arange(frames)
        shown = as_obs(torch.from_numpy(obs.take(rows.ravel()))).unflatten(0, rows.shape)
        parts.append(run.model.answers(shown.to(run.model.device)).cpu())
    found = {}
    for head, told in zip(run.model.heads.heads, torch.cat(parts).T):
        true = columns[head.column].view(len(told), -1)[:, head.index].float()
        if not head.irrelevant(columns[head.column]):
            error = (told - true).abs() if head.classes == 0 else (told.round() != true).float()
            found[head.name] = round(float(error.mean()), 4)
    return found


class Measured(NamedTuple):
    """metrics; the clips of every version, scaled; threshold: above it a clip is called surprising; asked: how; intervals: of
    hit rates."""

    metrics: dict[str, float]
    versions: dict[str, Clips]
    threshold: float
    asked: Asked
    intervals: dict[str, list[float]]

    def about(self, splits: dict[str, str]) -> dict:
        """What results.json says of it beside the metrics.  splits: of every version."""
        pairs = {name: len(clips.trial) for name, clips in self.versions.items()}
        return {**asdict(self.asked), "threshold": round(self.threshold, 4), "splits": splits, "pairs": pairs,
                "intervals": self.intervals}  # fmt: skip


def measure(run, split: str, asked: Asked, say: Callable[[str], None] = lambda text: None, data_dir=None) -> Measured:
    """Surprise of a run at all versions of a split, scaled by the clips of the split `valid`."""
    versions = run.world.versions(split)
    before = clips_of(run, run.file("valid", data_dir), asked, say)
    judges = before.curve is None
    scale, change = None if judges else Scale.of(before.curve), Scale.of(before.change)
    threshold = 0.5 if judges else float(np.quantile(scaled(before, scale, change, asked.of_clip).score, QUANTILE))
    found = {}
    for name, part in versions.items():
        found[name] = scaled(clips_of(run, run.file(part, data_dir), asked, say), scale, change, asked.of_clip)
    metrics = pair_metrics(found, threshold, run.world.subtypes, asked.of_clip)
    if not judges and "surprising" in found and len(error := moment_error(found["surprising"])):
        metrics[MOMENT] = float(np.median(error))
    return Measured(metrics, found, threshold, asked, intervals(found, metrics, run.world.subtypes))


def choose(run, asked: list[Asked], say: Callable[[str], None] = lambda text: None, data_dir=None) -> Asked:
    """The way of asking with the largest hit rate on validation pairs; the first of equal ones."""
    if len(asked) == 1:
        return asked[0]
    rates = [measure(run, "valid", one, say, data_dir).metrics[HIT] for one in asked]
    return asked[int(np.argmax(rates))]


def _rows() -> tuple[Row, ...]:
    """In the order of the table: every kind of pair in total, its floors, and its sub-types."""
    number = {"percent": False, "digits": 3, "unit": "rates of violated causes from 0 to 1"}
    rows = []
    for kind, label in LABELS.items():
        key, shown = f"voe/{kind}hit_rate", None if kind != "lawful/" else ()
        better = kind != "lawful/"
        rows.append(Row(key, f"hit rate, {label}", short=f"hit rate {label}", horizons=shown, higher_is_better=better,
                        **number))  # fmt: skip
        if not kind:
            rows.append(Row(f"ceiling/features/{key}", "trees on true features", "ceiling", key, **number))
            rows.append(Row(f"floor/random/{key}", "random", "floor", key, **number))
        rows.append(Row(f"floor/change/{key}", "change of what is shown", "floor", key, **number))
        rows += [Row(f"{key}/{name}", f"hit rate, {label}, {name}", horizons=(), higher_is_better=better, **number)
                 for name in SUBTYPES]  # fmt: skip
        rows.append(Row(f"voe/{kind}auc", f"AUC, {label}", horizons=(), higher_is_better=better, **number))
    rows.append(Row(ACCURACY, "accuracy at a threshold of validation clips", horizons=(), **number))
    rows.append(Row(MOMENT, "frames from the violation to the peak of surprise, median", higher_is_better=False, horizons=(),
                    percent=False, digits=1))  # fmt: skip
    return tuple(rows)


@probe(needs=(Violations,), rows=_rows())
def violation(run, data) -> dict[str, float]:
    """Hit rates, AUC and accuracy from 0 to 1, and the moment error in frames; none of a split without pairs."""
    split = data.file.header["split"]
    versions = run.world.versions(split)
    if "surprising" not in versions:
        return {}
    asked, folder = Asked.of(frames_of(data.file)), data.file.path.parent
    data_dir = None if folder == Path(run.config.data_dir) else folder
    found = measure(run, split, asked, data.say, data_dir)
    data.arrays["violation"] = found.about(versions)
    if isinstance(run.model, ClipModel):
        data.arrays["heads"] = heads_report(run, data.file)
    return found.metrics | ceiling(run, versions, data_dir)
