"""Violated causes: is a model more surprised by them than by what one expects, and than by lawful changes of the same size?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import NamedTuple

import numpy as np
import torch

from envs.problem import Problem
from envs.protocols import Violations
from envs.voe.clip import SUBTYPES
from eval.probes.clips import Asked, Clips, clips_of, frames_of, heads_report, labels_of
from eval.probes.pair_scores import GUESSED, accuracy, auc, hit_rate, interval
from eval.probes.probe import Row, probe
from models.abilities import JudgesClips
from models.trees import Rules

TOLD = ("label_trial", "label_features", "label_posterior")
FLOOR = 0.1  # of the mean spread: less spread at a frame is counted as this much
QUANTILE = 0.95  # of validation clips: a clip that surprises more is called surprising
HIT, AUC, ACCURACY, MOMENT = "voe/hit_rate", "voe/auc", "voe/accuracy", "voe/moment_error"
KINDS = {  # of pairs: their name in metrics -> the version that should surprise less, the one that should surprise more
    "": ("expected", "surprising"), "control/": ("control", "surprising"), "lawful/": ("expected", "control"),
}  # fmt: skip
LABELS = {"": "surprising over expected", "control/": "surprising over control", "lawful/": "control over expected"}


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


def summed_up(curve: np.ndarray, of_clip: str) -> np.ndarray:
    """(P, T)  ->  (P,): the peak of every curve, or its mean."""
    return curve.max(1) if of_clip == "peak" else curve.mean(1)


def largest(curve: np.ndarray, asked: Asked) -> np.ndarray:
    """The largest of all horizons that predict a frame, (P, H, T)  ->  (P, T); 0 where none does."""
    predicted = np.arange(curve.shape[-1]) >= asked.firsts[:, None]
    return np.where(predicted.any(0), np.where(predicted, curve, -np.inf).max(1), 0.0)


def scaled(clips: Clips, scale: Scale | None, change: Scale, asked: Asked) -> Clips:
    """Curves in units of the spread of expected validation clips, the largest of all horizons, and the score of a clip their
    peak, or their mean, over the frames that are predicted."""
    clips = clips._replace(change=change(clips.change))
    if scale is None:
        return clips
    curve = largest(scale(clips.curve), asked)
    return clips._replace(curve=curve, score=summed_up(curve[:, asked.firsts.min() :], asked.of_clip))


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
            metrics |= {ACCURACY: accuracy(low.score, high.score, threshold), f"floor/random/{HIT}": GUESSED}
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


def moment_error(clips: Clips, first: int) -> np.ndarray:
    """Frames between the violation and the peak of surprise, (P,), of clips that say when they violate.  first: the first frame
    that is predicted."""
    there = clips.violation >= 0
    return np.abs(first + clips.curve[there, first:].argmax(1) - clips.violation[there])


def ceiling(run, versions: dict[str, str], data_dir=None) -> dict[str, float]:
    """Hit rate of trees that are handed the true features of every clip: a perfect eye under these rules. No ceiling of models
    that look at frames before the violation alone, or learn the outcome without trees."""
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


def measure(
    run, split: str, ways: Sequence[Asked], say: Callable[[str], None] = lambda text: None, data_dir=None
) -> Measured:
    """Surprise of a run at all versions of a split, scaled by the clips of the split `valid`.

    ways: of asking, which differ in `of_clip`; of several the one with the largest hit rate on validation pairs, the first of
    equal ones.
    """
    versions, choosing = run.world.versions(split), run.world.versions("valid") if len(ways) > 1 else {}
    splits = dict.fromkeys(["valid", *choosing.values(), *versions.values()])
    clips = {name: clips_of(run, run.file(name, data_dir), ways[0], say) for name in splits}
    names = run.world.subtypes
    asked = max(ways, key=lambda one: _scored(clips, choosing, one, names).metrics[HIT]) if choosing else ways[0]
    return _scored(clips, versions, asked, names)


def _scored(clips: Mapping[str, Clips], versions: Mapping[str, str], asked: Asked, names: tuple[str, ...]) -> Measured:
    """clips: of every split, not scaled.  versions: version -> its split.  names: of the sub-types."""
    before = clips["valid"]
    judges = before.curve is None
    scale, change = None if judges else Scale.of(before.curve), Scale.of(before.change)
    threshold = 0.5 if judges else float(np.quantile(scaled(before, scale, change, asked).score, QUANTILE))
    found = {name: scaled(clips[split], scale, change, asked) for name, split in versions.items()}
    metrics = pair_metrics(found, threshold, names, asked.of_clip)
    if not judges and "surprising" in found and len(error := moment_error(found["surprising"], asked.firsts.min())):
        violation = found["surprising"].violation
        metrics[MOMENT] = float(np.median(error))
        metrics[f"floor/{MOMENT}"] = float(np.median((asked.firsts.min() - violation[violation >= 0]).clip(min=0)))
    return Measured(metrics, found, threshold, asked, intervals(found, metrics, names))


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
            rows.append(Row(f"ceiling/features/{key}", "trees on true features", "comparison", key, **number))
            rows.append(Row(f"floor/random/{key}", "random", "floor", key, **number))
        rows.append(Row(f"floor/change/{key}", "change of what is shown", "floor", key, **number))
        rows += [Row(f"{key}/{name}", f"hit rate, {label}, {name}", horizons=(), higher_is_better=better, **number)
                 for name in SUBTYPES]  # fmt: skip
        rows.append(Row(f"voe/{kind}auc", f"AUC, {label}", horizons=(), higher_is_better=better, **number))
    rows.append(Row(ACCURACY, "accuracy at a threshold of validation clips", horizons=(), **number))
    rows.append(Row(MOMENT, "frames from the violation to the peak of surprise, median", higher_is_better=False, horizons=(),
                    percent=False, digits=1))  # fmt: skip
    rows.append(Row(f"floor/{MOMENT}", "the first frame that is predicted, or the violation", "comparison", MOMENT,
                    percent=False, digits=1))  # fmt: skip
    return tuple(rows)


@probe(needs=(Violations,), rows=_rows())
def violation(run, data) -> dict[str, float]:
    """Hit rates, AUC and accuracy from 0 to 1, and the moment error in frames; none of a split without pairs."""
    split = data.file.header["split"]
    versions = run.world.versions(split)
    if "surprising" not in versions:
        return {}
    found = measure(run, split, [Asked.of(frames_of(data.file))], data.say, data.data_dir)
    data.arrays["violation"] = found.about(versions)
    if isinstance(run.model, JudgesClips):
        data.arrays["heads"] = heads_report(run, data.file)
    return found.metrics | ceiling(run, versions, data.data_dir)
