"""The text of tables of equal effort: scores, curves, settings, goals on other boards, and one line for each number."""

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from statistics import mean

from eval.effort import claims
from eval.effort.captions import (
    ABOVE,
    caption,
    of_claims,
    of_curve,
    of_places,
    of_reading,
    of_same_chance,
    of_settings,
    of_structure,
)
from eval.effort.cells import MISSING, Table, cell, changed_by, fewer, kept_at, low, mean_cell, mean_least_most, once
from eval.effort.filled import END, Filled, Scored
from eval.effort.intervals import Estimate
from eval.effort.ledger_rows import asked_by_pushes, chosen_there, in_order
from eval.effort.read_off import places, places_lines, read_lines, same_chance_lines, structure_lines
from eval.effort.references import Beside, beside
from eval.effort.score_names import AT_ONCE, CURVES, FLOORS, LIKELIEST, PLACES, SAME_CHANCE, SHOWN, WEIGHTS
from eval.effort.settings import MAIN, causes, worth
from eval.runs.final import FINAL, SELECT

CLAIMED = "claims"  # the title of the last table
STRUCTURE = "which slot holds what", "who pushes whom, and which slot holds what"  # without pushes, with them
CSV_HEADER = ("env", "row", "metric", "steps", "minutes", "seed", "value")
OF_ONE_WORLD = [
    "one training of each row, with no interval",
    "smallest gap: of two states that differ in one object, percent of a random pair",
]


def lines(filled: Sequence[Filled]) -> Table:
    """Scores at the last horizon; rows best first by what if, of a study with cases in the order of its rows."""
    last = filled[0].study.horizons[-1]
    ranked, known, reach, number = (beside(filled, score, last) for score in ("H@1", "what if", "goals", WEIGHTS))
    ordered = asked_by_pushes(filled)

    def cells(one: Filled) -> dict[str, str]:
        goals = {_headed(f"goals {last}", reach): _within(cell(one, "goals", last), one, reach)}
        return {
            "": one.label,
            _floor_headed(f"H@1 {last}", ranked): _floored(one, "H@1", last, ranked),
            _floor_headed(f"what if {last}", known): _floored(one, "what if", last, known),
            **(goals if one.study.goals else {}),
            **({_headed(WEIGHTS, number): _within(once(one, WEIGHTS), one, number)} if ordered else {}),
            f"{SELECT} - {FINAL}": MISSING if one.fell is None else f"{one.fell:+.2f}",
            "updates": _updates(one),
            "kept at": kept_at(one),
            "parameters": MISSING if one.parameters is None else f"{one.parameters:,}",
            "told": ", ".join(one.told),
            "seeds": str(len(one.scores("H@1", last))) + (f", {len(one.diverged)} diverged" if one.diverged else ""),
        }

    rows = [cells(one) for one in in_order(filled)]
    shown = [name for name in rows[0] if any(row[name] != MISSING for row in rows)]
    return shown, [[row[name] for name in shown] for row in rows]


def _floor_headed(text: str, found: Sequence[Beside]) -> str:
    return f"{text} ({'; '.join(['floor', *(one.head for one in found)])})"


def _headed(text: str, found: Sequence[Beside]) -> str:
    return f"{text} ({'; '.join(one.head for one in found)})" if found else text


def _floored(one: Filled, name: str, horizon: int, found: Sequence[Beside]) -> str:
    """A score with its own floor and what else stands beside it in brackets, and the mark where it is not above the floor."""
    bracket = "; ".join([mean_cell(one, FLOORS[name], horizon), *_own(one, found)])
    return f"{cell(one, name, horizon)} ({bracket}){low(one, name, horizon)}"


def _within(text: str, one: Filled, found: Sequence[Beside]) -> str:
    return " ".join([text, *(f"({own})" for own in _own(one, found))])


def _own(one: Filled, found: Sequence[Beside]) -> list[str]:
    """The references of this row, where rows do not share one."""
    return [f"{each.own[one.label]:.1f}" for each in found if one.label in each.own]


def _updates(one: Filled) -> str:
    """Training steps, mean over seeds, least and most."""
    done = [sum(found.values()) for found in one.updates.values()]
    return mean_least_most(done) if done else MISSING


def all_steps(filled: Sequence[Filled]) -> Table:
    """Scores of every row that has some, a line for each horizon; rows as in `lines`."""
    texts = {name: mean_cell if name in FLOORS.values() else cell for name in SHOWN if name != "goals" or filled[0].study.goals}
    every = [
        (one, h, [text(one, name, h) for name, text in texts.items()]) for one in in_order(filled) for h in one.study.horizons
    ]
    return ["", "steps", *texts], [[one.label, str(h), *cells] for one, h, cells in every if set(cells) != {MISSING}]


