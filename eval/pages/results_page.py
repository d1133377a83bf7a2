"""The page of results: which objectives and structures learn causes, read from the ledger alone.

For each world the figure, the table with intervals, what the sentences say, curves, settings, gifs of goals that were reached
and missed, all numbers as CSV, and any two rows side by side.
"""

import base64
from html import escape
from pathlib import Path

from envs.problem import Problem
from envs.whole_files import write_whole
from eval.effort import claims
from eval.effort.captions import caption, of_claims, of_curve, of_places, of_reading, of_same_chance, of_settings, of_structure
from eval.effort.figures import plots_of, rows_figure
from eval.effort.filled import Filled
from eval.effort.intervals import Estimate
from eval.effort.ledger_rows import all_of, asked_by_pushes, seeds_of, tell_left_out
from eval.effort.read_off import places_lines, read_lines, same_chance_lines, structure_lines
from eval.effort.scaling import scaling_figure
from eval.effort.score_names import FLOORS
from eval.effort.settings import MAIN, causes
from eval.effort.studies import studies
from eval.effort.table import (
    OF_ONE_WORLD,
    STRUCTURE,
    all_steps,
    curves,
    drawn_worlds,
    lines,
    long_csv,
    mode_lines,
    setting_lines,
)
from eval.effort.worlds import FACTS, side_by_side, worlds_figure, worlds_lines
from eval.figures.row_scatter import row_chart
from eval.figures.svg import inline_svg
from eval.pages.frame import SCRIPT, STYLE, framed
from eval.pages.goal_gifs import goal_gifs
from eval.pages.html import page, table
from eval.pages.row_pairs import COMPARE, compare_rows

INTRO = """<p><b>Does a world model know what its actions cause?</b> It is asked in three ways. <i>H@1</i>: after so many
actions, is what really happened nearest to the prediction, among what happened in thousands of other episodes? <i>What if</i>:
of one state under every possible action, is the true outcome of each nearest to what was predicted for it? <i>Goals</i>: how
often greedy planning with the model ends exactly where it should. All rows of a table trained equally long, or for as many
updates, and had the same drawn settings to choose from; but for the paper's hundred epochs, which have the paper's
settings.</p>"""
WRAPPED = "<style>.said td { white-space: normal; vertical-align: top; } .said td:first-child { white-space: nowrap; }</style>"


def write_results(ledger: Path, runs_dir: Path, out: Path, gifs: bool = True) -> Path:
    """<out>/index.html of all that the ledger holds of tables of equal effort. Raises Problem where it holds none.

    gifs: of goals, for which a model may be loaded.
    """
    main, sections, worlds = studies()[MAIN], {}, {}
    entered = (path.name for path in ledger.glob("*") if seeds_of(main, path.name, ledger))
    for env in sorted(entered, key=lambda env: (env not in main.envs, env)):  # that of the table first
        whole, wrong = all_of(main, env, ledger)
        tell_left_out(env, wrong)
        filled = [one for one in whole if one.entries]
        if filled:
            shown = goal_gifs(filled, ledger, runs_dir) if gifs else ""
            sections[env], worlds[env] = _section(filled, ledger, shown), filled
    if not sections:
        raise Problem(f"{ledger} holds no run of table causes; make some with: python eval/tables.py table=causes")
    body = framed(
        "Causal World Models",
        "Which world models learn causes?",
        {"In short": INTRO + _short(next(iter(worlds.values())))} | _worlds(worlds) | sections,
    )
    out.mkdir(parents=True, exist_ok=True)
    return write_whole(out / "index.html", page("Results", body, wide=True, head=STYLE + WRAPPED + SCRIPT + COMPARE))


def _worlds(found: dict[str, list[Filled]]) -> dict[str, str]:
    """What every row knows in one world beside the others, where there is more than one."""
    worlds = side_by_side(found)
    if len(worlds) < 2:
        return {}
    drawing = f'<div class="scroll chart">{inline_svg(worlds_figure(worlds), "worlds")}</div>'
    return {"Worlds side by side": f"{drawing}{_folded('As numbers', *worlds_lines(worlds))}{_facts(FACTS)}"}


