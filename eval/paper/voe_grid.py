"""A grid search of violated expectations: its runs, best first, and the combination that validation pairs choose."""

from math import prod
from pathlib import Path
from statistics import mean

from envs.problem import Problem
from envs.whole_files import write_whole
from eval.paper.table_specs import results_of
from eval.paper.table_text import markdown
from eval.paper.voe_runs import config_of
from eval.runs import run_folders
from eval.terminal import print_table

GRID = "voe-grid"  # the name of its table
HIT, AUC = "voe/hit_rate", "voe/auc"
HEADER = ["", "learning rate", "clips", "optimizer", "hit rate", "AUC", "seeds"]


def combinations(runs_dir: Path) -> dict[str, list[dict]]:
    """Env -> its combinations, best first: by the hit rate on validation pairs, then the area under the curve, then its row.

    Both are means over the seeds of a combination.  Raises Problem on runs of a grid that were scored on another split.
    """
    found: dict[str, dict[tuple, list[dict]]] = {}
    for place in run_folders(runs_dir):
        results, config = results_of(place, "results.json"), config_of(place)
        if results is None or HIT not in results["metrics"] or "grid" not in config:
            continue
        if (split := results["protocol"].get("split")) != "valid":
            raise Problem(f"{place} was scored on split '{split}', and a grid is chosen on valid; move it out of runs_dir")
        grid = config["grid"]
        of_env = found.setdefault(results["env"], {})
        size = prod(map(len, grid["domain"].values()))
        of_env.setdefault((grid["seed"], grid["row"]), []).append({**config["loss"], **results["metrics"], "of": size})
    return {env: sorted((_one(*item) for item in rows.items()), key=lambda one: (-one[HIT], -one[AUC], one["row"]))
            for env, rows in found.items()}  # fmt: skip


def _one(row: tuple, runs: list[dict]) -> dict:
    tuned = {key: runs[0][key] for key in ("learning_rate", "clips", "optimizer")}
    return {"row": row, **tuned, "seeds": len(runs), "of": runs[0]["of"]} | {
        key: mean(run[key] for run in runs) for key in (HIT, AUC)
    }


def show_grid(cfg: dict) -> None:
    """Prints the combinations of every env and writes them to <out>/voe-grid.md."""
    texts, every = [], combinations(Path(cfg["runs_dir"]))
    if not every:
        raise Problem(f"{cfg['runs_dir']} holds no run of a grid; make them with: python train/fit.py -m experiment=voe_grid "
                      f"env=voe_barrier, and set runs_dir=runs/grid")  # fmt: skip
    for env, rows in every.items():
        lines = [[f"seed {one['row'][0]}, row {one['row'][1]}", f"{one['learning_rate']:g}", str(one["clips"]),
                  one["optimizer"], f"{one[HIT]:.3f}", f"{one[AUC]:.3f}", str(one["seeds"])] for one in rows]  # fmt: skip
        best = rows[0]
        chosen = " ".join(f"loss.{key}={best[key]}" for key in ("learning_rate", "clips", "optimizer"))
        text = (f"{env}: {len(rows)} combinations of {best['of']}, scored on validation pairs, ties one half; chosen by hit "
                f"rate, then AUC, then the smaller row: env={env} {chosen}")  # fmt: skip
        print_table(HEADER, lines, "", title=f"{GRID}, {env}")
        print(text)
        texts.append(f"### {env}\n\n{markdown(HEADER, lines, text)}")
    Path(cfg["out"]).mkdir(parents=True, exist_ok=True)
    write_whole(Path(cfg["out"]) / f"{GRID}.md", "\n".join(texts))
