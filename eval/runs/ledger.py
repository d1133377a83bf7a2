"""The ledger: one small file for every finished run, and the promise that `final` is scored under one setting of a row alone.

    <ledger>/<env>/<run>-<hash>.json    what a run was, and what it reached on every split that it was scored on
    <ledger>/frozen/<env>/<row>.json    the setting under which a row was first scored on `final`

Everything is chosen on `select`. A row is what tables compare, a model under a loss, and may be named by `row=` in train/fit.py.
"""

import json
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock
from omegaconf import DictConfig, OmegaConf

from envs.collect import check_seed
from envs.graphs import adjacency
from envs.problem import Diverged, Problem
from envs.whole_files import write_whole
from envs.workers import cores
from eval.runs.before import plain_loss
from eval.runs.entry import named, read_entry
from eval.runs.identity import config_hash, differing
from eval.runs.metrics_csv import by_epoch, losses
from eval.runs.results import numbers
from eval.runs.run import FINAL, Run, load_config, read_results, splits_of_today

SELECT = "select"
DIVERGED = "diverged.txt"  # in a run folder: why its training could not end
_FACTS = ("run", "model", "loss", "env", "seed", "config_hash", "setting_hash", "timing", "parameters", "versions")
KEPT_TASKS = 31  # the seed of goals that are asked under the frozen setting alone; those of seed 0 were asked all through development
KEPT_WORLDS = range(10, 15)  # drawn worlds (env.world.scm_seed) that are scored on `final`, and nowhere looked at before


def row_of(config: DictConfig) -> str:
    """What tables compare: `row` of the config, or the model and the loss."""
    own = config.row if "row" in config else None  # runs of before do not say
    return str(own or f"{config.model.name} + {config.loss.name}")


def setting_of(config: DictConfig) -> dict:
    """What is frozen: model, loss, trainer, and the data of training; of the world all but the number of the drawn one, and of the model
    all but the graph that follows from it.
    """
    plain = OmegaConf.to_container(config, resolve=True)
    kept = {key: plain[key] for key in ("model", "loss", "trainer", "env") if key in plain}
    if "stages" in kept.get("loss", {}):
        kept["loss"] = plain_loss(kept["loss"], kept.get("trainer", {}).get("budget"))
    env = kept.get("env", {})
    splits = {name: plan for name, plan in env.get("splits", {}).items() if name in ("train", "valid")}
    world = {key: value for key, value in env.get("world", {}).items() if key not in ("scm_seed", "workers")}
    transition = kept.get("model", {}).get("module", {}).get("transition")
    if isinstance(transition, dict) and transition.get("parents") is not None and transition["parents"] == _graph(env.get("world", {})):
        transition["parents"] = "of the drawn world"
    return kept | {"env": env | {"splits": splits, "world": world}}


def _graph(world: dict) -> list | None:
    """[child][parent] of a drawn world, as configs write it; None of a world whose graph no config names or that was saved."""
    if world.get("scm") or "scm_seed" not in world:
        return None
    return adjacency(world.get("graph"), world.get("num_objects"), world.get("numbering", "causal"), world["scm_seed"])


def _frozen_file(ledger: str | Path, env: str, row: str) -> Path:
    return Path(ledger) / "frozen" / env / f"{named(row)}.json"


def open_final(run: Run, ledger: str | Path | None) -> None:
    """Let a run be scored on `final`, and freeze its setting for its row.

    Raises Problem without a ledger, on a drawn world that was chosen on, and where the row was frozen under another setting.
    """
    config = run.config
    if ledger is None:
        raise Problem("split 'final' is scored under one setting of a row, which a ledger keeps; name it: ledger=results/ledger")
    world, row, setting = config.env.world.get("scm_seed"), row_of(config), setting_of(config)
    env = run.env_with(FINAL)
    final = env["splits"].get(FINAL)
    for split in ("train", "valid", config.score.split):
        check_seed(env, split)
    episodes = {"splits": setting["env"]["splits"] | {FINAL: final}}
    if world is not None and world not in KEPT_WORLDS:
        raise Problem(f"split 'final' is asked of the drawn worlds {KEPT_WORLDS[0]} to {KEPT_WORLDS[-1]}, which nobody chose on, got "
                      f"env.world.scm_seed={world}; train the frozen setting there")  # fmt: skip
    path = _frozen_file(ledger, config.env.name, row)
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        frozen = _frozen(path, row)
        if frozen is None:
            write_whole(path, json.dumps({"row": row, "first": config.name, "setting": setting, FINAL: final}, indent=1) + "\n")
        elif other := differing(frozen.get("setting"), setting) or differing(_episodes(frozen, env), episodes):
            raise Problem(f"row '{row}' was scored on '{FINAL}' of {config.env.name} under another setting ({path}): {other}; expected "
                          f"that one; choose on split={SELECT}, or give what differs a row= of its own")  # fmt: skip
    run.final_is_open = True


