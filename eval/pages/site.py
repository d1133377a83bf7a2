"""The site over all runs: one self-contained page with a menu, the paper's tables, charts, graphs, GIFs, and every run."""

from html import escape
from pathlib import Path

from envs.problem import Problem
from envs.whole_files import write_whole
from eval.figures.charts import Point, scatter_chart
from eval.pages.episode_gifs import gifs_section
from eval.pages.frame import SCRIPT, STYLE, framed
from eval.pages.graphs import graph_gallery
from eval.pages.html import page
from eval.pages.overview import agents_section, in_order, overview_section, runs_section, seeds_section
from eval.pages.paper_section import table_sections
from eval.runs import is_agent, read_results, run_folders
from eval.runs.identity import family

SCATTER_NOTE = """<p class="soft">One point for each run, pointing at it tells its name; success of greedy planning with the
model, true frame every step (eval/plan.py). Spearman's rank correlation over the points of a plot, ties by average ranks;
envs, budgets and drawn worlds are mixed, so it says whether the orders agree, not why.</p>"""


def write_site(runs_dir: str | Path, gifs: int) -> Path:
    """Writes <runs_dir>/index.html over every run below it.  gifs: planning episodes drawn for each world."""
    runs_dir = Path(runs_dir)
    folders = run_folders(runs_dir)
    if not folders:
        raise Problem(f"{runs_dir} holds no run; make one with: python train/fit.py")
    scored, broken, without, agents = {}, [], [], []
    for folder in folders:
        if is_agent(folder):
            agents.append(folder)
        elif not (folder / "results.json").exists():
            without.append(escape(folder.relative_to(runs_dir).as_posix()))
        else:
            try:
                scored[folder] = read_results(folder)
            except Problem as problem:
                broken.append(f"<p>{escape(str(problem))}</p>")
    scored, sections = in_order(scored), {}
    if scored:
        sections = {
            "Overview": overview_section(scored),
            "Paper's tables": table_sections(scored),
            "Ranking and success": success_section(scored),
            "Learned graphs": graph_gallery(scored),
            "Planning episodes": gifs_section(scored, gifs),
            "Over seeds": seeds_section(scored),
            "Runs": runs_section(scored, runs_dir),
        }
    sections["Model-free agents"] = agents_section(agents, runs_dir)
    sections |= {"Unreadable results": "".join(broken), "Without results": f"<p>{', '.join(without)}</p>" if without else ""}
    body = framed("Causal World Models", f"{len(scored)} scored run{'s' if len(scored) != 1 else ''}", sections)
    return write_whole(runs_dir / "index.html", page("Runs", body, wide=True, head=STYLE + SCRIPT))


def success_section(scored: dict[Path, dict]) -> str:
    """H@1 and counterfactual H@1 against closed-loop success, a chart for each world and pool; empty where no run has both."""
    groups, charts = {}, []
    for r in scored.values():
        groups.setdefault((family(r["env"]), r["protocol"]["pool"]), []).append(r)
    for (world, pool), runs in sorted(groups.items()):
        for label, key in {"H@1": "test/hits@1/", "counterfactual H@1": "test/cf_hits@1/"}.items():
            plots = {}
            for h in dict.fromkeys(h for r in runs for h in r["protocol"]["distinct"]):
                both = [r for r in runs if key + h in r["metrics"] and f"plan/success/{h}" in r["metrics"]]
                if both:
                    name = f"{h[1:]} step{'s' if h != 'h1' else ''}"
                    values = [(r["metrics"][key + h], r["metrics"][f"plan/success/{h}"]) for r in both]
                    plots[name] = [Point(r["run"], r["model"], r["loss"], *xy) for r, xy in zip(both, values)]
            if plots:
                title = f"{world}: success against {label}, pool {pool}"
                charts.append(f"<h3>{escape(title)}</h3>{scatter_chart(plots, label, 'success')}")
    return "".join([*charts, SCATTER_NOTE]) if charts else ""
