"""What the ledger holds: for every row the scores on `select`, on which it was chosen, on `final`, and by how much they differ.

    python eval/ledger.py                                 results/ledger
    python eval/ledger.py ledger=results/ledger run=[runs/<a>,runs/<b>]     enters finished runs first

A mean stands beside its sample standard deviation over seeds. A row falls from `select` to `final` by what choosing flattered it.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import main

    sys.exit(main("ledger", "eval.ledger:run", __doc__))  # what stands below is imported for the work alone

from statistics import mean, stdev

from envs.problem import Problem
from eval.runs import folders_of
from eval.runs.ledger import FINAL, SELECT, enter, entries
from eval.terminal import print_table

SHOWN = {"test/hits@1/": "H@1", "test/cf_hits@1/": "what if"}  # metric, followed by a horizon -> its name
NOT_SCORED = "not scored"

Scores = dict[str, list[float]]  # metric -> a value for each seed and drawn world


def collected(ledger: str | Path) -> dict[tuple[str, str], dict[str, Scores]]:
    """(env, row) -> split -> scores, of the two splits."""
    found: dict[tuple[str, str], dict[str, Scores]] = {}
    for entry in entries(ledger):
        splits = found.setdefault((entry["env"], entry["row"]), {SELECT: {}, FINAL: {}})
        for split, scores in splits.items():
            for key, value in entry["scores"].get(split, {}).get("metrics", {}).items():
                scores.setdefault(key, []).append(value)
    return found


def lines(found: dict[tuple[str, str], dict[str, Scores]]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table: of every row both splits and how much larger `select` is."""
    seen = {key for splits in found.values() for scores in splits.values() for key in scores}
    keys = [f"{start}h{h}" for start in SHOWN for h in sorted(int(k[len(start) + 1 :]) for k in seen if _is(k, start))]
    header = ["env", "row", "split", *(f"{SHOWN[key[: key.rindex('/') + 1]]} at {key.rpartition('/h')[2]}" for key in keys)]
    rows = []
    for (env, row), splits in found.items():
        rows += [[env, row, split, *(_cell(scores.get(key, [])) for key in keys)] for split, scores in splits.items()]
        pairs = [(splits[SELECT].get(key), splits[FINAL].get(key)) for key in keys]
        rows.append(["", "", f"{SELECT} - {FINAL}", *(f"{mean(a) - mean(b):+.2f}" if a and b else "" for a, b in pairs)])
    return header, rows


def _is(key: str, start: str) -> bool:
    """Whether a key is that metric at a horizon."""
    return key.startswith(f"{start}h") and key[len(start) + 1 :].isdigit()


def _cell(values: list[float]) -> str:
    if not values:
        return NOT_SCORED
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f} ({len(values)})" if len(values) > 1 else " (1)")


def run(cfg) -> None:
    """The command."""
    for folder in folders_of(cfg.run) if cfg.run is not None else ():
        print(enter(folder, cfg.ledger))
    found = collected(cfg.ledger)
    if not found:
        raise Problem(f"{cfg.ledger} holds no run; enter some with: python eval/ledger.py run=[runs/<name>]")
    text = "percent, H@1 after so many steps and among the outcomes of all actions (what if); mean ± sample standard deviation (how many) over seeds and drawn worlds; settings are chosen on select"
    print_table(*lines(found), text, title=f"ledger {cfg.ledger}", width=160)