def _episodes(frozen: dict, env: dict) -> dict:
    """What a row was trained on and scored on; files of before do not say the latter, which was that of configs/env where it is known."""
    final = frozen.get(FINAL) or splits_of_today(env["name"]).get(FINAL) or env["splits"].get(FINAL)
    return {"splits": frozen["setting"]["env"].get("splits", {}) | {FINAL: final}}


def frozen_setting(ledger: str | Path, env: str, row: str) -> DictConfig:
    """The setting of a row that is frozen, empty where none is. Raises Problem on a damaged file."""
    return OmegaConf.create((_frozen(_frozen_file(ledger, env, row), row) or {}).get("setting") or {})


def _frozen(path: Path, row: str) -> dict | None:
    """What a file of frozen settings says; None where there is none. Raises Problem on a damaged one."""
    found = _read(path)
    if found is None and path.exists():
        raise Problem(f"{path} says under which setting row '{row}' is frozen, and is damaged; take it from the history again")
    return found


def check_overrides(ledger: str | Path, env: str, row: str, overrides: list[str]) -> None:
    """Raise Problem where a row was frozen under another value of a key than overrides give: it would be trained for nothing.

    overrides: key=value; what chooses a group, as trainer=minutes, is not held against it.
    """
    path, frozen = _frozen_file(ledger, env, row), frozen_setting(ledger, env, row)
    for key, value in dict(override.split("=", 1) for override in overrides).items():  # of one key the last stands
        there, asked = OmegaConf.select(frozen, key), OmegaConf.from_dotlist([f"value={value}"]).value
        if "." in key and there is not None and there != asked:
            raise Problem(f"row '{row}' was scored on '{FINAL}' of {env} under another setting ({path}): {key} {there}, got {asked}; give what "
                          f"was chosen now a row of its own, or take that setting from the history again")  # fmt: skip


def check_select(run: Run) -> None:
    """Raise Problem where a drawn world that is kept for `final` is asked for `select`."""
    world = run.config.env.world.get("scm_seed")
    if world in KEPT_WORLDS:
        raise Problem(f"split '{SELECT}' is for choosing, and drawn world {world} is kept for '{FINAL}'; choose on "
                      f"env.world.scm_seed=0 to 4")  # fmt: skip


def enter(folder: str | Path, ledger: str | Path) -> Path:
    """Write what a finished run says of itself, in place of what stood there of the same run.  -> the file.

    Scores of other weights than those of its results.json are none of it. A training that diverged takes the place of no scores.
    """
    folder = Path(folder)
    config, path = load_config(folder), folder / DIVERGED
    diverged = path.read_text() if path.exists() and not (folder / "results.json").exists() else None
    results = {"timing": {}} if diverged else read_results(folder)
    of_rounds = _scored(folder, results.get("weights"))
    of_end, plans = of_rounds.pop(None, {}), _plans(folder, results.get("weights"))
    curve = {f"{stage} {name}": values for (stage, name), values in losses(folder / "metrics.csv").items()}
    entry = {
        "run": config.name, "row": row_of(config), "model": config.model.name, "loss": config.loss.name,
        "env": config.env.name, "world": config.env.world.get("scm_seed"), "seed": config.seed, "split": config.score.split,
        "setting": setting_of(config), "config_hash": config_hash(config), "setting_hash": config_hash(config, seed=False), "scores": of_end,
        "rounds": _rounds(config, folder, of_rounds, plans), "plans": {name: plan for name, plan in plans.items() if isinstance(name, str)},
        "losses": {name: [values[epoch] for epoch in sorted(values)] for name, values in curve.items()},
        "timing": results["timing"], "parameters": results.get("parameters", {}), "versions": results.get("versions", {}),
        "machine": results.get("machine") or machine(str(config.trainer.get("accelerator"))),  # runs of before do not say
        **({"weights": results["weights"]} if "weights" in results else {}), **({"diverged": diverged} if diverged else {}),
    }  # fmt: skip
    path = Path(ledger) / config.env.name / f"{named(config.name)}-{config_hash(config)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    if diverged and (_read(path) or {}).get("scores"):
        return path
    return write_whole(path, json.dumps(entry, indent=1) + "\n")


