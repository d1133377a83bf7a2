"""The text of tables of equal effort: scores, curves, settings, goals on other boards, captions, and one line for each number."""

import csv
import io
from collections.abc import Sequence
from statistics import mean

from eval.effort import claims
from eval.effort.filled import AT_ONCE, END, FLOORS, SHOWN, Filled, in_order
from eval.effort.intervals import Estimate
from eval.effort.settings import MAIN, causes
from eval.effort.studies import Study
from eval.runs.ledger import FINAL, SELECT

CURVE = "what if"
CSV_HEADER = ("env", "row", "metric", "steps", "minutes", "seed", "value")
MISSING = "-"
Table = tuple[list[str], list[list[str]]]  # header and rows


def lines(filled: Sequence[Filled]) -> Table:
    """Scores at the last horizon; rows best first by what if, of a study with cases in the order of its rows."""
    last = filled[0].study.horizons[-1]
    header = ["", f"H@1 {last} (floor)", f"what if {last} (floor)", f"goals {last}", *AT_ONCE, f"{SELECT} - {FINAL}", "updates", "told", "seeds"]
    rows = []
    for one in in_order(filled):
        numbers = {name: one.number(key) for name, key in AT_ONCE.items()}
        alone = [Estimate.over_seeds(found).text(2 if name == "order of weights" else 1) if found else MISSING for name, found in numbers.items()]
        seeds = str(len(one.scores("H@1", last))) + (f", {len(one.diverged)} diverged" if one.diverged else "")
        fell = MISSING if one.fell is None else f"{one.fell:+.2f}"
        updates = f"{mean(one.updates.values()):,.0f}" if one.updates else MISSING
        floors = [f"{_cell(one, name, last)} ({_mean(one, floor, last)})" for name, floor in FLOORS.items()]
        rows.append([one.label, *floors, _cell(one, "goals", last), *alone, fell, updates, ", ".join(one.row.told), seeds])
    return header, rows


def all_steps(filled: Sequence[Filled]) -> Table:
    """Scores of every row that has some, a line for each horizon; rows as in `lines`."""
    every = [(one, h, [_cell(one, name, h) for name in SHOWN]) for one in in_order(filled) for h in one.study.horizons]
    return ["", "steps", *SHOWN], [[one.label, str(h), *cells] for one, h, cells in every if set(cells) != {MISSING}]


def _cell(one: Filled, name: str, horizon: int) -> str:
    found = one.estimate(name, horizon)
    return MISSING if found is None else found.text()


def _mean(one: Filled, name: str, horizon: int) -> str:
    found = one.estimate(name, horizon)
    return MISSING if found is None else f"{found.mean:.1f}"


def curve_lines(filled: Sequence[Filled]) -> Table:
    """What if at the last horizon after so many rounds, mean over seeds, with the minutes that were used."""
    study, rows = filled[0].study, []
    ends = [*study.curve, END]
    for one in filled:
        points = one.curve.get((CURVE, study.horizons[-1]), [])
        of_end = [[point for point in points if point.after == end] for end in ends]
        rows.append([one.label, *(f"{mean(p.value for p in at):.1f} ({mean(p.minutes for p in at):.1f})" if at else MISSING for at in of_end)])
    return ["", *(end if end == END else f"round {end}" for end in ends)], rows


def setting_lines(filled: Sequence[Filled]) -> Table:
    """The chosen setting of every row, its worth and the other finalists', and what the draws reached after a few minutes."""
    keys, rows = list(causes()["space"]), []
    for one in {one.row.name: one for one in filled if one.chosen}.values():
        tried, draw = one.chosen["tried"], one.chosen["chosen"]
        worths = [each["worth"] for each in tried if each["worth"] is not None]
        told = [_strength(one) if key == "strength" else f"{one.chosen['setting'][key]:g}" for key in keys]
        others = [each["worth_at_end"] for each in tried if each["draw"] != draw and "worth_at_end" in each]
        rows.append([one.row.name, *told, str(draw), f"{tried[draw]['worth_at_end']:.1f}",
                     " ".join("diverged" if other is None else f"{other:.1f}" for other in others) or MISSING,
                     f"{tried[draw]['worth']:.1f}", f"{max(worths):.1f}", f"{min(worths):.1f}", str(len(tried) - len(worths))])  # fmt: skip
    minutes = causes()["tune"]["minutes"]
    return ["", *(key.replace("_", " ") for key in keys), "draw", "worth", "other finalist",
            *(f"{what}, {minutes} min" for what in ("worth", "best draw", "worst draw")), "diverged"], rows  # fmt: skip


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
        found = [one.reached_elsewhere(mode) for mode in study.modes]
        text = [Estimate.over_seeds(usual).text() if usual else MISSING]
        for there in found:
            both = usual.keys() & there.keys()
            fell = f" ({mean(there[s] - usual[s] for s in both):+.1f})" if both else ""
            text.append(Estimate.over_seeds(there).text() + fell if there else MISSING)
        orders = [one.number(AT_ONCE["order of weights"], *splits) for splits in ((), *((split,) for split in study.orders))]
        rows.append([one.label, *text, *(Estimate.over_seeds(found).text(2) if found else MISSING for found in orders)])
    order = ["order of weights", *(f"order of weights, {split}" for split in study.orders)]
    return ["", "as in training", *study.modes, *order], rows


