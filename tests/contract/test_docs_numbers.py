"""Tables that README.md and docs/equal_effort*.md tell in their own words hold the numbers of results/tables,
of which they are a part."""

import csv
import re
from collections import defaultdict
from statistics import mean

import pytest

STEPS = (1, 5, 10)


def at(name: str, *steps: int | str) -> list[tuple[str, str, str]]:
    return [("", name, str(h)) for h in steps]


def each(names: list[str], *steps: int | str) -> list[tuple[str, str, str]]:
    return [one for name in names for one in at(name, *steps)]


def cases(names: list[str], *of_each: str) -> list[tuple[str, str, str]]:
    return [(f", {name}", score, "10") for name in names for score in of_each]


EPISODES, OBJECTS = (
    [f"{n} {what}" for n in counts] for counts, what in (((30, 100, 300, 1000), "episodes"), ((3, 5, 7, 9), "objects"))
)
FEWER = [f"{n} objects, 5 at a time in training" for n in (7, 9)]
BEST = [*each(["what if", "H@1", "goals"], 10), *at("order of weights", "")]
# how the header begins -> where its numbers are, of which seeds (None: all), which ones a line holds, (case, score, steps),
# and how many more
TABLES = {
    "| row | what if | H@1 | goals": ("causes/physics5_shuffled", None, BEST, 0),
    "| model | what if | H@1 | goals": ("causes/physics5_shuffled", None, BEST, 0),
    "| row in `physics5` |": ("causes/physics5", None,
                              [*each(["what if", "H@1", "copy floor", "goals"], 10), *at("order of weights", ""),
                               *at("what if", *(f"10 of {seed}" for seed in range(5)))], 0),
    "| row | H@1 1 / 5 / 10 | what if": ("causes-published/physics5_shuffled", None,
                                         each(["H@1", "what if", "goals"], *STEPS), 0),
    "| row in chemistry |": ("causes/chemistry_chain5", None,
                             [*at("what if", *STEPS), *each(["H@1", "goals"], 10),
                              *at("what if", *(f"1 of {seed}" for seed in range(5))),
                              *at("smallest gap", *(f" of {seed}" for seed in range(5)))], 0),
    "| row in world 14 |": ("causes-updates/chemistry_chain5", None,
                            [*at("what if", *STEPS), *each(["H@1", "goals"], 10), *at("smallest gap", "")], 3),
    "| row | 30 | 100 |": ("causes-episodes/physics5_shuffled", None, cases(EPISODES, "what if", "H@1"), 0),
    "| row | 3 | 5 | 7 |": ("causes-objects/physics5", {"0"}, cases([*OBJECTS, *FEWER], "what if", "H@1", "goals"), 0),
    "| row, 4,000 updates |": ("causes-units/physics5_shuffled", None,
                               [*at("H@1", 10), *at("what if", 1, 10), *at("what if, several", 1, 10), *at("goals", 10),
                                *at("what if", "10 of 0", "10 of 1", "10 of 2")], 0),
    "| row | 1 min |": ("causes-minutes/physics5_shuffled", None,
                        each([*(f"what if after {n}" for n in (1, 2, 5, 10, 20, 30)), "what if", "H@1", "goals"], 10), 1),
    "| row | 1 | 2 | 5 | 10 |": ("causes-horizon/physics5_shuffled", None,
                                 [*at("what if", 1, 2, 5, 10, 20, 50, *(f"50 of {seed}" for seed in range(5))),
                                  *at("H@1", 50), *at("copy floor", 50)], 1),
}  # fmt: skip


def lines_below(text: str, header: str) -> dict[str, str]:
    """Label -> the cells of its line, of the table that begins so; lines in italics tell of no row, or of one after a colon."""
    found = re.search(rf"^{re.escape(header)}.*\n\|[-| ]+\n((?:\|.*\n)+)", text, re.M)
    assert found, f"docs have no table that begins with {header}"
    named = (line.strip("| ").split(" | ", 1) for line in found.group(1).splitlines())
    return {label.rpartition("*: ")[2]: cells for label, cells in named if not re.fullmatch(r"\*[^*:]+\*", label)}


def means(root, place: str, seeds: set[str] | None) -> dict[tuple[str, str, str], float]:
    """(label, score, steps) -> mean over seeds of the weights that were kept, and of those after so many minutes by a score's
    longer name; a seed's own by "steps of seed"."""
    found = defaultdict(list)
    with open(root / "results" / "tables" / f"{place}.csv", newline="") as file:
        for one in csv.DictReader(file):
            if seeds is None or one["seed"] in seeds:
                after = "" if one["minutes"] == "end" else f" after {float(one['minutes']):.0f}"
                for steps in (one["steps"], f"{one['steps']} of {one['seed']}"):
                    found[one["row"], one["metric"] + after, steps].append(float(one["value"]))
    return {key: mean(values) for key, values in found.items()}


