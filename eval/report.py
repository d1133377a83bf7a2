"""Runs as pages to look at: scores, loss curves, and what the model predicts beside what happened, wrong cases first.

    python eval/report.py                                             all runs: runs/index.html
    python eval/report.py run=runs/modular-infonce-physics5-quick-s0  one run: its report.html

One self-contained page each, readable without a network.
"""

import sys
from pathlib import Path

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder

import json
from html import escape
from statistics import mean, stdev

import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf

from envs.collect import collect
from envs.observe import recorded
from envs.problem import Problem
from eval.graph_pictures import graph_section
from eval.page import loss_curves, page, table, write_whole
from eval.runs import load_run
from eval.score_table import caption, table_rows
from eval.strips import BETWEEN_POOL, decodes_pictures, rollout_strips, what_if_strip


RESULTS = ("run", "model", "loss", "env", "seed", "metrics", "protocol", "timing", "setting_hash")


def read_results(folder: Path) -> dict:
    """results.json of a run folder."""
    path = folder / "results.json"
    try:
        results = json.loads(path.read_text())
    except FileNotFoundError as error:
        raise Problem(f"{path} does not exist; make it with: python eval/score.py run={folder}") from error
    except json.JSONDecodeError as error:
        raise Problem(f"{path} is not valid JSON ({error}); make it anew with: python eval/score.py run={folder}") from error
    missing = [key for key in RESULTS if key not in results]
    if missing:
        raise Problem(f"{path} lacks {', '.join(missing)}; make it anew with: python eval/score.py run={folder}")
    return results


def write_report(folder: str | Path) -> Path:
    """Write <folder>/report.html for a scored run."""
    folder = Path(folder)
    results = read_results(folder)
    model, cfg = load_run(folder)
    if torch.cuda.is_available():
        model.cuda()
    parts = [f"<h1>{escape(results['run'])}</h1>", f'<p class="soft">{escape(caption(results))}</p>', _scores(results)]
    metrics = folder / "metrics.csv"
    if metrics.exists():
        parts.append(f"<h2>Loss</h2>{loss_curves(metrics)}")
    parts.append(graph_section(results))
    parts += _pictures(model, cfg, results)
    parts.append(f'<p class="soft">{_facts(results)}</p>')
    return write_whole(folder / "report.html", page(results["run"], "\n".join(parts)))


def _scores(results: dict) -> str:
    header, rows = table_rows(results)
    bounds = [label.strip().startswith(("floor", "ceiling", "comparison")) for label, *_ in rows]
    classes = ["bound" if bound else "" for bound in bounds]
    classes[0] = "first"
    rows = [[escape(cell) for cell in row] for row in rows]
    return "<h2>Scores</h2>" + table(header, rows, classes) + (
        '<p class="soft">In italics: what needs no model at all (floor); copying and painting are done in the model\'s own latents. Where chance decides, the ceiling is the true causal model itself, the better of its likeliest outcome and its mean over 128 samples; a good model passes it by some tenths, by luck.</p>'
    )


def _pictures(model, cfg, results: dict) -> list[str]:
    """Rollouts and one state under many actions, on the episodes that were scored."""
    world = instantiate(cfg.env.world)
    file = collect(OmegaConf.to_container(cfg.env), world, results["protocol"]["split"], cfg.data_dir)
    count, rows = min(results["protocol"]["pool"], len(file)), int(file.ep_len.min())
    columns = recorded(world, file, "pixels", "action", "state")
    obs, pixels, action, state = (c.reshape(len(file), rows, *c.shape[1:])[:count] for c in columns)
    horizon = max(int(h[1:]) for h in results["protocol"]["distinct"])
    cases = rollout_strips(model, world, obs, pixels, action, horizon)
    shown = "the decoded prediction" if decodes_pictures(model, world) else "the true frame nearest to the prediction"
    pool = f"{count} episodes" if count <= BETWEEN_POOL else f"{count} episodes ({BETWEEN_POOL} before the last step)"
    parts = [
        f"<h2>Rollouts</h2><p><b>{cases.wrong} of {cases.pool}</b> held-out episodes are wrong after {horizon} steps: "
        f"another true frame is as near to the prediction, or nearer. The model sees the first frame and the actions. "
        f"Below each true frame: {shown}; a coloured border where the nearest frame of {pool} at that step is not the "
        f"true one. Wrong cases first, drawn at random.</p>",
        cases.html,
    ]
    if world.spec.choices:
        what = what_if_strip(model, world, pixels[:, 0], state[:, 0], action)
        parts.append(
            f"<h2>What if</h2><p>One held-out state and the actions of one of its objects. Top: what each action does. "
            f"Below: the outcome nearest to the prediction among those of all {what.pool} actions; for {what.wrong} of "
            f"them it is not the true one.</p>{what.html}"
        )
    return parts