def drawn_worlds(filled: Sequence[Filled]) -> dict[str, Table]:
    """Title -> scores in one drawn world, where each seed has its own:
    means over seeds mix worlds, and other ones where a row lacks a seed."""
    if not filled[0].own_worlds:
        return {}
    first = causes()["worlds"][filled[0].env]["table"]
    return {
        f"drawn world {first + seed}": _drawn_lines(filled, seed)
        for seed in sorted({seed for one in filled for seed in one.entries})
    }


def _drawn_lines(filled: Sequence[Filled], seed: int) -> Table:
    here = in_order([replace(one, entries={seed: one.entries[seed]}) for one in filled if seed in one.entries])
    last = here[0].study.horizons[-1]
    ranked, reach = (beside(here, score, last) for score in ("H@1", "goals"))
    known = {h: beside(here, "what if", h) for h in here[0].study.horizons}
    header = ["", *(_floor_headed(f"what if {h}", of) for h, of in known.items()), _floor_headed(f"H@1 {last}", ranked),
              _headed(f"goals {last}", reach), "smallest gap", "updates"]  # fmt: skip
    rows = [[one.label, *(_floored(one, "what if", h, of) for h, of in known.items()), _floored(one, "H@1", last, ranked),
             _within(cell(one, "goals", last), one, reach), once(one, "smallest gap"), _updates(one)]
            for one in here]  # fmt: skip
    return header, rows


def curves(filled: Sequence[Filled]) -> dict[str, Table]:
    """Title -> a score at the last horizon after so many rounds; without a line where no round has it."""
    return {f"{name} at {filled[0].study.horizons[-1]} steps after (minutes)": _curve_lines(filled, name) for name in CURVES}


def _curve_lines(filled: Sequence[Filled], name: str) -> Table:
    """Mean over the seeds that have the score, with the minutes that were used; where some lack it, of how many it is."""
    study, rows = filled[0].study, []
    ends = [*study.curve, END]
    for one in filled:
        points = one.curve.get((name, study.horizons[-1]), [])
        of_end = [[point for point in points if point.after == end] for end in ends]
        if any(of_end[:-1]):
            rows.append([one.label, *(_after(one, at) for at in of_end)])
    return ["", *(end if end == END else f"round {end}" for end in ends)], rows


def _after(one: Filled, at: Sequence[Scored]) -> str:
    if not at:
        return MISSING
    return f"{mean(p.value for p in at):.1f} ({mean(p.minutes for p in at):.1f})" + fewer(one, {p.seed for p in at})


def setting_lines(filled: Sequence[Filled]) -> Table:
    """The chosen setting of every row, its worth and the other finalists', and what the draws reached after a few minutes."""
    keys, rows = list(causes()["space"]), []
    falls = [f"worth - {FINAL}"] * chosen_there(filled)
    for one in {one.row.name: one for one in filled if one.chosen}.values():
        tried, draw = one.chosen["tried"], one.chosen["chosen"]
        worths = [each["worth"] for each in tried if each["worth"] is not None]
        floors = [each.get("copying") for each in tried if each["worth"] is not None]  # choices of before do not say
        copying = MISSING if None in floors else str(sum(worth <= floor + ABOVE for worth, floor in zip(worths, floors)))
        told = [_strength(one) if key == "strength" else f"{one.chosen['setting'][key]:g}" for key in keys]
        others = [each["worth_at_end"] for each in tried if each["draw"] != draw and "worth_at_end" in each]
        rows.append([one.row.name, *told, str(draw), f"{tried[draw]['worth_at_end']:.1f}", *(_fell(one) for _ in falls),
                     " ".join("diverged" if other is None else f"{other:.1f}" for other in others) or MISSING,
                     f"{tried[draw]['worth']:.1f}", f"{max(worths):.1f}", f"{min(worths):.1f}", copying,
                     str(len(tried) - len(worths))])  # fmt: skip
    minutes = causes()["tune"]["minutes"]
    return ["", *(key.replace("_", " ") for key in keys), "draw", "worth", *falls, "other finalist",
            *(f"{what}, {minutes} min" for what in ("worth", "best draw", "worst draw", "copying")),
            "diverged"], rows  # fmt: skip


def _fell(one: Filled) -> str:
    """Worth less the same mean on `final`, over seeds."""
    # of other seeds some probe may have been asked by hand, and nothing else
    known = one.scores("what if", one.study.horizons[-1])
    there = [worth(one.entries[seed]["scores"][FINAL]["metrics"]) for seed in known]
    return f"{one.chosen['tried'][one.chosen['chosen']]['worth_at_end'] - mean(there):+.1f}" if there else MISSING


