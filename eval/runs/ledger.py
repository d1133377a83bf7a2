"""The ledger: one small file for every finished run, with what the run was and what it reached on every split it was scored on.

    <ledger>/<env>/<run>-<hash>.json

Settings that are frozen lie below the same folder: eval/runs/final.py.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock
from omegaconf import DictConfig

from envs.problem import Diverged, Problem
from envs.whole_files import write_whole
from eval.runs.entry import named, read_entry
from eval.runs.final import FINAL, KEPT_TASKS, row_of, setting_of
from eval.runs.identity import config_hash
from eval.runs.made_with import machine
from eval.runs.metrics_csv import by_epoch, losses
from eval.runs.results import numbers, read_object
from eval.runs.run import load_config, read_results, weights_file

DIVERGED = "diverged.txt"  # in a run folder: why its training could not end
_FACTS = ("run", "model", "loss", "env", "seed", "config_hash", "setting_hash", "timing", "parameters", "versions")


def enter(folder: str | Path, ledger: str | Path) -> Path:
    """Write what a finished run says of itself, in place of what stood there of the same run.  -> the file.

    Scores of other weights than those of its results.json are none of it; what stood there of the same weights, and its folder
    no longer holds, stays: to be rid of a score remove the file of the ledger. A training that diverged takes the place of no
    scores.
    """
    folder = Path(folder)
    config = load_config(folder)
    _told(folder)  # what cannot be entered leaves nothing behind
    path = Path(ledger) / config.env.name / f"{named(config.name)}-{config_hash(config)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):  # scores and goals of one run may be asked side by side
        return _enter(folder, config, path)


def _told(folder: Path) -> tuple[str | None, dict]:
    """Why a training diverged, or what its results.json says."""
    path = folder / DIVERGED
    diverged = path.read_text() if path.exists() and not (folder / "results.json").exists() else None
    return diverged, {"timing": {}} if diverged else read_results(folder)


def _enter(folder: Path, config: DictConfig, path: Path) -> Path:
    """Write the file of a run."""
    diverged, results = _told(folder)
    of_rounds = _scored(folder, results.get("weights"))
    of_end, plans = of_rounds.pop(None, {}), _plans(folder, results.get("weights"))
    before = _whole(path)
    same_weights = before if "weights" in results and before.get("weights") == results["weights"] else {}
    trained_on = same_weights.get("machine") or results.get("machine")  # a finished run may be scored again elsewhere
    curve = {f"{stage} {name}": values for (stage, name), values in losses(folder / "metrics.csv").items()}
    entry = {
        "run": config.name, "row": row_of(config), "model": config.model.name, "loss": config.loss.name,
        "env": config.env.name, "world": config.env.world.get("scm_seed"), "seed": config.seed, "split": config.score.split,
        "setting": setting_of(config), "config_hash": config_hash(config), "setting_hash": config_hash(config, seed=False),
        "scores": of_end, "rounds": _rounds(config, folder, of_rounds, plans),
        "plans": {name: plan for name, plan in plans.items() if isinstance(name, str)},
        "losses": {name: [values[epoch] for epoch in sorted(values)] for name, values in curve.items()},
        "timing": same_weights.get("timing", {}) | results["timing"],
        "parameters": results.get("parameters", {}), "versions": results.get("versions", {}),
        "machine": trained_on or machine(str(config.trainer.get("accelerator"))),  # runs of before do not say
        **({"weights": results["weights"]} if "weights" in results else {}), **({"diverged": diverged} if diverged else {}),
    }  # fmt: skip
    if diverged and (read_object(path) or {}).get("scores"):
        return path
    if same_weights:
        _keep(entry, same_weights)
    return write_whole(path, json.dumps(entry, indent=1) + "\n")


def _whole(path: Path) -> dict:
    """What a file of the ledger holds; nothing where it is damaged or not there."""
    try:
        return read_entry(path) if path.exists() else {}
    except Problem:
        return {}


def _keep(entry: dict, before: dict) -> None:
    """Add to an entry what one of before holds of the same weights besides: rounds, and of splits, of goals that were asked
    apart and of rounds single scores and answers."""
    rounds = {one["round"]: one for one in before["rounds"]} | {one["round"]: one for one in entry["rounds"]}
    for former in before["rounds"]:
        one = rounds[former["round"]]
        one["scores"] = _all_of_both(former["scores"], one["scores"])
        if "plan" in former:
            one["plan"] = _both(former["plan"], one.get("plan", {}))
    entry["rounds"] = [rounds[number] for number in sorted(rounds)]
    entry["losses"] = before["losses"] | entry["losses"]
    for part in ("scores", "plans"):
        entry[part] = _all_of_both(before[part], entry[part])


def _all_of_both(before: dict[str, dict], now: dict[str, dict]) -> dict[str, dict]:
    """Split or mode -> its scores, of either or of both."""
    return before | now | {name: _both(before[name], now[name]) for name in before.keys() & now.keys()}


def _both(before: dict, now: dict) -> dict:
    """Metrics, answers and protocol of a split: scores of both, of the same score the later."""
    scores = {part: before[part] | now.get(part, {}) for part in ("metrics", "answers") if part in before}
    return before | now | scores


def _scored(folder: Path, weights: str | None) -> dict[int | None, dict[str, dict]]:
    """Round, None at the end  ->  split -> what its files say, of several that say the same the newest;
    none of other weights."""
    scored: dict[int | None, dict[str, dict]] = {}
    files = {path: read_object(path) or {} for path in sorted(folder.glob("results*.json"))}
    # planning writes into the file later
    when = {path: found.get("scored_at", path.stat().st_mtime) for path, found in files.items()}
    for path in sorted(files, key=when.__getitem__):
        found = files[path]
        protocol = found.get("protocol", {})
        split, number = protocol.get("split"), protocol.get("round")
        end = "" if number is None else f"-round{number}"
        asked = f"-{'-'.join(protocol.get('probes', []))}"
        # no other pool or horizons
        usual = {f"{begins}{some}{end}" for begins in ("results", f"results-{split}") for some in ("", asked)}
        told = {found.get("weights"), weights} - {None}  # results of before do not say
        if path.stem in usual and numbers(found.get("metrics")) and (number is not None or len(told) < 2):
            into = scored.setdefault(number, {}).setdefault(split, {"metrics": {}, "protocol": protocol})
            into["metrics"] |= found["metrics"]  # some probes may have been asked apart
            if not path.stem.endswith(f"{asked}{end}"):
                into["protocol"] = protocol
            if number is None and found.get("answers"):  # results of before hold none
                into["answers"] = into.get("answers", {}) | found["answers"]
    return scored


@contextmanager
def entered_if_diverged(folder: Path, ledger: str | Path | None) -> Iterator[None]:
    """A training that ends in numbers that are none is entered, too, where there is a ledger:
    what became of a setting is a finding."""
    try:
        yield
    except (FloatingPointError, Diverged) as error:
        write_whole(folder / DIVERGED, str(error))
        if ledger is not None:
            enter(folder, ledger)
        raise


def _plans(folder: Path, weights: str | None) -> dict[str | int, dict]:
    """Goals that were asked apart: on boards drawn otherwise than in training, those that are kept, and those of rounds, which
    alone are of other weights. Mode, `final`, or number of the round  ->  what was reached, in as many steps as were asked."""
    found: dict[str | int, dict] = {}
    for path in sorted(folder.glob("plan-*.json")):
        read = read_object(path) or {}
        plan = read.get("plan", {})
        asked = {
            f"mode{plan.get('mode')}": plan.get("mode"),
            f"seed{KEPT_TASKS}": FINAL,
            f"round{plan.get('round')}": plan.get("round"),
        }
        name = asked.get(re.sub(r"^plan-(horizons[\d_]+-)?", "", path.stem))  # no other reward, no other seed
        told = {plan.get("weights"), weights} - {None}  # plans of before do not say
        if name is not None and numbers(read.get("metrics")) and (isinstance(name, int) or len(told) < 2):
            metrics = {key: value for key, value in read["metrics"].items() if key.startswith("plan/")}
            found.setdefault(name, {"metrics": {}, "protocol": plan})["metrics"].update(metrics)
    return found


def _rounds(config: DictConfig, folder: Path, scored: dict[int, dict], plans: dict[str | int, dict]) -> list[dict]:
    """The rounds of a training that has some: processor seconds until their end, updates of their stage, scores and goals where
    there are any."""
    found, before = [], 0
    told = by_epoch(folder / "metrics.csv", "cpu_seconds", "updates")
    for stage in config.loss.stages:
        seconds, updates = (told.get((stage.name, name), {}) for name in ("cpu_seconds", "updates"))
        for epoch in sorted(seconds.keys() & updates.keys()):
            number = before + epoch + 1
            found.append({"round": number, "stage": stage.name, "cpu_s": seconds[epoch], "updates": int(updates[epoch]),
                          "scores": scored.get(number, {}),
                          **({"plan": plans[number]} if number in plans else {})})  # fmt: skip
        before += stage.epochs
    return found


def weights_at_hand(folder: Path, entered: dict, first: str) -> bool:
    """Whether a folder holds the very weights that an entry is of. Entries of before do not say, and are known by what they
    reached on the split that was scored first."""
    try:
        own = read_results(folder)
    except Problem:  # none that ended
        return False
    if "weights" in entered:
        same = own.get("weights") == entered["weights"]
    else:
        reached = entered["scores"].get(first, {}).get("metrics", {})
        same = all(reached.get(k, v) == v for k, v in own["metrics"].items())
    return same and weights_file(folder).exists()


def entries(ledger: str | Path) -> Iterator[dict]:
    """All runs of a ledger, by env and name. Raises Problem on a file that is damaged."""
    for path in sorted(Path(ledger).glob("*/*.json")):  # frozen, chosen and tried settings lie deeper
        yield read_entry(path)


def entry_of(ledger: str | Path, env: str, run: str) -> dict | None:
    """The entry of a run by its name, or None. Raises Problem on a damaged one, and where two runs were called so."""
    found = {path: one for path in sorted((Path(ledger) / env).glob(f"{named(run)}-*.json"))
             if (one := read_entry(path))["run"] == run}  # fmt: skip
    if len(found) > 1:
        raise Problem(f"{Path(ledger) / env} holds {len(found)} runs called '{run}', under different settings "
                      f"({', '.join(path.name for path in found)}); remove the one that is not meant")  # fmt: skip
    return next(iter(found.values()), None)


def results_in(entry: dict, file: str = "results.json") -> dict | None:
    """What a file of an entered run's folder said, of what is kept: scores of a split, or goals on other boards.

    None: not there.
    file: results.json, results-<split>.json or plan-mode<mode>.json.
    """
    facts = {key: entry[key] for key in _FACTS if key in entry}
    name = file.removesuffix(".json")
    if name.startswith("plan-mode"):
        plan = entry.get("plans", {}).get(name.removeprefix("plan-mode"))
        return None if plan is None else facts | {"metrics": plan["metrics"], "plan": plan["protocol"]}
    scores = entry["scores"].get(entry.get("split", "test") if name == "results" else name.removeprefix("results-"))
    return None if scores is None else facts | {"metrics": scores["metrics"], "protocol": scores["protocol"]}