def _facts(results: dict) -> str:
    weights = ", ".join(f"{name} {count:,}" for name, count in results["parameters"].items() if count)
    timing = ", ".join(f"{name} {value}" for name, value in results["timing"].items())
    return escape(f"Parameters: {weights}. Timing: {timing}. Config {results['config_hash']}.")


def write_index(runs_dir: str | Path) -> Path:
    """Write <runs_dir>/index.html: every run that has results, and means over seeds."""
    runs_dir = Path(runs_dir)
    folders = sorted(path.parent for path in runs_dir.glob("*/config.yaml"))
    agents = [folder for folder in folders if (folder / "checkpoints" / "agent.zip").exists()]  # they have no scores to show
    if not folders:
        raise Problem(f"{runs_dir} holds no run; make one with: python train/fit.py")
    folders, scored, broken = [folder for folder in folders if folder not in agents], {}, []
    for folder in folders:
        if (folder / "results.json").exists():
            try:
                scored[folder] = read_results(folder)
            except Problem as problem:
                broken.append(f"<p>{escape(str(problem))}</p>")
    order = sorted(scored, key=lambda f: (scored[f]["env"], scored[f]["model"], scored[f]["loss"], scored[f]["seed"]))
    parts = [f"<h1>{len(scored)} run{'s' if len(scored) != 1 else ''}</h1>"]
    if scored:
        parts += [_run_table(order, scored), _seed_table(order, scored)]
    if broken:
        parts.append(f"<h2>Unreadable results</h2>{''.join(broken)}")
    if agents:
        parts.append(f"<h2>Model-free agents</h2><p>{', '.join(escape(folder.name) for folder in agents)}</p>")
    open_ = [escape(folder.name) for folder in folders if not (folder / "results.json").exists()]
    if open_:
        parts.append(f"<h2>Without results</h2><p>{', '.join(open_)}</p>")
    return write_whole(runs_dir / "index.html", page("Runs", "\n".join(parts), wide=True))


def _numbers(results: dict) -> dict[str, float]:
    """The columns of the index: H@1 and MRR at the nearest and longest horizon, counterfactual H@1, the copy floor."""
    m, horizons = results["metrics"], list(results["protocol"]["distinct"])
    names = {}
    for h in dict.fromkeys((horizons[0], horizons[-1])):
        names |= {f"H@1 {h}": f"test/hits@1/{h}", f"MRR {h}": f"test/mrr/{h}"}
    names |= {"what-if H@1": "test/cf_hits@1", f"copy floor {horizons[0]}": f"floor/copy/hits@1/{horizons[0]}"}
    return {label: m[key] for label, key in names.items() if key in m}


def _columns(order, scored) -> list[str]:
    return list(dict.fromkeys(label for folder in order for label in _numbers(scored[folder])))


def _run_table(order, scored) -> str:
    columns, rows = _columns(order, scored), []
    for folder in order:
        results, numbers = scored[folder], _numbers(scored[folder])
        name = escape(folder.name)
        link = f'<a href="{name}/report.html">{name}</a>' if (folder / "report.html").exists() else name
        about = (escape(str(results[key])) for key in ("env", "model", "loss"))
        rows.append([link, *about, results["protocol"]["budget"], str(results["seed"]),
                     *(f"{numbers[c]:.2f}" if c in numbers else "" for c in columns)])  # fmt: skip
    header = ["run", "env", "model", "loss", "budget", "seed", *map(escape, columns)]
    pools = ", ".join(sorted({str(r["protocol"]["pool"]) for r in scored.values()}))
    note = f'<p class="soft">Percent, pool {pools}, rule grouped, ties against us; h5 = after 5 steps of open loop.</p>'
    return table(header, rows, text_columns=5) + note


def _seed_table(order, scored) -> str:
    """Mean and standard deviation over seeds; empty where no setting has two."""
    groups: dict[tuple, dict[int, dict]] = {}
    for folder in order:
        r = scored[folder]
        key = (r["env"], r["model"], r["loss"], r["protocol"]["budget"], r["protocol"]["pool"], r["setting_hash"])
        groups.setdefault(key, {})[r["seed"]] = _numbers(r)
    columns, rows = _columns(order, scored), []
    for key, seeds in groups.items():
        if len(seeds) > 1:
            values = [[n[c] for n in seeds.values() if c in n] for c in columns]
            cells = [f"{mean(v):.2f} ± {stdev(v):.2f}" if len(v) > 1 else "" for v in values]
            rows.append([*(escape(str(part)) for part in key[:4]), str(len(seeds)), *cells])
    if not rows:
        return ""
    header = ["env", "model", "loss", "budget", "seeds", *map(escape, columns)]
    return f"<h2>Over seeds</h2>{table(header, rows, text_columns=4)}"


def run(cfg) -> None:
    """The command."""
    print(write_report(cfg.run) if cfg.run else write_index(cfg.runs_dir))


if __name__ == "__main__":
    from configs.command import main

    main("report", run, __doc__)