def tables(filled: Sequence[Filled]) -> dict[str, Table]:
    """Title -> what a study shows; of scores, rows that have a run."""
    study, ran = filled[0].study, [one for one in filled if one.entries] or filled
    if study.modes:
        return {study.title: mode_lines(ran)}
    found = {study.title: lines(ran), "at all steps": all_steps(ran)}
    if study.curve:
        found[f"what if at {study.horizons[-1]} steps after (minutes)"] = curve_lines(ran)
    if study.tuned:
        found["chosen settings"] = setting_lines(filled)
    return found | ({"claims": claims.lines(claims.check(filled))} if study.main else {})


def waiting(filled: Sequence[Filled]) -> str:
    """Which rows are left out of scores."""
    names = [one.label for one in filled if not one.entries]
    return f"no run yet: {'; '.join(names)}" if names else ""


def caption(study: Study, env: str, cfg: dict) -> str:
    """The protocol: a number without it means nothing."""
    tune, source = causes()["tune"], causes()["tuned_on"].get(env, env)
    effort = f"{study.minutes} minutes of processor time" if study.minutes is not None else "the paper's settings and epochs"
    tuned = (
        f"every row drew {tune['draws']} settings, {tune['minutes']} minutes each on {source}, seed {tune['seed']}, the best {tune['finalists']} "
        f"again for {causes()['studies'][MAIN]['minutes']} minutes, of which one was chosen; all by the mean of what if at {', '.join(map(str, causes()['horizons']))} steps in {tune['states']} states of {SELECT}; intervals are given the chosen setting, the chance of choosing is not in them"
    )
    if study.modes:
        return (f"{env}: goals at {study.horizons[-1]} steps, 1000 tasks a seed, closed loop, exactly so many actions; in brackets by how "
                f"much they differ from boards as in training; order of weights: Kendall's tau by asking pushes, on final and on other shades; zero-shot: other shades, background: grey in place of black, fewer: "
                f"objects are missing; shape names the object here and cannot be changed; mean and 95 % interval (t) over "
                f"seeds; percent")  # fmt: skip
    asked = (
        "; exact: outcomes of every action at ten steps, exact in all factors by a frozen read-out; order of weights: Kendall's tau; own "
        "R2: of objects in their own slots; read-outs are fitted on valid, and own R2 is measured on its other half"
    ) if study.main else ""  # fmt: skip
    goals = "; goals: 1000 tasks, closed loop, exactly T actions, on no split" if study.goals else ""
    return (
        f"{env}; split {FINAL}, {study.episodes} episodes are the ranking pool, rule grouped, ties against us, {study.states} states asked what if; "
        f"what if: H@1 among the outcomes of all actions, mean over actions that change nothing, one object, several; floor: the start in "
        f"place of the prediction, in the row's own latents{goals}{asked}; "
        f"{effort} for every row, seeds 0 to {cfg['seeds'] - 1}; mean and half of the 95 % interval: the wider of a bootstrap over seeds and "
        f"episodes and of Student's t over seeds, of goals and single columns t alone, of one seed over episodes alone; "
        f"updates: training steps in that time, mean over seeds; a slow model does fewer, and so did all beside other work on the machine; "
        f"{tuned if study.tuned else 'settings are those of the paper'}; scored are the {'last weights' if study.minutes is not None else 'weights of the least validation loss'}"
        f"{_worlds(env)}; percent"
    )


def _worlds(env: str) -> str:
    """Which drawn worlds a table saw, where there are any."""
    told = causes()["worlds"].get(env)
    return f"; chosen in drawn world {told['tune']}, scored in world {told['table']} plus the seed" if told else ""


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
        for name, key in AT_ONCE.items():
            out.writerows([*where, name, "", END, seed, value] for seed, value in one.number(key).items())
        for mode in one.study.modes:
            out.writerows([*where, f"goals, {mode}", last, END, seed, value] for seed, value in one.reached_elsewhere(mode).items())
        for (name, h), points in one.curve.items():
            out.writerows([*where, name, h, f"{point.minutes:.2f}", point.seed, point.value] for point in points if point.after != END)
    return text.getvalue()
