"""Captions of tables of equal effort: the protocol, without which a number means nothing."""

from collections.abc import Sequence
from statistics import mean

from eval.effort.filled import Filled
from eval.effort.ledger_rows import asked_by_pushes, chosen_there
from eval.effort.score_names import ALONE, AT_ONCE, BAYES, BLIND, LIKELIEST, PAINTER, READ_OUTS, WEIGHTS
from eval.effort.settings import MAIN, causes
from eval.effort.studies import Study
from eval.effort.training_captions import (
    listed,
    of_commits,
    of_effort,
    of_hours,
    of_late_transitions,
    of_machines,
    of_precision,
    of_seeds,
    of_stages,
    of_tuning,
    of_updates,
    of_worlds,
)
from eval.runs.final import FINAL, KEPT_TASKS, SELECT

READ = AT_ONCE["factors read"].format(READ_OUTS[0])
ABOVE = 1.0  # percent by which a draw must be above copying, to have learned anything
ENDS = "the end: what the whole time gave, the weights of the least validation loss until then; before it weights as they were"
CLAIMS = [
    "in brackets 95 % intervals of each sentence taken alone",
    "p: the larger of Student's and the bootstrap's, of a sentence on several pairs the largest (where it fails, the least "
    "times their number), then by Holm's correction for all sentences on pairs that were tested, times the looks at final, "
    "of which seeds were added after all but the last",
    "'taken alone': its interval tells, and the correction does not",
    "p of the bootstrap is .001 at least; of goals intervals and p are Student's t over seeds alone, with few degrees of "
    "freedom, and the floor is a policy without a model",
    "sentences on many rows, and on a random policy, have no p, and are corrected for nothing",
    "rows were chosen by what if and not by H@1",
]

PUSHED_TWICE = (
    "data of physics hold no push that would need a second one, as in the paper, "
    "so that what it does cannot be learned, and not all is reached"
)
PUSHES = [
    "order of weights: Kendall's tau; its SHD: pairs of blocks whose heavier one is told wrong, of 10 where there are five",
    "pushes told: which of two blocks pushes the other, each asked alone, chance 50",
]


def of_claims(filled: Sequence[Filled]) -> list[str]:
    """How sentences are judged, and what else is to be known of the seeds that they rest on."""
    seeds = {one.label: one.entries.keys() for one in filled}
    remarks = causes()["remarks"].get(filled[0].env, [])
    return [*CLAIMS, *(one["says"] for one in remarks if set(one["seeds"]) <= seeds.get(one["row"], set()))]


def one_line(facts: Sequence[str]) -> str:
    """Facts of a caption as a terminal shows them."""
    return "; ".join(facts)


def caption(filled: Sequence[Filled]) -> list[str]:
    """The protocol, fact by fact: a number without it means nothing."""
    study, env = filled[0].study, filled[0].env
    if study.modes:
        return [
            f"{env}: goals at {study.horizons[-1]} steps, 1000 tasks a seed, closed loop, exactly so many actions",
            "in brackets by how much they differ from boards as in training, seed by seed",
            "order of weights: Kendall's tau by asking pushes, on final and on other shades",
            "zero-shot: other shades, background: grey in place of black, fewer: objects are missing",
            "shape names the object here and cannot be changed",
            "mean and 95 % interval (t) over seeds, of two seeds both in braces; percent",
        ]
    return [
        f"{env}",
        f"split {FINAL}, {study.episodes} episodes are the ranking pool, rule grouped, ties against us, "
        f"{study.states} states asked what if",
        "what if: H@1 among the outcomes of all actions, mean over actions that change nothing, one object, several",
        "floor: the start in place of the prediction, in the row's own latents",
        "*: not above it",
        *_of_goals(filled),
        *_of_bounds(filled),
        *_of_blindness(filled),
        f"{of_effort(study)} for every row, {of_seeds(filled)}",
        "mean and half of the 95 % interval, which holds that of a bootstrap over seeds and episodes and that of Student's t "
        "over seeds, of goals and single columns t alone, and is not cut at 0 and 100",
        "of two seeds both in braces, of one neither",
        "select - final: of what if at the last horizon, over seeds that have both; "
        "- where worlds are drawn, which have no select of their own",
        f"updates: training steps{of_updates(study)}",
        *of_stages(filled),
        f"parameters: of all parts; {_of_width(filled)}"
        f"sizes of hidden layers are those of the row's own configuration{_of_units(study)}",
        _privileges(filled),
        *of_precision(filled),
        *of_machines(filled),
        *of_hours(filled),
        *of_commits(filled),
        *(
            of_tuning(env)
            if study.tuned
            else ["loss, rate, window and epochs are those of the paper, encoders are small and 128 wide"]
        ),
        *_of_cases(study),
        *_of_rows(filled),
        "scored are the weights of the least validation loss, by the row's own objective, "
        "which for some are not those of the end",
        f"kept at: after which part of the {'rounds' if study.in_rounds else 'epochs'} those were, percent, mean over seeds, "
        "least and most; of several stages the last is chosen from",
        *of_worlds(env),
        "percent",
    ]


