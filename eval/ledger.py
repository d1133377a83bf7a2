"""What the ledger holds: for every row the scores on `select`, on which it was chosen, on `final`, and by how much they differ.

    python eval/ledger.py                                 results/ledger
    python eval/ledger.py ledger=results/ledger run=[runs/<a>,runs/<b>]     enters finished runs first
    python eval/ledger.py envs=chemistry_chain10 metrics=[structure/reach/shd,structure/direct/shd]      a line for every run

A mean stands beside its sample standard deviation over seeds. A row falls from `select` to `final` by what choosing flattered
it, and by what the two data sets differ by.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import main

    sys.exit(main("ledger", "eval.ledger:run", __doc__))  # what stands below is imported for the work alone

from statistics import mean, stdev

from omegaconf import ListConfig

from envs.problem import Problem, nearest
from eval.runs import folders_of
from eval.runs.final import FINAL, SELECT
from eval.runs.ledger import enter, entries
from eval.terminal import print_table

SHOWN = {"test/hits@1/": "H@1", "test/cf_hits@1/mean/": "what if"}  # metric, followed by a horizon -> its name
NOT_SCORED = "not scored"

Scores = dict[str, dict[str, float]]  # metric -> run -> value


def collected(held: list[dict]) -> dict[tuple[str, str], dict[str, Scores]]:
    """(env, row) -> split -> scores, of the two splits.  held: entries of a ledger."""
    found: dict[tuple[str, str], dict[str, Scores]] = {}
    for entry in held:
        run = f"{entry['run']} {entry.get('config_hash', '')}"  # several settings may have been trained under one name
        splits = found.setdefault((entry["env"], entry["row"]), {SELECT: {}, FINAL: {}})
        for split, scores in splits.items():
            for key, value in entry["scores"].get(split, {}).get("metrics", {}).items():
                scores.setdefault(key, {})[run] = value
    return found


def lines(found: dict[tuple[str, str], dict[str, Scores]]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table: of every row both splits and how much larger `select` is."""
    seen = {key for splits in found.values() for scores in splits.values() for key in scores}
    keys = [f"{start}h{h}" for start in SHOWN for h in sorted(int(k[len(start) + 1 :]) for k in seen if _is(k, start))]
    header = ["env", "row", "split", *(f"{SHOWN[key[: key.rindex('/') + 1]]} at {key.rpartition('/h')[2]}" for key in keys)]
    rows = []
    for (env, row), splits in found.items():
        rows += [
            [env, row, split, *(_cell(list(scores.get(key, {}).values())) for key in keys)] for split, scores in splits.items()
        ]
        rows.append(["", "", f"{SELECT} - {FINAL}",
                     *(_fell(*(splits[split].get(key, {}) for split in (SELECT, FINAL))) for key in keys)])  # fmt: skip
    return header, rows


def _fell(chosen: dict[str, float], final: dict[str, float]) -> str:
    """By how much a score is larger where settings are chosen, over the runs that have both."""
    apart = [chosen[run] - final[run] for run in chosen.keys() & final.keys()]
    return f"{mean(apart):+.2f}" if apart else ""


def _is(key: str, start: str) -> bool:
    """Whether a key is that metric at a horizon."""
    return key.startswith(f"{start}h") and key[len(start) + 1 :].isdigit()


def run_lines(held: list[dict], metrics: list[str]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table of these scores: of every row and split its runs, and their mean.

    Raises Problem where no run has one.
    """
    known = {key for entry in held for scores in entry["scores"].values() for key in scores["metrics"]}
    for key in metrics:
        if key not in known:
            raise Problem(f"no run asked for has a score '{key}': {nearest(key, known)}")
    groups: dict[tuple[str, str, str], list[tuple[str, str, list]]] = {}
    for entry in held:
        for split, scores in entry["scores"].items():
            values = [scores["metrics"].get(key) for key in metrics]
            if values.count(None) < len(values):
                world = "" if entry.get("world") is None else str(entry["world"])
                groups.setdefault((entry["env"], entry["row"], split), []).append((world, str(entry["seed"]), values))
    rows = []
    for group, runs in groups.items():
        rows += [
            [*group, world, seed, *("" if value is None else f"{value:g}" for value in values)] for world, seed, values in runs
        ]
        if len(runs) > 1:
            columns = [[value for value in column if value is not None] for column in zip(*(values for _, _, values in runs))]
            rows.append(["", "", "mean", "", "", *(f"{mean(column):.2f}" if column else "" for column in columns)])
    return ["env", "row", "split", "world", "seed", *metrics], rows


def _named(value) -> list[str]:
    """One name, or a list of them; null: none. Raises Problem on an empty list."""
    if isinstance(value, ListConfig) and not len(value):
        raise Problem("an empty list names nothing; leave out envs= or metrics=, or name some")
    return [] if value is None else [str(one) for one in value] if isinstance(value, ListConfig) else [str(value)]


def _held(cfg) -> list[dict]:
    """Entries of the envs asked for. Raises Problem where there is none."""
    held, envs = list(entries(cfg.ledger)), _named(cfg.envs)
    if not held:
        raise Problem(f"{cfg.ledger} holds no run; enter some with: python eval/ledger.py run=[runs/<name>]")
    for env in envs:
        if env not in (known := {entry["env"] for entry in held}):
            raise Problem(f"{cfg.ledger} holds no run of env '{env}': {nearest(env, known)}")
    return [entry for entry in held if not envs or entry["env"] in envs]


def _cell(values: list[float]) -> str:
    if not values:
        return NOT_SCORED
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f} ({len(values)})" if len(values) > 1 else " (1)")


def run(cfg) -> None:
    """The command."""
    for folder in folders_of(cfg.run) if cfg.run is not None else ():
        print(enter(folder, cfg.ledger))
    held, metrics = _held(cfg), _named(cfg.metrics)
    if metrics:
        print_table(*run_lines(held, metrics), "a line for every run that has a score", title=f"ledger {cfg.ledger}", width=160)
        return
    text = (f"percent, H@1 after so many steps, and among the outcomes of all actions, mean over those that move nothing, one "
            f"object, several (what if); mean ± sample standard deviation (how many) over seeds and drawn worlds; settings are "
            f"chosen on {SELECT}; {SELECT} - {FINAL}: over runs that have both; other scores: metrics=")  # fmt: skip
    print_table(*lines(collected(held)), text, title=f"ledger {cfg.ledger}", width=160)
