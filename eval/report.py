"""Runs as pages to look at: scores, loss curves, and what the model predicts beside what happened, wrong cases first.

    python eval/report.py                                             all runs: runs/index.html
    python eval/report.py gifs=0                                      the same without GIFs of planning, in seconds
    python eval/report.py run=runs/modular-infonce-physics5-quick-s0  one run: its report.html
    python eval/report.py ledger=results/ledger                       what the tables of equal effort found, for newcomers

One self-contained page each, readable without a network. All runs: the paper's tables with bars, ranking against success,
learned graphs, GIFs of planning, and every run, with a search.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import main

    sys.exit(main("report", "eval.report:run", __doc__))  # what stands below is imported for the work alone

from html import escape

from omegaconf import OmegaConf

from envs.problem import Problem
from envs.protocols import Simulator
from envs.whole_files import write_whole
from eval.figures.cause_plot import cause_plot, judged_by, worst
from eval.figures.curves import loss_curves
from eval.figures.svg import inline_svg
from eval.pages.graphs import graph_section
from eval.pages.html import page, table
from eval.pages.results_page import write_results
from eval.pages.rollout_figures import BETWEEN_POOL, counterfactual_figure, decodes_pictures, rollout_figures
from eval.pages.site import write_site
from eval.pages.table_rollouts import can_show, table_rollouts
from eval.probes.data import Data
from eval.probes.score_table import caption, table_rows
from eval.runs import Run, folders_of, read_results
from eval.runs.metrics_csv import losses
from models.abilities import JudgesClips

NOTES = {  # how the label of a bound begins -> what the page says below the table
    "floor": "Floors need no model; copying and painting are done in the model's own latents.",
    "ceiling": "Where chance decides, the ceiling is exact Bayes: the likeliest candidate of the pool under the true tables, "
    "which no model can be expected to pass.",
    "comparison: true model": "The true model in one-hot colours is no ceiling: another geometry of latents may score more. "
    "Counterfactual scores have no ceiling there either, as they depend on the metric of the latents that are asked.",
    "comparison: trees on true features": "Trees that are handed the true features of the clip they judge are no ceiling: "
    "where speeds after a collision are among them, a model that only sees what came before can pass them.",
}


def write_report(folder: str | Path | Run) -> Path:
    """Write report.html into the folder of a scored run, which may be open already."""
    results = read_results(folder.folder if isinstance(folder, Run) else Path(folder))
    run = Run.open(folder)
    run.use_gpu()
    parts = [f"<h1>{escape(results['run'])}</h1>", f'<p class="soft">{escape(caption(results))}</p>', _scores(results)]
    metrics = run.folder / "metrics.csv"
    if metrics.exists():
        parts.append(f"<h2>Loss</h2>{loss_curves(losses(metrics))}")
    parts += [graph_section(results), _causes(results)]
    parts += _pictures(run, results)
    parts.append(f'<p class="soft">{_facts(results)}</p>{_settings(run.config)}')
    return write_whole(run.folder / "report.html", page(results["run"], "\n".join(parts)))


def _scores(results: dict) -> str:
    header, rows = table_rows(results)
    if not rows:  # a probe that only draws was asked for alone
        return ""
    bounds = [label.strip().startswith(("floor", "ceiling", "true model", "comparison")) for label, *_ in rows]
    classes = ["bound" if bound else "" for bound in bounds]
    classes[0] = "first"
    rows = [[escape(cell) for cell in row] for row in rows]
    notes = [text for word, text in NOTES.items() if any(label.strip().startswith(word) for label, *_ in rows)]
    return "<h2>Scores</h2>" + table(header, rows, classes) + f'<p class="soft">{" ".join(notes)}</p>'


def _causes(results: dict) -> str:
    """Which cause the model got wrong, if it was asked."""
    causes, metrics, last = results["protocol"].get("causes"), results["metrics"], [*results["protocol"]["distinct"]][-1]
    if not causes:
        return ""
    unit = "mm further off" if judged_by(metrics, last) == "block_error" else "points of H@1 less"
    wrong = [
        f"Most wrong: <b>{escape(first)}</b>, {by:.1f} {unit} than with nothing changed."
        for first, by in worst(metrics, causes, last)[:1]
    ]
    asked = ", ".join(f"{cause} {count}" for cause, count in results["causes"].items())
    return (
        f"<h2>Causes</h2><p>One cause at a time was set anew, in states and under actions that were the same for all. "
        f"{''.join(wrong)}</p>"
        f"{inline_svg(cause_plot(metrics, causes, last), 'causes')}<p class=soft>States that took a value: {escape(asked)}.</p>"
    )


def _pictures(run: Run, results: dict) -> list[str]:
    """Rollouts and one state under many actions, on the episodes that were scored; none where nothing can be drawn."""
    model, world = run.model, run.world
    file = run.file(results["protocol"]["split"])
    tables = can_show(model, world)
    if isinstance(model, JudgesClips) or not tables and "pixels" not in file.columns:
        return []
    horizon = max(int(h[1:]) for h in results["protocol"]["distinct"])
    data = Data(run, file, [horizon], results["protocol"].get("asked", results["protocol"]["pool"]), 0)
    if tables:
        return _table_rollouts(run, data, horizon)
    (pixels,) = data.read("pixels")
    count = len(data)
    cases = rollout_figures(model, world, data.obs, pixels, data.action, horizon)
    shown = "the decoded prediction" if decodes_pictures(model, world) else "the true frame nearest to the prediction"
    pool = f"{count} episodes" if count <= BETWEEN_POOL else f"{count} episodes ({BETWEEN_POOL} before the last step)"
    parts = [
        f"<h2>Rollouts</h2><p><b>{cases.wrong} of {cases.pool}</b> held-out episodes are wrong after {horizon} steps: "
        f"another true frame is as near to the prediction, or nearer. The model sees the first frame and the actions. "
        f"Below each true frame: {shown}; a coloured border where the nearest frame of {pool} at that step is not the "
        f"true one. Wrong cases first, drawn at random.</p>",
        cases.html,
    ]
    if world.spec.action.choices and isinstance(world, Simulator):
        what = counterfactual_figure(model, world, pixels[:, 0], data.state[:, 0], data.action)
        parts.append(
            f"<h2>What if</h2><p>One held-out state and the actions of one object, or of all together. Top: what each action "
            f"does. Below: the outcome nearest to the prediction among those of all {what.pool} actions; for {what.wrong} of "
            f"them it is not the true one.</p>{what.html}"
        )
    return parts


def _table_rollouts(run: Run, data: Data, horizon: int) -> list[str]:
    """Rollouts of bodies in space. One state under many actions is not shown: of torques or joint positions, one step moves
    bodies by too little to be seen."""
    found = table_rollouts(run.model, run.world, data, horizon)
    what, among = (
        ("blocks", "in which a block moves more than 1 cm")
        if found.blocks
        else ("fingertips", "in which a tip moves more than 1 cm")
    )
    return [
        f"<h2>Rollouts</h2><p>The model sees the first table and the actions of {horizon} steps. Mean error of the {what} at "
        f"the end: <b>{found.error:.1f} mm</b> in the median over the {found.pool} held-out windows {among}. The figures show "
        f"windows from the median error to the largest. From above: paths of block centres and fingertips, and outlines of "
        f"the blocks at the end; dotted: at the start.</p>",
        found.html,
    ]


def _facts(results: dict) -> str:
    weights = ", ".join(f"{name} {count:,}" for name, count in results.get("parameters", {}).items() if count)
    timing = ", ".join(f"{name} {value}" for name, value in results["timing"].items())
    versions = results.get("versions")
    code = ", ".join(f"{name} {version}" for name, version in versions.items()) if isinstance(versions, dict) else "unknown"
    seconds = results["timing"].get("fit_s")
    took = "" if seconds is None else f"Training took {seconds / 60:.1f} minutes. "
    config = results.get("config_hash", "unknown")
    return escape(f"{took}Parameters: {weights}. Timing: {timing}. Code: {code}. Config {config}.")


def _settings(cfg) -> str:
    """Every setting, behind a line to open."""
    return f"<details><summary>All settings (config.yaml)</summary><pre>{escape(OmegaConf.to_yaml(cfg))}</pre></details>"


def run(cfg) -> None:
    """The command."""
    if cfg.ledger is not None and cfg.run is not None:
        raise Problem("ledger= writes the page of results and run= that of a run; expected one of the two; leave one out")
    if cfg.ledger is not None:
        print(write_results(Path(cfg.ledger), Path(cfg.runs_dir), Path(cfg.out), bool(cfg.gifs)))
        return
    if cfg.run is None:
        print(write_site(cfg.runs_dir, cfg.gifs))
        return
    for folder in folders_of(cfg.run):
        print(write_report(folder))