def _of_width(filled: Sequence[Filled]) -> str:
    """Where it was drawn, and of which rows it was not."""
    if not filled[0].study.tuned:
        return ""
    fixed = "; ".join(one.label for one in filled if "width" in one.row.without)
    return f"the width of latents was drawn{fixed and f' (not of {fixed})'}, "


def _of_units(study: Study) -> str:
    """Where cases vary hidden layers, what settings were chosen with."""
    varied = any(".hidden=" in override for case in study.cases.values() for override in case)
    return ", with which its setting was chosen, where its name says no other" if varied else ""


def _of_cases(study: Study) -> list[str]:
    """What each sets, which goes before the chosen setting where both name a key."""
    told = [f"{case}: {', '.join(overrides)}" for case, overrides in study.cases.items() if overrides]
    return [f"over that setting, {'; '.join(told)}"] if told else []


def _of_rows(filled: Sequence[Filled]) -> list[str]:
    """What is to be known of single rows of the main table."""
    remarks = {one.row.name: one.row.remark for one in filled if one.study.has_main_runs and one.row.remark and one.entries}
    return [f"{name} {remark}" for name, remark in remarks.items()]


def _of_kept_tasks(filled: Sequence[Filled]) -> list[str]:
    """By how much goals differ where nobody had asked before."""
    last = filled[0].study.horizons[-1]
    both = [(one.scores("goals", last), one.goals_apart(FINAL)) for one in filled]
    apart = [kept[seed] - usual[seed] for usual, kept in both for seed in usual.keys() & kept.keys()]
    if not apart:
        return []
    return [
        f"of {len(apart)} runs also 1000 tasks of seed {KEPT_TASKS}, asked of the frozen setting alone, with a distance "
        f"learned anew: {mean(apart):+.1f} on average at {last} steps, from {min(apart):+.1f} to {max(apart):+.1f}"
    ]


def _of_goals(filled: Sequence[Filled]) -> list[str]:
    if not filled[0].study.goals:
        return []
    painted = any(one.number(PAINTER.format(h), SELECT, "valid") for one in filled for h in one.study.horizons)
    return ["goals: 1000 tasks, closed loop, exactly T actions, on no split, "
            "the same of seed 0 that runs were asked all through development",
            *_of_kept_tasks(filled),
            *["painting by number: who gives the lowest wrong number its colour, and needs no model"] * painted,
            "true world: the same search, greedy and one step ahead, in the world itself, "
            "a comparison and no bound"]  # fmt: skip


def _of_bounds(filled: Sequence[Filled]) -> list[str]:
    """What a world has besides: an order of weights, or a bound that chance sets."""
    order = [f"{WEIGHTS}: which block is heavier, asked by pushes, Kendall's tau; by number: who calls that of the smaller "
             f"number heavier, and asks nothing"] if asked_by_pushes(filled) else []  # fmt: skip
    alone = any(one.number(ALONE.format(h)) for one in filled for h in one.study.horizons)
    drawn = any(one.number(BAYES.format(h)) for one in filled for h in one.study.horizons)
    asked = any(one.number(LIKELIEST.format(h)) for one in filled for h in one.study.horizons)
    return [
        *order,
        *drawn * ["exact Bayes: outcomes are drawn, and no model of any kind can expect more"],
        *alone * ["one outcome: of questions all of whose actions end in it, so that any answer is right"],
        *asked * ["likeliest: of the outcomes of all actions, by exact Bayes; no bound: outcomes of one state share "
                  "what chance decided, and the mean over classes of actions pays for leaning to the rare one"],
    ]


def _of_blindness(filled: Sequence[Filled]) -> list[str]:
    if not any(one.number(BLIND.format(filled[0].study.horizons[-1])) for one in filled):
        return []
    return ["weights unknown: the true world under every order of the weights, of the outcomes the likeliest, "
            "of boards the best guess; what is not above it need know no weight, "
            "and after one step it is never wrong among the outcomes of all actions"]  # fmt: skip


