"""The text of tables of equal effort: scores, curves, settings, goals on other boards, captions, and one line for each number."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from statistics import mean

from eval.effort import claims
from eval.effort.filled import AT_ONCE, END, FLOORS, READ_FLOORS, SHOWN, Filled, in_order
from eval.effort.intervals import Estimate
from eval.effort.settings import MAIN, causes
from eval.effort.studies import Study
from eval.runs.ledger import FINAL, SELECT

CURVE, WEIGHTS = "what if", "order of weights"
CLAIMED = "claims"  # the title of the last table
CSV_HEADER = ("env", "row", "metric", "steps", "minutes", "seed", "value")
TRUE_WORLD = "plan/true/greedy/h{}"  # what the same search reaches in the world itself
MISSING = "-"
ABOVE = 1.0  # percent by which a draw must be above copying, to have learned anything
READ = (
    "a linear and a small network learn the factors of all objects from latents of valid, of each run the one is asked that reads more factors on select; "
    "place, weight (which the shade shows), color: of true frames, floor: the usual values; "
    "true outcome: share of episodes of which every factor is read off the latent of what happened, the bound of reading; predicted outcome: off "
    "the predicted latent; of every action: off the predictions for all actions of a state, mean over actions that change nothing, one object, "
    "several, told by start and end; floor: the state that was; data of physics hold no push that would need a second one, as in the "
    "paper, so that what it does cannot be learned, and not all is reached; pushes told: which of two blocks pushes the other, each asked alone, chance 50; "
    "own R2: of objects in their own slots, on the other half of valid; smallest gap: of two states that differ in one object, percent of a random "
    "pair, below 2 a variable is lost"
)
CLAIMS = (
    "in brackets 95 % intervals of each sentence taken alone; p: the larger of Student's and the bootstrap's, of a sentence on several pairs the largest (where it fails, the least times their number), then by Holm's correction for all "
    "sentences on pairs that were tested; 'taken alone': its interval tells, and the correction does not; rows were chosen by what if and not by H@1"
)
Table = tuple[list[str], list[list[str]]]  # header and rows


def lines(filled: Sequence[Filled]) -> Table:
    """Scores at the last horizon; rows best first by what if, of a study with cases in the order of its rows."""
    last = filled[0].study.horizons[-1]
    bounds = {one.label: f"{mean(found):.1f}" for one in filled if (found := one.number(TRUE_WORLD.format(last), SELECT, "valid").values())}
    shared = len(set(bounds.values())) == 1  # the same world for all rows
    bound = f" (true world {next(iter(bounds.values()))})" if shared else " (true world)" if bounds else ""
    goals = [f"goals {last}{bound}"] if filled[0].study.goals else []
    header = ["", f"H@1 {last} (floor)", f"what if {last} (floor)", *goals, WEIGHTS, f"{SELECT} - {FINAL}", "updates", "told", "seeds"]
    rows = []
    for one in in_order(filled):
        seeds = str(len(one.scores("H@1", last))) + (f", {len(one.diverged)} diverged" if one.diverged else "")
        fell = MISSING if one.fell is None else f"{one.fell:+.2f}"
        floors = [f"{_cell(one, name, last)} ({_mean(one, floor, last)}){_low(one, name, last)}" for name, floor in FLOORS.items()]
        own = f" ({bounds[one.label]})" if one.label in bounds and not shared else ""
        reached = [_cell(one, "goals", last) + own] if goals else []
        rows.append([one.label, *floors, *reached, _once(one, WEIGHTS), fell, _updates(one), ", ".join(one.row.told), seeds])
    return header, rows


def _updates(one: Filled) -> str:
    """Mean, and from the least to the most of any seed where they differ."""
    done = one.updates.values()
    least_most = f" ({min(done):,} to {max(done):,})" if len(set(done)) > 1 else ""
    return f"{mean(done):,.0f}{least_most}" if done else MISSING


def read_lines(filled: Sequence[Filled]) -> Table:
    """What does not depend on how a latent measures distance, of weights at the end; rows as in `lines`."""
    floors = {name: mean(found) for name, key in READ_FLOORS.items() if (found := [v for one in filled for v in one.number(key).values()])}
    shown = [name for name in AT_ONCE if any(one.at_once(name) for one in filled)]
    header = ["", *(f"{name} (floor {floors[name]:.1f})" if name in floors else name for name in shown)]
    return header, [[one.label, *(_once(one, name) for name in shown)] for one in in_order(filled)]


def _once(one: Filled, name: str, *splits: str) -> str:
    """A cell of AT_ONCE."""
    found = {seed: value * (100 if name == "smallest gap" else 1) for seed, value in one.at_once(name, *splits).items()}
    return Estimate.over_seeds(found).text(2 if name == WEIGHTS else 1) if found else MISSING


def _low(one: Filled, name: str, horizon: int) -> str:
    """The mark of a score that is not above its floor."""
    return " *" if one.above_floor(name, horizon) is False else ""


def all_steps(filled: Sequence[Filled]) -> Table:
    """Scores of every row that has some, a line for each horizon; rows as in `lines`."""
    cells = {name: _mean if name in FLOORS.values() else _cell for name in SHOWN if name != "goals" or filled[0].study.goals}
    every = [(one, h, [cell(one, name, h) for name, cell in cells.items()]) for one in in_order(filled) for h in one.study.horizons]
    return ["", "steps", *cells], [[one.label, str(h), *cells] for one, h, cells in every if set(cells) != {MISSING}]


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
        floors = [each.get("copying") for each in tried if each["worth"] is not None]  # choices of before do not say
        copying = MISSING if None in floors else str(sum(worth <= floor + ABOVE for worth, floor in zip(worths, floors)))
        told = [_strength(one) if key == "strength" else f"{one.chosen['setting'][key]:g}" for key in keys]
        others = [each["worth_at_end"] for each in tried if each["draw"] != draw and "worth_at_end" in each]
        rows.append([one.row.name, *told, str(draw), f"{tried[draw]['worth_at_end']:.1f}",
                     " ".join("diverged" if other is None else f"{other:.1f}" for other in others) or MISSING,
                     f"{tried[draw]['worth']:.1f}", f"{max(worths):.1f}", f"{min(worths):.1f}", copying, str(len(tried) - len(worths))])  # fmt: skip
    minutes = causes()["tune"]["minutes"]
    return ["", *(key.replace("_", " ") for key in keys), "draw", "worth", "other finalist",
            *(f"{what}, {minutes} min" for what in ("worth", "best draw", "worst draw", "copying")), "diverged"], rows  # fmt: skip


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
        rows.append([one.label, *text, *(_once(one, WEIGHTS, *splits) for splits in ((), *((split,) for split in study.orders)))])
    order = [WEIGHTS, *(f"{WEIGHTS}, {split}" for split in study.orders)]
    return ["", "as in training", *study.modes, *order], rows


def tables(filled: Sequence[Filled]) -> dict[str, tuple[Table, str]]:
    """Title -> what a study shows, and what to know of it; of scores, rows that have a run."""
    study, ran = filled[0].study, [one for one in filled if one.entries] or filled
    told = caption(filled)
    if study.modes:
        there = [one for one in filled if any(one.reached_elsewhere(mode) for mode in study.modes)] or filled
        return {study.title: (mode_lines(there), told)}
    found = {study.title: (lines(ran), told), "at all steps": (all_steps(ran), "")}
    if study.main:
        found["read off latents after 10 steps, and asked by pushes"] = read_lines(ran), READ
    if study.curve:
        found[f"what if at {study.horizons[-1]} steps after (minutes)"] = curve_lines(ran), _of_curve(filled)
    if study.tuned:
        found["chosen settings"] = setting_lines(filled), _of_settings()
    return found | ({CLAIMED: (claims.lines(claims.check(filled)), CLAIMS)} if study.main else {})


def _of_curve(filled: Sequence[Filled]) -> str:
    told = f"rounds of one training of {_of_effort(filled[0].study)}, over all of which the learning rate falls"
    return "; ".join([told, *late(filled)])


def late(filled: Sequence[Filled]) -> list[str]:
    """Rows that train their transition after something else, whose curves begin with an untrained one."""
    rounds = filled[0].study.rounds
    return [f"{one.label} trains its transition from round {after + 1} of {rounds} on" for one in filled
            if one.entries and (after := one.row.rounds_before_transition(rounds))]  # fmt: skip


def _of_settings() -> str:
    told = causes()["tune"]
    return (f"worth: mean of what if at {_list(causes()['horizons'])} steps in {told['states']} states of {SELECT}, seed {told['seed']}, which no score "
            f"above has; of the finalists after {causes()['studies'][MAIN]['minutes']} minutes, of draws after a training of {told['minutes']} minutes; copying: how many of the {told['draws']} draws are then at most {ABOVE:g} point above copying the start "
            f"in their own latents, which is to have learned nothing; strength: of "
            f"the number that balances the terms of the objective")  # fmt: skip


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def waiting(filled: Sequence[Filled]) -> str:
    """Which rows are left out of scores."""
    names = [one.label for one in filled if not one.entries]
    return f"no run yet: {'; '.join(names)}" if names else ""


def caption(filled: Sequence[Filled]) -> str:
    """The protocol: a number without it means nothing."""
    study, env = filled[0].study, filled[0].env
    tune, source = causes()["tune"], causes()["tuned_on"].get(env, env)
    effort = _of_effort(study)
    tuned = (f"every row drew {tune['draws']} settings, {tune['minutes']} minutes each on {source}, seed {tune['seed']}, the best {tune['finalists']} again for "
             f"{causes()['studies'][MAIN]['minutes']} minutes, of which one was chosen; all by the mean of what if at {_list(causes()['horizons'])} "
             f"steps in {tune['states']} states of {SELECT}; intervals are given the chosen setting, the chance of choosing is not in them")  # fmt: skip
    if study.modes:
        return (f"{env}: goals at {study.horizons[-1]} steps, 1000 tasks a seed, closed loop, exactly so many actions; in brackets by how "
                f"much they differ from boards as in training; order of weights: Kendall's tau by asking pushes, on final and on other shades; zero-shot: other shades, background: grey in place of black, fewer: "
                f"objects are missing; shape names the object here and cannot be changed; mean and 95 % interval (t) over "
                f"seeds, of two seeds both in braces; percent")  # fmt: skip
    goals = "; goals: 1000 tasks, closed loop, exactly T actions, on no split" if study.goals else ""
    return (
        f"{env}; split {FINAL}, {study.episodes} episodes are the ranking pool, rule grouped, ties against us, {study.states} states asked what if; "
        f"what if: H@1 among the outcomes of all actions, mean over actions that change nothing, one object, several; floor: the start in "
        f"place of the prediction, in the row's own latents; *: not above it{goals}; {WEIGHTS}: which block is heavier, asked by pushes, Kendall's tau; "
        f"{effort} for every row, {_of_seeds(filled)}; mean and half of the 95 % interval, which holds that of a bootstrap over seeds and "
        f"episodes and that of Student's t over seeds, of goals and single columns t alone; of two seeds both in braces, of one neither; "
        f"updates: training steps{_of_updates(study)}; {_privileges(filled)}; "
        f"{_of_precision(filled)}{_of_machines(filled)}{tuned if study.tuned else 'loss, rate, window and epochs are those of the paper, encoders are small and 128 wide'}; scored are the "
        f"{'last weights' if study.in_rounds else 'weights of the least validation loss'}{_worlds(env)}; percent"
    )


def _of_seeds(filled: Sequence[Filled]) -> str:
    """Those that any row has, however many were asked for."""
    last = max((seed for one in filled for seed in one.entries), default=0)
    return f"seeds 0 to {last} at most" if last else "seed 0"


def _of_effort(study: Study) -> str:
    if study.updates:
        return f"{study.updates} updates"
    return f"{study.minutes} minutes of processor time" if study.minutes else "the paper's settings and epochs"


def _of_updates(study: Study) -> str:
    """What decides how many there are, to follow "training steps"."""
    if study.updates or study.minutes is None:
        return ""
    return (" in that time, mean over seeds, least and most; a slow model does fewer, and so did all beside other work on the machine, "
            "so that intervals over seeds hold this as well")  # fmt: skip


def _privileges(filled: Sequence[Filled]) -> str:
    """What the words of column `told` mean, of those that stand there."""
    present = {word for one in filled for word in one.row.told}
    return f"told: what a row knows beforehand, {', '.join(f'{word}: {what}' for word, what in causes()['privileges'].items() if word in present)}"


def _of_precision(filled: Sequence[Filled]) -> str:
    """In what was multiplied, which decides how many updates a minute holds; where rows differ, which had what."""
    rows: dict[str, list[str]] = {}
    for one in filled:
        for precision in sorted({entry["setting"]["trainer"]["precision"] for entry in one.entries.values() if "setting" in entry}):
            rows.setdefault(precision, []).append(one.label)
    named = [precision if len(rows) == 1 else f"{precision} of {', '.join(labels)}" for precision, labels in rows.items()]
    return f"trainer.precision={'; '.join(named)}; " if named else ""


def _of_machines(filled: Sequence[Filled]) -> str:
    """What the trainings ran on, and where that was not one kind of machine, how many on which."""
    every = [entry["machine"] for one in filled for entry in one.entries.values() if "machine" in entry]
    count = Counter(machine.get("gpu") or machine["processor"] for machine in every)
    return f"trained on {', '.join(name if len(count) == 1 else f'{name} ({n})' for name, n in count.most_common())}; " if count else ""


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
        for name in AT_ONCE:
            out.writerows([*where, name, "", END, seed, value] for seed, value in one.at_once(name).items())
        for mode in one.study.modes:
            out.writerows([*where, f"goals, {mode}", last, END, seed, value] for seed, value in one.reached_elsewhere(mode).items())
        for (name, h), points in one.curve.items():
            out.writerows([*where, name, h, f"{point.minutes:.2f}", point.seed, point.value] for point in points if point.after != END)
    return text.getvalue()