def _strength(one: Filled) -> str:
    """What a setting says of the objective's own number."""
    own = causes()["strengths"].get(one.row.loss)
    told = dict(override.split("=", 1) for override in one.chosen["overrides"])
    return MISSING if own is None else f"{own['key'].rpartition('.')[2].replace('_', ' ')} {told[own['key']]}"


def mode_lines(filled: Sequence[Filled]) -> Table:
    """Success at the last horizon on boards as in training and on others, and by how much it falls."""
    study, rows = filled[0].study, []
    for one in filled:
        usual = one.scores("goals", study.horizons[-1])
        found = [one.goals_apart(mode) for mode in study.modes]
        text = [Estimate.over_seeds(usual).text() if usual else MISSING]
        for there in found:
            both = {seed: there[seed] - usual[seed] for seed in sorted(usual.keys() & there.keys())}
            fell = changed_by(Estimate.over_seeds(both)) if both else ""
            text.append(Estimate.over_seeds(there).text() + fell + fewer(one, there) if there else MISSING)
        rows.append(
            [one.label, *text, *(once(one, WEIGHTS, *splits) for splits in ((), *((split,) for split in study.orders)))]
        )
    order = [WEIGHTS, *(f"{WEIGHTS}, {split}" for split in study.orders)]
    return ["", "as in training", *study.modes, *order], rows


def tables(filled: Sequence[Filled]) -> dict[str, tuple[Table, list[str]]]:
    """Title -> what a study shows, and what to know of it; of scores, rows that have a run. A table without a line is none."""
    study, ran = filled[0].study, [one for one in filled if one.entries] or filled
    told = caption(filled)
    if study.modes:
        there = [one for one in filled if any(one.goals_apart(mode) for mode in study.modes)] or filled
        return {study.title: (mode_lines(there), told)}
    found = {study.title: (lines(ran), told), "at all steps": (all_steps(ran), [])}
    if study.has_main_runs:
        found |= {title: (table, OF_ONE_WORLD) for title, table in drawn_worlds(ran).items()}
        found["read off latents after 10 steps"] = read_lines(ran), of_reading(ran)
        found["places of all objects, read off predictions"] = places_lines(ran), of_places(ran)
        found["true counterfactuals"] = same_chance_lines(ran), of_same_chance()
        found[STRUCTURE[asked_by_pushes(ran)]] = structure_lines(ran), of_structure(ran)
    if study.curve:
        found |= {title: (table, of_curve(filled)) for title, table in curves(ran).items()}
    if study.tuned:
        found["chosen settings"] = setting_lines(filled), of_settings(filled)
    of_paper = not study.tuned and any(one.entries for one in filled)  # under its own settings
    if study.has_main_runs or of_paper:
        found[CLAIMED] = claims.lines(claims.check(filled)), of_claims(filled)
    return {title: (table, told) for title, (table, told) in found.items() if table[1]}


def waiting(filled: Sequence[Filled]) -> str:
    """Which rows are left out of scores."""
    names = [one.label for one in filled if not one.entries]
    why = f", or none that table {MAIN} lacks" if filled[0].study.trains_missing_seeds else ""
    return f"no run yet{why}: {'; '.join(names)}" if names else ""


def long_csv(filled: Sequence[Filled]) -> str:
    """One line for each number, of every seed; rounds by their minutes."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(CSV_HEADER)
    for one in filled:
        where, last = (one.env, one.label), one.study.horizons[-1]
        for name in SHOWN:
            for h in one.study.horizons:
                out.writerows([*where, name, h, END, seed, value] for seed, value in one.scores(name, h).items())
        for name in AT_ONCE:
            out.writerows([*where, name, "", END, seed, value] for seed, value in one.at_once(name).items())
        for name, h in product(PLACES, one.study.horizons):
            out.writerows([*where, name, h, END, seed, value] for seed, value in places(one, name, h).items())
        for name, key in SAME_CHANCE.items():
            out.writerows([*where, f"same chance, {name}", "", END, seed, value] for seed, value in one.number(key).items())
        for h in one.study.horizons:
            out.writerows(
                [*where, "what if, likeliest", h, END, seed, value] for seed, value in one.number(LIKELIEST.format(h)).items()
            )
        for mode in (*one.study.modes, *[FINAL] * one.study.asks_kept_tasks):
            out.writerows(
                [*where, f"goals, {mode}", last, END, seed, value] for seed, value in one.goals_apart(mode).items()
            )
        for (name, h), points in one.curve.items():
            out.writerows(
                [*where, name, h, f"{point.minutes:.2f}", point.seed, point.value] for point in points if point.after != END
            )
    return text.getvalue()
