"""The page of results: which objectives and structures learn causes, read from the ledger alone.

For each world the figure, the table with intervals, what the sentences say, curves, settings, films of goals that were reached and
missed, all numbers as CSV, and any two rows side by side. Films need weights: they are drawn where a run is at hand, and kept beside
the ledger.
"""

import base64
import json
from html import escape
from itertools import combinations
from pathlib import Path

import numpy as np

from envs.problem import Problem
from envs.whole_files import write_whole
from eval.effort import claims
from eval.effort.captions import CLAIMS, ENDS, asked_by_pushes, caption, late, of_reading
from eval.effort.differences import difference
from eval.effort.figures import plots_of, rows_figure
from eval.effort.filled import FLOORS, Filled, in_order, seeds_of, tell_left_out, whole_of
from eval.effort.scaling import scaling_figure
from eval.effort.settings import MAIN, causes
from eval.effort.studies import Study, studies
from eval.effort.table import OF_ONE_WORLD, all_steps, curve_lines, drawn_worlds, lines, long_csv, mode_lines, read_lines, setting_lines
from eval.effort.worlds import TOLD, in_common, worlds_figure, worlds_lines
from eval.figures.charts import scatter_chart
from eval.figures.svg import inline_svg
from eval.pages.episode_gifs import END_MS, STEP_MS, episode, frames, plan_episodes
from eval.pages.html import gif, gif_image, page, table
from eval.pages.site import SCRIPT, STYLE, framed
from eval.runs import Run

BEYOND = 20.0  # percent by which H@1 is above what if, of a row that ranks and does not know
COMPARED = ("H@1", "what if", "what if, several", "goals")
INTRO = """<p><b>Does a world model know what its actions cause?</b> It is asked in three ways. <i>H@1</i>: after so many actions, is what
really happened nearest to the prediction, among what happened in thousands of other episodes? <i>What if</i>: of one state under
every possible action, is the true outcome of each nearest to what was predicted for it? <i>Goals</i>: how often greedy planning with
the model ends exactly where it should. All rows of a table trained equally long, or for as many updates, and had the same drawn
settings to choose from; but for the paper's hundred epochs, which have the paper's settings.</p>"""
WRAPPED = "<style>.said td { white-space: normal; vertical-align: top; } .said td:first-child { white-space: nowrap; }</style>"
COMPARE = """<script>
addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll("[data-compare]")) {
    const told = JSON.parse(box.querySelector("script").textContent);
    const [a, b] = box.querySelectorAll("select"), body = box.querySelector("tbody");
    const text = value => value === null ? "-" : value.toFixed(1);
    const fill = () => {
      body.replaceChildren();
      for (const [name, values] of Object.entries(told.scores)) {
        const [x, y] = [values[a.value], values[b.value]], row = body.insertRow();
        const turned = +a.value > +b.value, key = turned ? b.value + " " + a.value : a.value + " " + b.value;
        const apart = (told.apart[name] || {})[key], sign = turned ? -1 : 1;
        const ends = apart ? [apart[1] * sign, apart[2] * sign].sort((p, q) => p - q) : null;
        const gap = x === null || y === null ? "-" : text(x - y) + (ends ? ` [${text(ends[0])}, ${text(ends[1])}]` : "");
        for (const cell of [name, text(x), text(y), gap]) row.insertCell().textContent = cell;
        row.cells[0].className = "text";
      }
    };
    a.addEventListener("change", fill);
    b.addEventListener("change", fill);
    fill();
  }
});
</script>"""