def _scored(folder: Path, weights: str | None) -> dict[int | None, dict[str, dict]]:
    """Round, None at the end  ->  split -> what its files say, of several that say the same the newest; none of other weights."""
    scored: dict[int | None, dict[str, dict]] = {}
    files = {path: _read(path) or {} for path in sorted(folder.glob("results*.json"))}
    when = {path: found.get("scored_at", path.stat().st_mtime) for path, found in files.items()}  # planning writes into the file later
    for path in sorted(files, key=when.__getitem__):
        found = files[path]
        protocol = found.get("protocol", {})
        split, number = protocol.get("split"), protocol.get("round")
        end = "" if number is None else f"-round{number}"
        asked = f"-{'-'.join(protocol.get('probes', []))}"
        usual = {f"{begins}{some}{end}" for begins in ("results", f"results-{split}") for some in ("", asked)}  # no other pool or horizons
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
    """A training that ends in numbers that are none is entered, too, where there is a ledger: what became of a setting is a finding."""
    try:
        yield
    except (FloatingPointError, Diverged) as error:
        write_whole(folder / DIVERGED, str(error))
        if ledger is not None:
            enter(folder, ledger)
        raise


def _plans(folder: Path, weights: str | None) -> dict[str | int, dict]:
    """Goals that were asked apart: on boards drawn otherwise than in training, those that are kept, and those of rounds, which alone are
    of other weights. Mode, `final`, or number of the round  ->  what was reached, in as many steps as were asked."""
    found: dict[str | int, dict] = {}
    for path in sorted(folder.glob("plan-*.json")):
        read = _read(path) or {}
        plan = read.get("plan", {})
        asked = {f"mode{plan.get('mode')}": plan.get("mode"), f"seed{KEPT_TASKS}": FINAL, f"round{plan.get('round')}": plan.get("round")}
        name = asked.get(re.sub(r"^plan-(horizons[\d_]+-)?", "", path.stem))  # no other reward, no other seed
        told = {plan.get("weights"), weights} - {None}  # plans of before do not say
        if name is not None and numbers(read.get("metrics")) and (isinstance(name, int) or len(told) < 2):
            metrics = {key: value for key, value in read["metrics"].items() if key.startswith("plan/")}
            found.setdefault(name, {"metrics": {}, "protocol": plan})["metrics"].update(metrics)
    return found


def _rounds(config: DictConfig, folder: Path, scored: dict[int, dict], plans: dict[str | int, dict]) -> list[dict]:
    """The rounds of a training that has some: processor seconds until their end, updates of their stage, scores and goals where there
    are any."""
    found, before = [], 0
    told = by_epoch(folder / "metrics.csv", "cpu_seconds", "updates")
    for stage in config.loss.stages:
        seconds, updates = (told.get((stage.name, name), {}) for name in ("cpu_seconds", "updates"))
        for epoch in sorted(seconds.keys() & updates.keys()):
            number = before + epoch + 1
            found.append({"round": number, "stage": stage.name, "cpu_s": seconds[epoch], "updates": int(updates[epoch]),
                          "scores": scored.get(number, {}), **({"plan": plans[number]} if number in plans else {})})  # fmt: skip
        before += stage.epochs
    return found


def weights_at_hand(folder: Path, entered: dict, first: str) -> bool:
    """Whether a folder holds the very weights that an entry is of. Entries of before do not say, and are known by what they reached on the
    split that was scored first."""
    try:
        own = read_results(folder)
    except Problem:  # none that ended
        return False
    reached = entered["scores"].get(first, {}).get("metrics", {})
    same = own.get("weights") == entered["weights"] if "weights" in entered else all(reached.get(k, v) == v for k, v in own["metrics"].items())
    return same and (folder / "checkpoints" / "model.ckpt").exists()


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
    """What a file of an entered run's folder said, of what is kept: scores of a split, or goals on other boards. None: not there.

    file: results.json, results-<split>.json or plan-mode<mode>.json.
    """
    facts = {key: entry[key] for key in _FACTS if key in entry}
    name = file.removesuffix(".json")
    if name.startswith("plan-mode"):
        plan = entry.get("plans", {}).get(name.removeprefix("plan-mode"))
        return None if plan is None else facts | {"metrics": plan["metrics"], "plan": plan["protocol"]}
    scores = entry["scores"].get(entry.get("split", "test") if name == "results" else name.removeprefix("results-"))
    return None if scores is None else facts | {"metrics": scores["metrics"], "protocol": scores["protocol"]}


def machine(accelerator: str) -> dict:
    """What a training runs on: processor, cores that it may use, and the GPU where it takes one.

    accelerator: that of the trainer: auto, cpu or gpu.
    """
    import torch

    try:
        told = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        told = None
    found = {"processor": told[1].strip() if told else platform.processor() or platform.machine(), "cores": cores()}
    return found | ({"gpu": torch.cuda.get_device_name()} if accelerator in ("auto", "gpu") and torch.cuda.is_available() else {})


def _read(path: Path) -> dict | None:
    """None: not there, or damaged."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