def numbers(cells: str, of_each: int) -> list[str | None]:
    """Those of a line in their order, without half intervals; None: so many for each cell that was not run."""
    found = []
    for cell in re.sub(r"± *[\d.]+", "", cells).split(" | "):
        found += [None] * of_each if cell == "-" else re.findall(r"-?[\d.]+", re.sub(r"(?<=\d),(?=\d)", "", cell))
    return found


def agrees(told: str | None, value: float | None) -> bool:
    """Whether a number is rounded to as many decimals as it is told with."""
    return (
        told is value is None
        if None in (told, value)
        else abs(float(told) - value) <= 0.5 * 10.0 ** -len(told.partition(".")[2]) + 1e-4
    )


@pytest.mark.parametrize("header", TABLES)
def test_docs_say_what_the_tables_say(root, header):
    """Each number within its rounding; a table was once told by another mean, and smallest gaps as shares."""
    place, seeds, wanted, beside = TABLES[header]
    held, short = means(root, place, seeds), ", small encoder" * ("published" in place)
    rows = {row for row, *_ in held}
    told = lines_below(
        "\n".join(page.read_text() for page in (root / "README.md", *sorted((root / "docs").glob("equal_effort*.md")))), header
    )
    if wanted is not BEST:  # which shows the best rows alone
        assert {label + short for label in told} == {
            row.removesuffix(case) for row in rows for case in {case for case, *_ in wanted} if row.endswith(case)
        }
    for label, cells in told.items():
        keys = [(label + short + case, score, steps) for case, score, steps in wanted]
        there = numbers(cells, len(keys) // (1 + cells.count(" | ")))
        assert len(there) == len(keys) + beside, label
        wrong = [(key, said, held.get(key)) for key, said in zip(keys, there) if not agrees(said, held.get(key))]
        assert not wrong, wrong


def test_docs_say_of_places_what_the_table_says(root):
    """Of the seeds that were asked for places, which some rows have one of."""
    text, place = (root / "docs" / "equal_effort.md").read_text(), "causes/physics5_shuffled"
    wanted = [*at("all places", *STEPS), *at("all places", *(f"10 of {seed}" for seed in range(2, 5))),
              *(("", f"all places, {changed}", "1") for changed in ("nothing", "one", "several")),
              *at("what if", 1, 10), *at("pushes told", "")]  # fmt: skip
    told = {label: cells for label, cells in lines_below(text, "| row | all places").items() if "*" not in label}
    assert len(told) > 5
    for label, cells in told.items():
        row, seed = re.fullmatch(r"(.+?)(?: \(seed (\d)\))?", label).groups()
        held = means(root, place, {seed} if seed else {"2", "3", "4"})
        row += ", small encoder" * ((row, "H@1", "10") not in held)
        expected = [held.get((row, score, steps)) for _, score, steps in wanted]
        if seed:
            expected = [value for value in expected if value is not None]
        there = numbers(cells, 1)
        assert len(there) == len(expected), label
        wrong = [(want, said, value) for want, said, value in zip(wanted, there, expected) if not agrees(said, value)]
        assert not wrong, (label, wrong)


VERDICTS = {"holds": "holds", "does not": "does not hold", "open": "undecided", "not testable": "not testable",
            "taken alone": "holds, taken alone"}  # how docs begin -> how the table does


def test_verdicts_are_those_of_the_table(root):
    """A sentence that is told with numbers has those of one line of the table of claims, its chance and its word."""
    lines = (root / "results/tables/causes/physics5_shuffled.md").read_text().partition(": claims")[2].splitlines()
    section = (root / "docs/equal_effort.md").read_text().partition("| sentence | difference |")[2].partition("\n\n")[0]
    held = 0
    rows = (re.split(r" ?\| ?", line.removeprefix("| ").removesuffix(" |")) for line in section.splitlines())
    for _, difference, chance, word in (row for row in rows if len(row) == 4):
        told = re.findall(r"[-+]?[\d.]+ \[[-\d., ]+\]", re.sub(r"(?<!\d)\.(?=\d)", "0.", difference))
        if not told:
            continue
        (line,) = [line for line in lines if all(one in line for one in told)] or [None]
        assert line is not None, difference
        assert not chance.strip() or line.endswith(f"{float(chance):.3f} |"), line
        (verdict,) = [whole for begins, whole in VERDICTS.items() if word.startswith(begins)]
        assert line.startswith(f"| {verdict}"), line
        held += 1
    assert held > 10


def test_a_number_is_held_to_its_decimals():
    assert agrees("97.4", 97.44) and not agrees("97.4", 97.46) and agrees("0.47", 0.4734) and not agrees("0.51", 0.4734)
    assert agrees(None, None) and not agrees(None, 3.0) and not agrees("3", None)
    assert numbers("83.9 ± 1.2 (.5, -7) | - | 3,297", 3) == ["83.9", ".5", "-7", None, None, None, "3297"]