def _section(filled: list[Filled], ledger: Path, gifs: str) -> str:
    """The section of one world."""
    env, last = filled[0].env, filled[0].study.horizons[-1]
    about = causes()["compared"].get(env)
    parts = [f"<p class=soft>{escape(about)}</p>" if about else "", _short(filled), _charts(filled), _table(*lines(filled)),
             _folded("At all steps", *all_steps(filled)), *_drawn(filled), _facts(caption(filled)), _download(filled),
             "<h3>Read off latents</h3>", _table(*read_lines(filled)), _facts(of_reading(filled)), *_places(filled),
             *_same_chance(filled),
             f"<h3>{STRUCTURE[asked_by_pushes(filled)].capitalize()}</h3>", _table(*structure_lines(filled)),
             _facts(of_structure(filled)), "<h3>Two rows side by side</h3>", compare_rows(filled), gifs,
             "<h3>What is said, and what was found</h3>",
             f"<div class=said>{_table(*claims.lines(claims.check(filled)), text_columns=3)}</div>",
             _facts(of_claims(filled))]  # fmt: skip
    if any(entry["rounds"] for one in filled for entry in one.entries.values()):
        parts += [f"<h3>What if at {last} steps over the minutes of training</h3>", _curves(filled),
                  *(_folded(title.capitalize(), *numbers)
                    for title, numbers in curves(filled).items() if numbers[1])]  # fmt: skip
    parts += [_folded("Chosen settings", *setting_lines(filled)), _facts(of_settings(filled))]
    for other in studies().values():
        if other.name == MAIN:
            continue
        (varied, wrong), title = all_of(other, env, ledger), other.title.capitalize()
        tell_left_out(env, wrong)
        if elsewhere := [one for one in varied if any(one.goals_apart(mode) for mode in other.modes)]:
            parts.append(f"<h3>{escape(title)}</h3>{_table(*mode_lines(elsewhere))}{_facts(caption(elsewhere))}")
        elif not other.has_main_runs and (found := [one for one in varied if one.entries]):
            parts.append(f"<h3>{escape(title)}</h3>{_curves(found)}{_folded('As numbers', *lines(found))}"
                         f"{_folded('At all steps', *all_steps(found))}{_facts(caption(found))}")  # fmt: skip
    return "\n".join(parts)


def _drawn(filled: list[Filled]) -> list[str]:
    """Every drawn world by itself, and what to know of all."""
    found = [_folded(title.capitalize(), *there) for title, there in drawn_worlds(filled).items()]
    return [*found, _facts([f"a drawn world: {fact}" for fact in OF_ONE_WORLD])] if found else []


def _places(filled: list[Filled]) -> list[str]:
    """What is read of places alone, where it was asked for."""
    header, rows = places_lines(filled)
    return [_folded("Places of all objects", header, rows), _facts(of_places(filled))] if rows else []


def _same_chance(filled: list[Filled]) -> list[str]:
    """True counterfactuals, where they were asked for."""
    header, rows = same_chance_lines(filled)
    return ["<h3>True counterfactuals</h3>", _table(header, rows), _facts(of_same_chance())] if rows else []