def write_results(ledger: Path, runs_dir: Path, out: Path) -> Path:
    """<out>/index.html of all that the ledger holds of tables of equal effort. Raises Problem where it holds none."""
    main, sections, worlds = studies()[MAIN], {}, {}
    entered = (path.name for path in ledger.glob("*") if seeds_of(main, path.name, ledger))
    for env in sorted(entered, key=lambda env: (env not in main.envs, env)):  # that of the table first
        whole, wrong = _whole(main, env, ledger)
        tell_left_out(env, wrong)
        filled = [one for one in whole if one.entries]
        if filled:
            sections[env], worlds[env] = _section(filled, ledger, _films(filled, ledger, runs_dir)), filled
    if not sections:
        raise Problem(f"{ledger} holds no run of table causes; make some with: python eval/tables.py table=causes")
    body = framed("Causal World Models", "Which world models learn causes?", {"In short": INTRO} | _worlds(worlds) | sections)
    out.mkdir(parents=True, exist_ok=True)
    return write_whole(out / "index.html", page("Results", body, wide=True, head=STYLE + WRAPPED + SCRIPT + COMPARE))


def _whole(study: Study, env: str, ledger: Path) -> tuple[list[Filled], dict[str, Problem]]:
    """All rows and seeds of a study that the ledger has, and what is left out."""
    return whole_of(study, study.rows_of(None), env, {"ledger": str(ledger), "seeds": seeds_of(study, env, ledger)})


def _worlds(found: dict[str, list[Filled]]) -> dict[str, str]:
    """What every row knows in one world beside the others, where there is more than one."""
    worlds = {env: in_order(common) for env in causes()["compared"] if (common := in_common(found.get(env, [])))}
    if len(worlds) < 2:
        return {}
    drawing = f'<div class="scroll chart">{inline_svg(worlds_figure(worlds), "worlds")}</div>'
    return {"Worlds side by side": f"{drawing}{_folded('As numbers', *worlds_lines(worlds))}{_facts(TOLD)}"}


def _section(filled: list[Filled], ledger: Path, films: str) -> str:
    """Of one world."""
    env, last = filled[0].env, filled[0].study.horizons[-1]
    about = causes()["compared"].get(env)
    parts = [f"<p class=soft>{escape(about)}</p>" if about else "", _short(filled), _charts(filled), _table(*lines(filled)),
             _folded("At all steps", *all_steps(filled)), *_drawn(filled), _facts(caption(filled)), _download(filled),
             f"<h3>Read off latents{', and asked by pushes' if asked_by_pushes(filled) else ''}</h3>", _table(*read_lines(filled)),
             _facts(of_reading(filled)),
             "<h3>Two rows side by side</h3>", _compare(filled), films,
             "<h3>What is said, and what was found</h3>", f"<div class=said>{_table(*claims.lines(claims.check(filled)), text_columns=3)}</div>",
             _facts(CLAIMS)]  # fmt: skip
    if any(one.curve for one in filled):
        parts += [f"<h3>What if at {last} steps over the minutes of training</h3>", _curves(filled), _folded("As numbers", *curve_lines(filled))]
    parts.append(_folded("Chosen settings", *setting_lines(filled)))
    for other in studies().values():
        if other.name == MAIN:
            continue
        (varied, wrong), title = _whole(other, env, ledger), other.title.capitalize()
        tell_left_out(env, wrong)
        if elsewhere := [one for one in varied if any(one.reached_elsewhere(mode) for mode in other.modes)]:
            parts.append(f"<h3>{escape(title)}</h3>{_table(*mode_lines(elsewhere))}{_facts(caption(elsewhere))}")
        elif not other.main and (found := [one for one in varied if one.entries]):
            parts.append(f"<h3>{escape(title)}</h3>{_curves(found)}{_folded('As numbers', *lines(found))}"
                         f"{_folded('At all steps', *all_steps(found))}{_facts(caption(found))}")  # fmt: skip
    return "\n".join(parts)


def _drawn(filled: list[Filled]) -> list[str]:
    """Every drawn world by itself, and what to know of all."""
    found = [_folded(title.capitalize(), *there) for title, there in drawn_worlds(filled).items()]
    return [*found, _facts([f"a drawn world: {fact}" for fact in OF_ONE_WORLD])] if found else []


