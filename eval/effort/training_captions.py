"""How the rows of a table were trained, for its caption: with what effort, under which seeds, in what precision, where."""

from collections import Counter
from collections.abc import Sequence

from eval.effort.cells import mean_least_most
from eval.effort.filled import Filled
from eval.effort.settings import MAIN, causes
from eval.effort.studies import Study
from eval.runs.final import SELECT


def of_tuning(env: str) -> list[str]:
    """How settings were chosen, and what intervals do not hold of it."""
    tune, source = causes()["tune"], causes()["tuned_on"].get(env, env)
    return [
        f"every row drew {tune['draws']} settings, {tune['minutes']} minutes each on {source}, seed {tune['seed']}, "
        f"the best {tune['finalists']} again for {causes()['studies'][MAIN]['minutes']} minutes, of which one was chosen, "
        f"all by the mean of what if at {listed(causes()['horizons'])} steps in {tune['states']} states of {SELECT}",
        "intervals are given the chosen setting, the chance of choosing is not in them",
    ]


def of_effort(study: Study) -> str:
    """How long every row was trained."""
    if study.trains_missing_seeds:
        return f"in each stage the fewest updates that a training of the row made in table {MAIN}"
    if study.updates:
        return f"{study.updates} updates"
    return f"{study.minutes} minutes of processor time" if study.minutes else "the paper's settings and epochs"


def of_seeds(filled: Sequence[Filled]) -> str:
    """Those that any row has, however many were asked for."""
    last = max((seed for one in filled for seed in one.entries), default=0)
    other = filled[0].own_worlds and len({tuple(sorted(one.entries)) for one in filled}) > 1
    of_those = ", of which each row has those that it lacked there" if filled[0].study.trains_missing_seeds else ""
    every = f"seeds 0 to {last} at most" if last else "seed 0"
    return every + of_those + ("; rows that lack seeds lack worlds, which may be the harder" if other else "")


def of_updates(study: Study) -> str:
    """What decides how many there are, to follow "training steps"."""
    if study.updates or study.minutes is None:
        return ""
    return (" in that time, mean over seeds, least and most; a slow model does fewer, "
            "and so did all beside other work on the machine, and patch and small encoders before 28 November 2026, "
            "so that intervals over seeds hold this as well")  # fmt: skip


def of_stages(filled: Sequence[Filled]) -> list[str]:
    """Rows that learn one part after the other: equal time for each is not equal work."""
    found = {}
    for one in filled:
        every = list(one.updates.values())
        if every and len(every[0]) > 1:
            found[one.label] = ", ".join(f"{stage} {mean_least_most([each[stage] for each in every])}" for stage in every[0])
    return [f"of {label} by stage, which share its rounds as evenly as they can: {told}" for label, told in found.items()]


def of_precision(filled: Sequence[Filled]) -> list[str]:
    """In what was multiplied, which decides how many updates a minute holds; where rows differ, which had what."""
    rows: dict[str, list[str]] = {}
    for one in filled:
        trainers = [entry["setting"]["trainer"] for entry in one.entries.values() if "setting" in entry]
        for precision in sorted({trainer["precision"] for trainer in trainers}):
            rows.setdefault(precision, []).append(one.label)
    named = [precision if len(rows) == 1 else f"{precision} of {', '.join(labels)}" for precision, labels in rows.items()]
    return [f"trainer.precision={'; '.join(named)}"] if named else []


def of_machines(filled: Sequence[Filled]) -> list[str]:
    """What the trainings ran on, and where that was not one kind of machine, how many on which."""
    every = [entry["machine"] for one in filled for entry in one.entries.values() if "machine" in entry]
    if not every:
        return []
    count = Counter(machine.get("gpu") or machine["processor"] for machine in every)
    named = [name if len(count) == 1 else f"{name} ({n})" for name, n in count.most_common()]
    return [f"trained on {', '.join(named)}"]


def of_hours(filled: Sequence[Filled]) -> list[str]:
    """What fitting took by the clock, of runs that say it."""
    every = [entry.get("timing", {}) for one in filled for entry in one.entries.values()]
    seconds = [timing["fit_s"] for timing in every if "fit_s" in timing]
    if not seconds:
        return []
    runs = f"{len(seconds)} run{'s' * (len(seconds) > 1)} together"
    return [f"fitting took {sum(seconds) / 3600:.1f} hours by the clock, {runs}"]


def of_commits(filled: Sequence[Filled]) -> list[str]:
    """How many runs no commit identifies the code of."""
    every = [
        entry["versions"]["commit"]
        for one in filled
        for entry in one.entries.values()
        if "commit" in entry.get("versions", {})
    ]
    changed = sum(commit.endswith("-dirty") for commit in every)
    return [f"{changed} of {len(every)} runs were scored from a working tree with changes beside its commit"] if changed else []


def of_worlds(env: str) -> list[str]:
    """Which drawn worlds a table saw, where there are any."""
    worlds, source = causes()["worlds"], causes()["tuned_on"].get(env, env)
    if env not in worlds:
        return []
    chosen = f"{worlds[source]['tune']}{f' of {source}' if source != env else ''}"
    return [f"chosen in drawn world {chosen}, scored in world {worlds[env]['table']} plus the seed"]


def of_late_transitions(filled: Sequence[Filled]) -> list[str]:
    """Rows that train their transition after something else, whose curves begin with an untrained one."""
    rounds = filled[0].study.rounds
    return [f"{one.label} trains its transition from round {after + 1} of {rounds} on" for one in filled
            if one.entries and (after := one.row.rounds_before_transition(rounds))]  # fmt: skip


def listed(numbers: Sequence[int]) -> str:
    """1, 5, 10."""
    return ", ".join(map(str, numbers))
