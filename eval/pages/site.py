"""The site over all runs: one self-contained page with a menu, the paper's tables, charts, graphs, GIFs, and every run."""

from html import escape
from pathlib import Path

from envs.problem import Problem
from envs.whole_files import write_whole
from eval.figures.charts import Point, scatter_chart
from eval.pages.episode_gifs import gifs_section
from eval.pages.graphs import graph_gallery
from eval.pages.html import page
from eval.pages.overview import agents_section, family, in_order, overview_section, runs_section, seeds_section
from eval.pages.paper_section import table_sections
from eval.runs import is_agent, read_results, run_folders

STYLE = """<style>
html { scroll-behavior: smooth; scroll-padding-top: 3.2rem; }
main.wide { max-width: 92rem; display: grid; grid-template-columns: 10rem minmax(0, 1fr); gap: 0 1.6rem; align-items: start; }
nav { position: sticky; top: 1.5rem; display: flex; flex-direction: column; gap: .1rem; font-size: .92rem; }
nav b { margin-bottom: .5rem; }
nav a { color: var(--soft); text-decoration: none; padding: .22rem 0; }
nav a:hover, nav a:focus { color: var(--ink); }
article > section { margin-bottom: 3rem; }
article > section > h2 { margin-top: 0; font-size: 1.25rem; }
h3 { font-size: 1rem; font-weight: 600; margin: 1.8rem 0 .4rem; }
small { color: var(--soft); display: block; }
article th { white-space: normal; vertical-align: bottom; position: sticky; top: 0;
  background: var(--paper); }
article th, article td { padding-left: .65rem; font-size: .86rem; }
article .scroll { overflow: auto; }
.tall .scroll { max-height: 40rem; }
.graphs { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(28rem, 100%), 1fr)); gap: 0 2rem; }
figure svg, .chart svg { display: block; width: 100%; height: auto; }
.chart svg { max-width: 66rem; min-width: 40rem; }
figure svg { max-width: 50rem; min-width: 26rem; }
svg text { font-family: inherit !important; }
th[aria-sort] { cursor: pointer; }
th[aria-sort=ascending]::after { content: " \\2191"; }
th[aria-sort=descending]::after { content: " \\2193"; }
td:first-child a { overflow-wrap: anywhere; }
input[type=search] { width: 100%; max-width: 24rem; font: inherit; padding: .4rem .7rem; color: var(--ink);
  background: transparent; border: 1px solid var(--line); border-radius: .5rem; }
.gifs { display: flex; flex-wrap: wrap; gap: 1rem 2rem; }
.gif { max-width: 30rem; width: 100%; }
.gif img { width: 100%; display: block; border-radius: 6px; image-rendering: pixelated; }
@media (max-width: 52rem) {
  main.wide { display: block; padding-top: 0; }
  nav { top: 0; z-index: 1; flex-direction: row; gap: 1.1rem; overflow-x: auto; background: var(--paper); padding: .7rem 0;
    margin-bottom: 1rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
  nav { scrollbar-width: none; }
  article th { white-space: nowrap; }
  nav b { display: none; }
  td:first-child { white-space: normal; min-width: 9rem; position: sticky; left: 0; background: var(--paper); } }
</style>"""
SCATTER_NOTE = """<p class="soft">One point for each run, pointing at it tells its name; success of greedy planning with the
model, true frame every step (eval/plan.py). Spearman's rank correlation over the points of a plot, ties by average ranks;
envs, budgets and drawn worlds are mixed, so it says whether the orders agree, not why.</p>"""
SCRIPT = """<script>
addEventListener("DOMContentLoaded", () => {
  const value = (row, i) => row.cells[i].textContent.trim();
  for (const table of document.querySelectorAll("article table")) {
    const heads = [...table.rows[0].cells];
    const sort = (head, i) => {
      const up = head.getAttribute("aria-sort") === "descending";  // the best number first, then the other way round
      heads.forEach(h => h.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...table.rows].slice(1).filter(row => !row.classList.contains("bound"));
      const stay = [...table.rows].slice(1).filter(row => row.classList.contains("bound"));
      const number = text => parseFloat(text.replace(/,/g, ""));
      const lacks = text => /^[-–()\\s]*$/.test(text);
      const words = rows.some(row => !lacks(value(row, i)) && isNaN(number(value(row, i))));
      rows.sort((a, b) => {
        const [x, y] = [value(a, i), value(b, i)];
        if (words) return up ? y.localeCompare(x) : x.localeCompare(y);
        const [p, q] = [number(x), number(y)];
        if (isNaN(p) || isNaN(q)) return isNaN(p) - isNaN(q);  // no number: below all others
        return up ? p - q : q - p;
      });
      [...rows, ...stay].forEach(row => row.parentNode.append(row));
    };
    heads.forEach((head, i) => {
      head.setAttribute("aria-sort", "none");
      head.tabIndex = 0;
      head.addEventListener("click", () => sort(head, i));
      head.addEventListener("keydown", event => { if (event.key === "Enter") sort(head, i); });
    });
  }
  for (const box of document.querySelectorAll("input[data-finds]")) {
    const rows = [...document.querySelectorAll("#" + box.dataset.finds + " tr")].slice(1);
    box.addEventListener("input", () => {
      const words = box.value.toLowerCase().split(/\\s+/);
      rows.forEach(row => { row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word)); });
    });
  }
});
</script>"""


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
    return write_whole(runs_dir / "index.html", page("Runs", framed("Causal World Models", f"{len(scored)} scored run{'s' if len(scored) != 1 else ''}", sections), wide=True, head=STYLE + SCRIPT))


def framed(house: str, title: str, sections: dict[str, str]) -> str:
    """The menu and the sections that hold something."""
    filled = {"".join(c if c.isalnum() else "-" for c in name.lower()): (name, html) for name, html in sections.items() if html}
    menu = "".join(f'<a href="#{key}">{escape(name)}</a>' for key, (name, _) in filled.items())
    body = "".join(f'<section id="{key}"><h2>{escape(name)}</h2>{html}</section>\n' for key, (name, html) in filled.items())
    return f"<nav><b>{escape(house)}</b>{menu}</nav>\n<article><h1>{escape(title)}</h1>\n{body}</article>"


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