def _short(filled: list[Filled]) -> str:
    """What the figure shows: who knows, and what a ranking tells of it."""
    h = filled[0].study.horizons[-1]
    both = [(one.estimate("H@1", h), one.estimate("what if", h), one) for one in filled]
    both = [(x.mean, y.mean, one) for x, y, one in both if x and y]
    if not both:
        return "<p>No row has been scored yet.</p>"
    knowing = sorted((one for one in both if one[1] > claims.KNOWS), key=lambda one: -one[1])
    well = [(x, y, one) for x, y, one in both if x > claims.RANKS]
    counts = sorted({len(one.scores("what if", h)) for *_, one in both})
    seeds = f"{counts[0]} to {counts[-1]} seeds" if counts[1:] else f"{counts[0]} seed{'s' * (counts[0] > 1)}"
    less = sum(y <= claims.KNOWS for _, y, _ in well)
    empty = [one for _, y, one in well if y <= claims.KNOWS and one.above_floor("H@1", h) is False]
    copying = f", and {len(empty)} of these rank{'s' * (len(empty) == 1)} no better than copying the start{_named([one.label for one in empty])}" if empty else ""
    hides = "Ranking does not say which: " if less else ""
    ranks = f" {hides}<b>{len(well)}</b> rank above {claims.RANKS:g} %, of which <b>{less}</b> know{'s' * (less == 1)} less{copying}." if well else ""
    floors = [floor.mean for one in filled if (floor := one.estimate(FLOORS["what if"], h))]
    floor = f" (copying the start: {max(floors):.1f} at most)" if floors else ""
    return (f"<p>After {h} steps <b>{len(knowing)} of {len(both)}</b> rows, of {seeds} each, know more than {claims.KNOWS:g} % of what another action would "
            f"have done{floor}{_named([f'{one.label} ({y:.1f})' for _, y, one in knowing])}.{ranks}</p>")  # fmt: skip


def _named(labels: list[str]) -> str:
    """": a; b", or nothing where there is none."""
    return f": {escape('; '.join(labels))}" if labels else ""


def _charts(filled: list[Filled]) -> str:
    """All rows by their names, what if against H@1, and behind lines to open success against both."""
    main, rows = plots_of(filled, "H@1", "what if"), rows_figure(filled)
    html = f'<div class="scroll chart">{inline_svg(rows, filled[0].env)}</div>' if rows else ""
    html += scatter_chart(main, "H@1", "what if") if main else ""
    for x in ("H@1", "what if"):
        if plots := plots_of(filled, x, "goals"):
            html += f"<details><summary>Success against {escape(x)}</summary>{scatter_chart(plots, x, 'success')}</details>"
    return html


def _table(header: list[str], rows: list[list[str]], text_columns: int = 1) -> str:
    return table([escape(cell) for cell in header], [[escape(cell) for cell in row] for row in rows], text_columns=text_columns)


def _facts(facts: list[str]) -> str:
    """A caption."""
    return f"<ul class=soft>{''.join(f'<li>{escape(fact)}</li>' for fact in facts)}</ul>"


def _folded(title: str, header: list[str], rows: list[list[str]]) -> str:
    """Behind a line to open."""
    return f"<details><summary>{escape(title)}</summary>{_table(header, rows)}</details>"


def _download(filled: list[Filled]) -> str:
    data = base64.b64encode(long_csv(filled).encode()).decode()
    name = f"{filled[0].study.name}-{filled[0].env}.csv"
    return f'<p><a download="{name}" href="data:text/csv;base64,{data}">All numbers of every seed as CSV</a></p>'


def _curves(filled: list[Filled]) -> str:
    """What if over what a study varies, drawn; nothing where that would be a single point."""
    drawing = scaling_figure(filled)
    if drawing is None:
        return ""
    told = [ENDS, *late(filled)] if filled[0].study.curve else []
    note = f"<p class=soft>{escape('; '.join(told))}.</p>" if told else ""
    return f'<div class="scroll chart">{inline_svg(drawing, filled[0].study.name)}</div>{note}'


