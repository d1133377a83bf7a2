"""Surprise of finished runs at violated causes, against what one expects and against lawful changes of the same size.

    python eval/surprise.py run=runs/ofpr-labels-voe_barrier-quick-s0
    python eval/surprise.py run=runs/<name> horizons=[1,5,10] of_clip=[peak,mean] context=12
    python eval/surprise.py run=runs/<name> decoded=true curves=4
    python eval/surprise.py run=runs/<ofpr> trees=direct posterior_speeds=false

Scores: hit rate over pairs (ties one half), AUC, accuracy, in total and for each sub-type; for world models also the frames
between the violation and the peak of surprise. Adds voe/... to results.json, and draws curves of single trials into
surprise.svg. Asked on another split than the run's own, or in another way than training ends with, they go into a file that is
called by what differs: surprise-<split>.json, surprise-context-12-decoded-true.json, and so the drawing. OFPR-Net may be asked
with other trees than it was trained with, which are fitted anew, without training: surprise-trees-direct.json.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import main

    sys.exit(main("surprise", "eval.surprise:run", __doc__))  # what stands below is imported for the work alone

import json
from collections.abc import Sequence

import numpy as np
from filelock import FileLock
from omegaconf import OmegaConf

from envs.problem import Problem
from envs.protocols import Violations
from envs.whole_files import write_whole
from eval.figures.surprise_curves import surprise_curves
from eval.probes.clips import Asked, frames_of
from eval.probes.pair_scores import accuracy as accuracy
from eval.probes.pair_scores import auc as auc
from eval.probes.pair_scores import hit_rate as hit_rate
from eval.probes.tree_variants import with_trees
from eval.probes.violation import LABELS, Measured, measure
from eval.runs import Run, folders_of, read_results
from eval.runs.results import surprise_file
from eval.terminal import Steps, print_table

NAMED = ("run", "model", "loss", "env", "seed")  # what a file of another split says of the run
KINDS = {"hit rate": "voe/{}hit_rate", "AUC": "voe/{}auc"}


def surprise_run(
    folder, split=None, data_dir=None, context=None, horizons=None, of_clip=("mean",), decoded=False, curves=2,
    variant=None,
) -> dict:
    """Score the surprise of a run, open or by its folder, and keep it; None takes what the run's config says.

    variant: of its trees, other values of model.trees, model.posterior_speeds, model.observed by their names.

    Raises Problem where the world has no violated causes, or the split no surprising version.
    """
    run = Run.open(folder)
    world, cfg = run.world, run.config
    split = split or cfg.score.split
    if not isinstance(split, str):
        raise Problem(f"split= names one split, got {list(split)}; ask for them one by one")
    if not isinstance(world, Violations):
        raise Problem(f"surprise is asked of worlds with violated causes, and env '{cfg.env.name}' has none; use a run on "
                      f"voe_support or its like")  # fmt: skip
    if "surprising" not in world.versions(split):
        raise Problem(f"split '{split}' of env '{cfg.env.name}' has no surprising version; set split= to one of expected clips")
    if decoded and run.model.decoder is None:
        raise Problem(f"decoded=true asks a decoder, and run '{cfg.name}' has none; use a run with loss=nll, or decoded=false")
    read_results(run.folder)  # one that is not there is told now
    if variant:
        run = with_trees(run, variant, data_dir)
    run.use_gpu()
    with Steps(f"surprise on {split}", 1) as progress:
        frames = frames_of(run.file(split, data_dir))
        reach = Asked.of(frames, context)
        context, horizons = reach.context, reach.horizons if horizons is None else tuple(horizons)
        if len(set(horizons)) < len(horizons):
            raise Problem(f"every horizon is asked once, got horizons={list(horizons)}; leave out the repeated ones")
        ways = [Asked(context, horizons, decoded, one) for one in of_clip]
        found = measure(run, split, ways, progress.part, data_dir)
    kept = {name: round(value, 4) for name, value in found.metrics.items()}
    otherwise = (variant or {}) | _differing(ways, Asked.of(frames))
    own = split == cfg.score.split and not otherwise
    name = surprise_file(otherwise, "" if split == cfg.score.split else split)
    with FileLock(run.folder / ".results.lock"):
        results = read_results(run.folder)
        results = results if own else {key: results[key] for key in NAMED} | {"metrics": {}}
        results["metrics"] = results["metrics"] | kept
        results["violation"] = found.about(world.versions(split)) | ({"variant": variant} if variant else {})
        write_whole(run.folder / ("results.json" if own else f"{name}.json"), json.dumps(results, indent=2))
    if curves and (panels := panels_of(found, world.subtypes, curves)):
        write_whole(run.folder / f"{name}.svg", surprise_curves(*panels))
    return results


def _differing(ways: Sequence[Asked], usual: Asked) -> dict[str, str]:
    """What is asked otherwise than eval/score.py asks, by its name, as a file is called."""
    one = ways[0]
    told = {"context": (one.context, usual.context), "horizons": (one.horizons, usual.horizons),
            "decoded": (one.decoded, usual.decoded),
            "of": (tuple(way.of_clip for way in ways), (usual.of_clip,))}  # fmt: skip
    return {
        name: "-".join(map(str, asked)) if isinstance(asked, tuple) else str(asked)
        for name, (asked, here) in told.items()
        if asked != here
    }


def panels_of(found: Measured, names: tuple[str, ...], each: int) -> tuple[dict, dict] | None:
    """Curves and moments of the first `each` trials of every sub-type, by a title; none where clips are judged as a whole."""
    surprising = found.versions["surprising"]
    if surprising.curve is None:
        return None
    panels, moments = {}, {}
    for number in np.unique(surprising.subtype):
        for row in np.flatnonzero(surprising.subtype == number)[:each]:
            trial = surprising.trial[row]
            title = f"{names[number]}, trial {trial}"
            of_trial = {name: clips.curve[clips.trial == trial] for name, clips in found.versions.items()}
            panels[title] = {name: curves[0].copy() for name, curves in of_trial.items() if len(curves)}
            for curve in panels[title].values():
                curve[: found.asked.firsts.min()] = np.nan  # no frame before is predicted: a line at 0 would say "as usual"
            moments[title] = int(surprising.violation[row])
    return panels, moments


def print_surprise(results: dict) -> None:
    """The table on the terminal."""
    m, about = results["metrics"], results["violation"]
    names = sorted({key.rsplit("/", 1)[1] for key in m if key.startswith("voe/") and "/hit_rate/" in key})
    rows = []
    for kind, label in LABELS.items():
        for score, key in KINDS.items():
            key = key.format(kind)
            if key in m:
                of = [f"{m[f'{key}/{name}']:.3f}" if f"{key}/{name}" in m else "" for name in names]
                between = "-".join(f"{end:.2f}" for end in about["intervals"].get(key, ()))
                rows.append([f"{score}, {label}", f"{m[key]:.3f}", between, *of])
        key = f"floor/change/voe/{kind}hit_rate"
        if key in m:
            rows.append(["  floor: change of what is shown", f"{m[key]:.3f}", "", *[""] * len(names)])
    for label, key in (("accuracy", "voe/accuracy"), ("moment error, frames", "voe/moment_error"),
                       ("  the first frame that is predicted, or the violation", "floor/voe/moment_error")):
        if key in m:
            rows.append([label, f"{m[key]:.3g}", "", *[""] * len(names)])
    pairs = ", ".join(f"{count} {name}" for name, count in about["pairs"].items())
    asked = (f"context {about['context']} frames, {', '.join(map(str, about['horizons']))} ahead, {about['of_clip']} of a clip"
             if "voe/moment_error" in m else "clips judged as a whole, by the rules that hold in them")  # fmt: skip
    told = (f"{results['model']} + {results['loss']} on {results['env']}: clips {pairs}; {asked}; scores from 0 to 1, ties one "
            f"half")  # fmt: skip
    print_table(["", "all", "95 %", *names], rows, told)


def run(cfg) -> None:
    """The command."""
    if OmegaConf.is_missing(cfg, "run"):
        raise Problem("no run given; name a run folder: python eval/surprise.py run=runs/<name>")
    asked = {key: cfg[key] for key in ("split", "data_dir", "context", "horizons", "decoded", "curves")}
    variant = {"trees": cfg.trees, "posterior_speeds": cfg.posterior_speeds, "observed": cfg.observed}
    asked["variant"] = {key: value for key, value in variant.items() if value is not None}
    for folder in folders_of(cfg.run):
        print_surprise(surprise_run(folder, of_clip=list(cfg.of_clip), **asked))
