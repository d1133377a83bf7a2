"""The runs of a table of equal effort: first the drawn settings, then the chosen one; what the ledger holds is not run again."""

import hashlib
from pathlib import Path

from eval.effort.settings import Row, causes, choice, drawn, probes
from eval.paper.sweep import Job
from eval.runs.ledger import FINAL, SELECT, entry_of

TUNE = "tune"  # a ledger inside the ledger: settings that were only tried


def tune_ledger(ledger: Path) -> Path:
    """Where the drawn settings are entered, apart from the rows of tables."""
    return ledger / TUNE


def _world(env: str, part: str, seed: int) -> list[str]:
    """The drawn world of a run, in envs that draw one."""
    first = causes()["worlds"].get(env, {}).get(part)
    return [] if first is None else [f"env.world.scm_seed={first + seed}"]


def _fit(row: Row, env: str, name: str, seed: int, overrides: list[str], cfg: dict) -> tuple[str, ...]:
    """A training, or the end of one that was broken off."""
    folder = Path(cfg["runs_dir"]) / name
    if (folder / "config.yaml").exists():
        return ("train/fit.py", f"resume={folder}")
    return ("train/fit.py", *row.fit, f"env={env}", "trainer=minutes", *overrides, f"seed={seed}", f"name={name}", f'row="{row.name}"',
            f"runs_dir={cfg['runs_dir']}", f"data_dir={cfg['data_dir']}", "logger=csv")


def _mark(row: Row, overrides: list[str], minutes: float) -> str:
    """Of a setting: another space, row or budget gives runs other names, so that none is taken for another."""
    return hashlib.sha256("\n".join([*row.fit, *overrides, str(minutes)]).encode()).hexdigest()[:6]


def tune_name(row: Row, env: str, draw: int) -> str:
    """Of the run of a drawn setting."""
    return f"{row.slug}-{env}-draw{draw}-{_mark(row, row.overrides(drawn(draw)), causes()['tune']['minutes'])}"


def tune_job(row: Row, env: str, draw: int, cfg: dict) -> Job:
    """Trains a drawn setting, scores it on `select`, and enters it."""
    told, name, ledger = causes()["tune"], tune_name(row, env, draw), tune_ledger(Path(cfg["ledger"]))
    overrides = [*row.overrides(drawn(draw)), *_world(env, "tune", 0), f"trainer.cpu_minutes={told['minutes']}", *_rounds(row, told["rounds"]),
                 f"score.split={SELECT}", f"score.probes=[{','.join(probes(env, 'tune'))}]", f"score.episodes={told['episodes']}", f"score.counterfactuals={told['states']}",
                 "goals=false", f"ledger={ledger}"]  # fmt: skip

    def left() -> list[tuple[str, ...]]:
        entered = entry_of(ledger, env, name)
        return [] if entered and SELECT in entered["scores"] else [_fit(row, env, name, told["seed"], overrides, cfg)]

    return Job(name, left)


def _rounds(row: Row, rounds: int) -> list[str]:
    """Of a stage, so that all together are about as many."""
    return [f"loss.epochs.minutes={max(1, round(rounds / len(row.stages)))}"]


def table_name(row: Row, env: str, chosen: dict, seed: int) -> str:
    """Of a run of the table.  chosen: as of `choice`."""
    minutes = causes()["table"]["minutes"]
    return f"{row.slug}-{env}-{minutes}min-{_mark(row, chosen['overrides'], minutes)}-s{seed}"


def table_job(row: Row, env: str, seed: int, cfg: dict) -> Job:
    """Trains the chosen setting, scores it and its rounds on `final`, and enters it."""
    told, ledger = causes()["table"], Path(cfg["ledger"])
    chosen = choice(ledger, env, row)
    name, world = table_name(row, env, chosen, seed), _world(env, "table", seed)
    folder = Path(cfg["runs_dir"]) / name
    overrides = [*chosen["overrides"], *world, f"score.probes=[{','.join(probes(env, 'table'))}]", f"trainer.cpu_minutes={told['minutes']}", f"score.split={'valid' if world else SELECT}",
                 f"score.episodes={told['episodes']}", f"score.counterfactuals={told['states']}", f"ledger={ledger}"]  # fmt: skip

    def left() -> list[tuple[str, ...]]:
        entered = entry_of(ledger, env, name) or {"scores": {}, "rounds": []}
        score = "eval/score.py", f"run={folder}", f"split={FINAL}", f"ledger={ledger}"
        rounds = [one["round"] for one in entered["rounds"] if FINAL not in one["scores"] and one["round"] in told["rounds"]]
        steps = [] if (folder / "results.json").exists() or FINAL in entered["scores"] else [_fit(row, env, name, seed, overrides, cfg)]
        if FINAL not in entered["scores"]:
            steps.append(score)
        if not entered["rounds"] or rounds:
            steps.append((*score, f"round={rounds or told['rounds']}", f"probes=[{','.join(probes(env, 'round'))}]"))
        return steps

    return Job(name, left)