def _short(filled: list[Filled]) -> str:
    """What the figure shows: who knows under every seed, and what a ranking tells of it; where every seed is a drawn world, no
    row is said to know, since copying the start may have nearly as much."""
    if filled[0].own_worlds:
        return "<p class=soft>Every seed is a drawn world of its own; what rows have in each stands below.</p>"
    h = filled[0].study.horizons[-1]
    both = [(one.estimate("H@1", h), one.estimate("what if", h), one) for one in filled]
    both = [(x.mean, y, one) for x, y, one in both if x and y]
    if not both:
        return "<p>No row has been scored yet.</p>"
    best = sorted(both, key=lambda one: -one[1].mean)
    knowing = [one for one in best if min(one[1].values.values()) > claims.KNOWS]
    undecided = [one for one in best if one not in knowing and one[1].mean > claims.KNOWS]
    counts = sorted({len(y.values) for _, y, _ in both})
    seeds = f"{counts[0]} to {counts[-1]} seeds" if counts[1:] else f"{counts[0]} seed{'s' * (counts[0] > 1)}"
    floors = [floor.mean for one in filled if (floor := one.estimate(FLOORS["what if"], h))]
    floor = f" (copying the start: {max(floors):.1f} at most)" if floors else ""
    mean_alone = f" In the mean of their seeds alone: {_scores_of(undecided)}." if undecided else ""
    return (f"<p>After {h} steps of <i>{escape(filled[0].env)}</i> <b>{len(knowing)} of {len(both)}</b> rows, of {seeds} each, "
            f"know more than {claims.KNOWS:g} % of what another action would have done under every seed{floor}"
            f"{': ' * bool(knowing)}{_scores_of(knowing)}.{mean_alone}{_ranking(both, h)}</p>")  # fmt: skip


def _ranking(both: list[tuple[float, Estimate, Filled]], horizon: int) -> str:
    """How many rank well, and how many of these know less, in the mean of their seeds; nothing where none does."""
    well = [(y.mean, one) for x, y, one in both if x > claims.RANKS]
    if not well:
        return ""
    less = [one for known, one in well if known <= claims.KNOWS]
    empty = [one.label for one in less if one.above_floor("H@1", horizon) is False]
    hides, know = "Ranking does not say which: " if less else "", f"know{'s' * (len(less) == 1)}"
    told = f" {hides}<b>{len(well)}</b> rank above {claims.RANKS:g} %, of which <b>{len(less)}</b> {know} less"
    if empty:
        named = escape("; ".join(empty))
        told += f", and {len(empty)} of these rank{'s' * (len(empty) == 1)} no better than copying the start: {named}"
    return f"{told}."


def _scores_of(rows: list[tuple[float, Estimate, Filled]]) -> str:
    """Rows by name, each with its `what if`."""
    return escape("; ".join(f"{one.label} ({y.mean:.1f})" for _, y, one in rows))


def _charts(filled: list[Filled]) -> str:
    """All rows by their names, what if against H@1, and behind lines to open success against both."""
    main, rows = plots_of(filled, "H@1", "what if"), rows_figure(filled)
    html = f'<div class="scroll chart">{inline_svg(rows, filled[0].env)}</div>' if rows else ""
    html += row_chart(main, "H@1", "what if") if main else ""
    for x in ("H@1", "what if"):
        if plots := plots_of(filled, x, "goals"):
            html += f"<details><summary>Success against {escape(x)}</summary>{row_chart(plots, x, 'success')}</details>"
    return html


def _table(header: list[str], rows: list[list[str]], text_columns: int = 1) -> str:
    return table([escape(cell) for cell in header], [[escape(cell) for cell in row] for row in rows], text_columns=text_columns)


def _facts(facts: list[str]) -> str:
    """A caption."""
    return f"<ul class=soft>{''.join(f'<li>{escape(fact)}</li>' for fact in facts)}</ul>"


def _folded(title: str, header: list[str], rows: list[list[str]]) -> str:
    """A table that opens at a click on its title."""
    return f"<details><summary>{escape(title)}</summary>{_table(header, rows)}</details>"


def _download(filled: list[Filled]) -> str:
    data = base64.b64encode(long_csv(filled).encode()).decode()
    name = escape(f"{filled[0].study.name}-{filled[0].env}.csv")
    return f'<p><a download="{name}" href="data:text/csv;base64,{data}">Scores of every seed as CSV</a></p>'


def _curves(filled: list[Filled]) -> str:
    """What if over what a study varies, drawn; nothing where that would be a single point."""
    drawing = scaling_figure(filled)
    if drawing is None:
        return ""
    note = _facts(of_curve(filled)) if filled[0].study.curve else ""
    return f'<div class="scroll chart">{inline_svg(drawing, filled[0].study.name)}</div>{note}'