def of_reading(filled: Sequence[Filled]) -> list[str]:
    """What is read off latents."""
    choosing = (
        SELECT if any(one.number(READ, SELECT) for one in filled) else "valid, which holds the frames that they learned from"
    )
    return [
        f"a linear and a small network learn the factors of all objects from latents of valid, "
        f"of each run the one is asked that reads more factors on {choosing}",
        "(3 of 5): of so many of its seeds, the others were not asked",
        "place, weight (which the shade shows), color: of true frames, floor: the usual values",
        "true outcome: share of episodes of which every factor is read off the latent of what happened, the bound of reading",
        "predicted outcome: off the predicted latent",
        "of every action: off the predictions for all actions of a state, mean over actions that change nothing, one object, "
        "several, told by start and end; floor: the state that was",
        *_of_blindness(filled),
        *([PUSHED_TWICE] if asked_by_pushes(filled) else ["where outcomes are drawn, chance bounds what is predicted"]),
    ]


def of_places(filled: Sequence[Filled]) -> list[str]:
    """What is read of places alone."""
    return [
        "all places: share of actions of which the places of all objects are read rightly off the prediction, "
        "whatever else is read, mean over actions that change nothing, one object, several, told by start and end; "
        "read by the same network as above",
        "floor: the state that was",
        *["weights unknown: as above, of boards the best guess"] * bool(_of_blindness(filled)),
    ]


def of_same_chance() -> list[str]:
    """True counterfactuals: abduction, action, prediction."""
    return [
        "percent of queries (state, action, what happened, other action) of which every object is told rightly after the other "
        "action under the same chance, mean over drawn worlds",
        "exact: mechanisms are read off the codes of a model; exact Bayes: the true ones, which no model can expect to pass",
        "without what happened: the true mechanisms that do not know it; copying what happened: nothing else is answered",
        "under another coupling: the same answers where chance couples otherwise (Gumbel-max) under the same law of every "
        "action, which no data can tell from it",
    ]


def of_structure(filled: Sequence[Filled]) -> list[str]:
    """What pushes tell, in worlds with pushes, and which slot holds what."""
    return [
        *PUSHES * asked_by_pushes(filled),
        "own R2: of objects in their own slots, learned from half of the episodes of valid and told of the other half; "
        "MCC: mean correlation of what is read so with the factors; disentanglement and completeness (DCI, of that R2): "
        "how far one object is read off a slot, and an object off one slot; slots matched to objects; "
        "none of latents without slots",
        "smallest gap: of two states that differ in one object, percent of a random pair, below 2 a variable is lost",
    ]


def _privileges(filled: Sequence[Filled]) -> str:
    """What the words of column `told` mean, of those that stand there."""
    present = {word for one in filled for word in one.told}
    meanings = [f"{word}: {what}" for word, what in causes()["privileges"].items() if word in present]
    return f"told: what a row knows beforehand, {', '.join(meanings)}"


def of_curve(filled: Sequence[Filled]) -> list[str]:
    return [f"rounds of one training of {of_effort(filled[0].study)}, over all of which the learning rate falls", ENDS,
            *_of_goals_on_the_way(filled), *of_late_transitions(filled), *_without_rounds(filled)]  # fmt: skip


def _of_goals_on_the_way(filled: Sequence[Filled]) -> list[str]:
    """Where any round was asked for them."""
    if not any("plan" in one for row in filled for entry in row.entries.values() for one in entry["rounds"]):
        return []
    return [
        "goals of rounds were asked of weights at hand, since 27 November 2026, on the tasks of seed 0; "
        "(n of m): of so many seeds"
    ]


def _without_rounds(filled: Sequence[Filled]) -> list[str]:
    """Seeds that are missing in a curve and not at its end: trained, and their weights gone before their rounds were scored."""
    lacking = {one.label: [str(seed) for seed, entry in one.entries.items()
                           if FINAL in entry["scores"] and one.study.rounds_without_score(entry)]
               for one in filled}  # fmt: skip
    return [
        f"of {label} some rounds of seed {' and '.join(seeds)} were never scored" for label, seeds in lacking.items() if seeds
    ]


def of_settings(filled: Sequence[Filled]) -> list[str]:
    told = causes()["tune"]
    return [
        f"worth: mean of what if at {listed(causes()['horizons'])} steps in {told['states']} states of {SELECT}, "
        f"seed {told['seed']}, which no score above has; "
        f"of the finalists after {causes()['studies'][MAIN]['minutes']} minutes, "
        f"of draws after a training of {told['minutes']} minutes",
        *[f"worth - {FINAL}: less the same mean on {FINAL}, under other seeds and, where worlds are drawn, in other worlds"]
        * chosen_there(filled),
        f"copying: how many of the {told['draws']} draws are then at most {ABOVE:g} point above copying the start "
        f"in their own latents, which is to have learned nothing",
        "strength: of the number that balances the terms of the objective",
        "hard share: decides nothing where window is 1, as every epoch then holds all windows",
    ]