def _compare(filled: list[Filled]) -> str:
    """Two menus and a table that a script fills: scores of both, their difference and its paired 95 % interval."""
    horizons, scores, apart = filled[0].study.horizons, {}, {}
    for name in COMPARED:
        for h in horizons:
            found = [one.estimate(name, h) for one in filled]
            title = f"{name} {h}"
            scores[title] = [None if one is None else round(one.mean, 2) for one in found]
            if name != "goals":
                pairs = {f"{a} {b}": difference(filled[a], filled[b], name, h) for a, b in combinations(range(len(filled)), 2)
                         if found[a] and found[b]}  # fmt: skip
                apart[title] = {key: [round(value, 2) for value in pair[:3]] for key, pair in pairs.items() if pair}
    told = json.dumps({"scores": scores, "apart": apart}).replace("<", "\\u003c")
    menu = "".join(f'<option value="{i}"{{}}>{escape(one.label)}</option>' for i, one in enumerate(filled))
    second = menu.replace("{}", "", 1).replace("{}", " selected", 1).replace("{}", "")
    return (
        f'<div data-compare><script type="application/json">{told}</script><p><select aria-label="first row">{menu.replace("{}", "")}</select> '
        f'against <select aria-label="second row">{second}</select></p><div class="scroll"><table><thead><tr><th class=text>steps</th>'
        f"<th>first</th><th>second</th><th>first - second [95 %]</th></tr></thead><tbody></tbody></table></div></div>"
    )


def _films(filled: list[Filled], ledger: Path, runs_dir: Path) -> str:
    """Of the row that knows most, and of the one that ranks furthest beyond what it knows: a goal that was reached, and one that was missed."""
    h = filled[0].study.horizons[-1]
    known = {one.label: (one.estimate("H@1", h), one.estimate("what if", h), one) for one in filled}
    known = {label: (x.mean, y.mean, one) for label, (x, y, one) in known.items() if x and y}
    if not known:
        return ""
    chosen = {max(known, key=lambda label: known[label][1]): "knows most"}
    beyond = {label: x - y for label, (x, y, one) in known.items() if y < claims.KNOWS and one.above_floor("H@1", h) is not False}
    if beyond and max(beyond.values()) > BEYOND:
        chosen |= {max(beyond, key=beyond.get): "ranks, and does not know"}
    parts = []
    for label, why in chosen.items():
        one, figures = known[label][2], ""
        folder = ledger / "films" / one.env
        for kind, made in (_kept_films(one, folder) or _drawn_films(one, folder, runs_dir)).items():
            figures += (f'<figure class=gif><figcaption><span class="tag{"" if kind == "reached" else " wrong"}">{kind}</span></figcaption>'
                        f'<div class="heads soft"><span>now</span><span>goal</span><span>expected next</span></div>'
                        f"{gif_image(made, f'{label}: a goal that was {kind}')}</figure>")  # fmt: skip
        if figures:
            parts.append(f"<h3>{escape(label)}: {why}</h3><div class=gifs>{figures}</div>")
    return "".join(parts)


def _kept_films(one: Filled, folder: Path) -> dict[str, bytes]:
    paths = [(kind, folder / f"{entry['run']}-{kind}.gif") for entry in one.entries.values() for kind in ("reached", "missed")]
    return {kind: path.read_bytes() for kind, path in reversed(paths) if path.exists()}


def _drawn_films(one: Filled, folder: Path, runs_dir: Path) -> dict[str, bytes]:
    """Of the first seed whose weights are at hand; none otherwise. They are kept."""
    at_hand = [runs_dir / entry["run"] for entry in one.entries.values() if (runs_dir / entry["run"] / "checkpoints" / "model.ckpt").exists()]
    if not at_hand:
        return {}
    run = Run.open(at_hand[0])
    planned = plan_episodes(run.model, run.world)
    reached = run.world.solved(planned.boards[-1], planned.goal)
    found, firsts = {}, {"reached": np.flatnonzero(reached), "missed": np.flatnonzero(~reached)}
    folder.mkdir(parents=True, exist_ok=True)
    for kind, numbers in firsts.items():
        if len(numbers):
            found[kind] = gif(frames(episode(run.model, run.world, planned, int(numbers[0]))), STEP_MS, END_MS)
            write_whole(folder / f"{at_hand[0].name}-{kind}.gif", found[kind])
    return found
