"""The runs of a table of equal effort: the drawn settings, the best of them for longer, then the chosen one; what the ledger
holds is not run again."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from omegaconf import OmegaConf

from envs.problem import Problem
from eval.effort.score_names import ALSO, ORDER, SHOWN
from eval.effort.settings import MAIN, Row, causes, drawn, probes
from eval.effort.studies import Study, studies
from eval.paper.sweep import Job, steps_of
from eval.runs.entry import named, read_entry
from eval.runs.final import FINAL, KEPT_TASKS, SELECT, frozen_setting
from eval.runs.ledger import entry_of, weights_at_hand
from eval.runs.run import weights_file
from models.native_precision import MIXED, SINGLE, fast_precision

NOTHING = {"scores": {}, "rounds": [], "plans": {}}  # of a run that is not entered
ON = "cpu"  # what settings are drawn on, by trainer=minutes
FIT = "train/fit.py"
TUNE = "tune"  # a ledger inside the ledger: settings that were only tried


def tune_ledger(ledger: Path) -> Path:
    """Where the drawn settings are entered, apart from the rows of tables."""
    return ledger / TUNE


def _world(env: str, part: str, seed: int) -> list[str]:
    """The drawn world of a run, in envs that draw one."""
    first = causes()["worlds"].get(env, {}).get(part)
    return [] if first is None else [f"env.world.scm_seed={first + seed}"]


def _fit(overrides: list[str], name: str, ledger: Path, cfg: dict) -> tuple[str, ...]:
    """A training that enters itself, or the end of one that was broken off."""
    folder = Path(cfg["runs_dir"]) / name
    if (folder / "config.yaml").exists():
        return (FIT, f"resume={folder}", f"ledger={ledger}")
    return (FIT, *overrides, f"name={name}", f"runs_dir={cfg['runs_dir']}", f"data_dir={cfg['data_dir']}", "logger=csv",
            f"ledger={ledger}")  # fmt: skip


def _digest(overrides: list[str]) -> str:
    """Of a protocol: another space, row, budget or pool gives runs other names, so that none is taken for another."""
    return hashlib.sha256("\n".join(overrides).encode()).hexdigest()[:6]


def _asked(names: list[str], episodes: int, states: int) -> list[str]:
    """What a run is asked when it has ended: probes, ranking pool, states."""
    return [f"score.probes=[{','.join(names)}]", f"score.episodes={episodes}", f"score.counterfactuals={states}"]


def _tune_overrides(row: Row, env: str, draw: int, time: list[str]) -> list[str]:
    told = causes()["tune"]
    return [*row.fit, f"env={env}", f'row="{row.name}"', "trainer=minutes", *row.overrides(drawn(draw)), *time,
            *_asked(probes(env), told["episodes"], told["states"]), *_world(env, "tune", 0), f"seed={told['seed']}",
            f"score.split={SELECT}", "goals=false"]  # fmt: skip


def _short(row: Row) -> list[str]:
    """How long a draw is trained."""
    told = causes()["tune"]
    return [f"trainer.cpu_minutes={told['minutes']}", *row.rounds(told["rounds"], told["rounds_each"])]


def _whole(row: Row) -> list[str]:
    """How long a finalist is trained: as a run of the table."""
    told = causes()["studies"][MAIN]
    return [f"trainer.cpu_minutes={told['minutes']}", *row.rounds(told["rounds"])]


def tune_name(row: Row, env: str, draw: int) -> str:
    """The name of the run that tries a drawn setting."""
    return f"{row.slug}-{env}-draw{draw}-{_digest(_tune_overrides(row, env, draw, _short(row)))}"


def finalist_name(row: Row, env: str, draw: int) -> str:
    """The name of the run that trains a drawn setting as long as the table."""
    return f"{row.slug}-{env}-finalist{draw}-{_digest(_tune_overrides(row, env, draw, _whole(row)))}"


def tuned_precision(row: Row, env: str, ledger: Path) -> str:
    """The precision in which all draws of a row are trained, since settings are compared: that of its first entered draw, or
    the fastest one of this machine where none is entered."""
    draws = (entry_of(tune_ledger(ledger), env, tune_name(row, env, draw)) for draw in range(causes()["tune"]["draws"]))
    return _first("precision", draws) or fast_precision(ON)


def _first(key: str, entered: Iterable[dict | None]):
    """What trainer.<key> is of the first entered run that says one."""
    told = (one["setting"]["trainer"].get(key) for one in entered if one and "setting" in one)
    return next(filter(None, told), None)


def _tune_job(name: str, row: Row, overrides: list[str], env: str, cfg: dict) -> Job:
    """Trains a drawn setting, scores it on `select`, and enters it; one that diverges is entered, too."""
    ledger = tune_ledger(Path(cfg["ledger"]))

    def left() -> list[tuple[str, ...]]:
        entered = entry_of(ledger, env, name)
        done = entered and (SELECT in entered["scores"] or entered.get("diverged"))
        if done:
            return []
        return [_fit([*overrides, f"trainer.precision={tuned_precision(row, env, Path(cfg['ledger']))}"], name, ledger, cfg)]

    return Job(name, left)


def tune_job(row: Row, env: str, draw: int, cfg: dict) -> Job:
    """A drawn setting for `tune.minutes`."""
    return _tune_job(tune_name(row, env, draw), row, _tune_overrides(row, env, draw, _short(row)), env, cfg)


def finalist_job(row: Row, env: str, draw: int, cfg: dict) -> Job:
    """A drawn setting for as long as the table."""
    return _tune_job(finalist_name(row, env, draw), row, _tune_overrides(row, env, draw, _whole(row)), env, cfg)


def entered_row(study: Study, case: str, row: Row) -> str:
    """The row of the ledger, which has one setting, that a run of a table is entered under."""
    counted = study.updates and not study.trains_missing_seeds and f"{study.updates} updates"
    return ", ".join([row.name, *filter(None, [case or (None if study.has_main_runs else study.title), counted])])


def _usual(study: Study, case: str, row: Row, env: str, setting: list[str]) -> list[str]:
    """What decides a training of a table and its first scores, but for seed and world."""
    asked = [*probes(env, study.has_main_runs), *row.probes * study.has_main_runs]
    return [*row.fit, f"env={env}", f'row="{entered_row(study, case, row)}"', *setting, *study.effort(row), *study.overrides,
            *study.cases[case], *_asked(asked, study.episodes, study.states),
            f"score.horizons=[{','.join(map(str, study.horizons))}]", f"goals={str(study.goals).lower()}"]  # fmt: skip


def precision_of(study: Study, case: str, row: Row, env: str, ledger: Path) -> str | None:
    """Of runs in rounds: that of the row's first run that `final` saw, else of its first that is entered, none yet: the fastest
    one here. None: as the study says. Missing seeds can be trained on any machine, in single precision."""
    if not study.in_rounds:
        return None
    if study.trains_missing_seeds:
        return SINGLE
    return _trained_with("precision", study, case, row, env, ledger) or fast_precision(study.accelerator)


def _trained_with(key: str, study: Study, case: str, row: Row, env: str, ledger: Path):
    """What trainer.<key> of a row's first run is that `final` saw, else of its first that is entered;
    None where none is yet."""
    frozen = OmegaConf.select(frozen_setting(ledger, env, entered_row(study, case, row)), f"trainer.{key}")
    return frozen or _first(key, _entered(study, case, row, env, ledger))


def _entered(study: Study, case: str, row: Row, env: str, ledger: Path) -> Iterator[dict]:
    """The runs of any seed that the ledger holds of a row, read as they are asked for."""
    of_any_seed = named(table_name(study, case, row, env, study.settings(ledger, env, row), 0).removesuffix("0"))
    return (read_entry(path) for path in sorted((ledger / env).glob(f"{of_any_seed}[0-9]*.json")))


def updates_of(study: Study, case: str, row: Row, env: str, ledger: Path) -> list[int]:
    """Of each stage of a missing seed: as in the row's first run that `final` saw, else in its first that is entered, none yet:
    the fewest that a training of the row made in the main table. Raises Problem where none is there to count."""
    return list(_trained_with("updates", study, case, row, env, ledger) or _fewest_updates(row, env, ledger))


def _fewest_updates(row: Row, env: str, ledger: Path) -> list[int]:
    stages = [stage["name"] for stage in row.stages]
    ended = [entry["rounds"] for entry in _entered(studies()[MAIN], "", row, env, ledger) if not entry.get("diverged")]
    made = [found for rounds in ended if list(found := {one["stage"]: one["updates"] for one in rounds}) == stages]
    if not made:
        raise Problem(f"table {MAIN} has no training of row '{row.name}' on {env} that ended and tells its updates in "
                      f"{' and '.join(stages)}; run first: python eval/tables.py table={MAIN} envs=[{env}]")  # fmt: skip
    return [min(found[stage] for found in made) for stage in stages]


def seeds_to_train(study: Study, row: Row, env: str, ledger: Path, count: int) -> list[int]:
    """Seeds from 0 that a study asks for: all; of one that trains missing seeds those that `final` never saw in the main table,
    and those that it has begun to enter."""
    if not study.trains_missing_seeds:
        return list(range(count))
    of_main = _entered(studies()[MAIN], "", row, env, ledger)
    there = {entry["seed"] for entry in of_main if FINAL in entry["scores"] or entry.get("diverged")}
    begun = {entry["seed"] for entry in _entered(study, "", row, env, ledger)}
    return [seed for seed in range(count) if seed not in there - begun]


def check_precision(precision: str | None, accelerator: str, jobs: list[Job], else_run: str = "") -> None:
    """Raise Problem where trainings are left of a row that has bfloat16, and this machine has none: they would be several times
    slower.  else_run: a command that trains them in another way.
    """
    if precision != MIXED or fast_precision(accelerator) == MIXED:
        return
    if any(step[0] == FIT for job in jobs for step in steps_of(job) or ()):
        raise Problem(f"its other runs were trained in {MIXED}, and this machine has no bfloat16 of its own, so that it would "
                      f"be several times slower; train it on one that has, "
                      f"or {f'run: {else_run}' if else_run else 'in a ledger of your own: ledger='}")  # fmt: skip


def table_name(study: Study, case: str, row: Row, env: str, setting: list[str], seed: int) -> str:
    """The name of a run of a table.  setting: overrides of train/fit.py."""
    return f"{row.slug}-{env}-{study.runs}-{_digest(_usual(study, case, row, env, setting))}-s{seed}"


def table_job(study: Study, case: str, row: Row, env: str, seed: int, cfg: dict) -> Job:
    """Trains the chosen setting, scores it and its rounds on `final`, and enters it. What lacks after that is asked of the same
    weights where they are at hand, and none is trained again for it: chance would decide which of two trainings `final` shows.
    """
    ledger = Path(cfg["ledger"])
    setting = study.settings(ledger, env, row)
    name, world = table_name(study, case, row, env, setting, seed), _world(env, "table", seed)
    folder, first = Path(cfg["runs_dir"]) / name, "valid" if world else SELECT
    precision = precision_of(study, case, row, env, ledger)
    usual = [*_usual(study, case, row, env, setting), *([f"trainer.precision={precision}"] if precision else [])]
    if study.trains_missing_seeds:
        usual.append(f"trainer.updates=[{','.join(map(str, updates_of(study, case, row, env, ledger)))}]")
    overrides = [*usual, *world, f"seed={seed}", f"score.split={first}"]
    score = "eval/score.py", f"run={folder}", f"ledger={ledger}"
    plan = "eval/plan.py", f"run={folder}", f"ledger={ledger}", f"horizons=[{study.horizons[-1]}]"

    def seen(entered: dict) -> bool:
        """Whether `final` saw a training; some probe may have been asked of it by hand, and nothing else."""
        there, last = entered["scores"].get(FINAL, {}).get("metrics", {}), study.horizons[-1]
        known = (SHOWN["what if"].format(last), ALSO["what if"].format(last))
        return SHOWN["H@1"].format(last) in there and any(key in there for key in known)

    def lacking(entered: dict, kept: Sequence[int]) -> list[tuple[str, ...]]:
        """What is still to be asked of the weights.  kept: rounds whose weights are there."""
        steps = [] if seen(entered) else [(*score, f"split={FINAL}")]
        if rounds := [n for n in study.rounds_without_score(entered) if n in kept]:
            steps.append((*score, f"split={FINAL}", f"round={rounds}", f"probes=[{','.join(probes(env))}]"))
        if rounds := [n for n in study.rounds_without_goals(entered) if n in kept]:
            steps.append((*plan, f"round={rounds}"))
        if modes := [mode for mode in study.modes if mode not in entered["plans"]]:
            steps.append((*plan, f"mode=[{','.join(modes)}]"))
        if orders := [split for split in study.orders if ORDER not in entered["scores"].get(split, {}).get("metrics", {})]:
            steps.append((*score, f"split=[{','.join(orders)}]", "probes=[weight_order]"))
        if study.asks_kept_tasks and FINAL not in entered["plans"]:
            steps.append((*plan, f"seed={KEPT_TASKS}"))
        return steps

    def left() -> list[tuple[str, ...]]:
        entered = entry_of(ledger, env, name) or NOTHING
        if entered.get("diverged"):
            return []
        at_hand = weights_at_hand(folder, entered, first)
        if seen(entered) or (at_hand and first in entered["scores"]):
            kept = [n for n in study.curve if weights_file(folder, n).exists()]
            return lacking(entered, kept) if at_hand else []
        return [_fit(overrides, name, ledger, cfg), *lacking(NOTHING, study.curve)]

    return Job(name, left)
