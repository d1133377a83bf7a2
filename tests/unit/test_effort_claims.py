"""Sentences that are tested by tables of equal effort: among which rows, on how many seeds, and corrected for how many."""

import json
from dataclasses import replace

import numpy as np
import pytest
from effort_answers import ENV, MAIN, answered, cfg, entered  # noqa: F401  fixtures

from eval.effort.captions import of_claims
from eval.effort.claims import _rank_correlations, check
from eval.effort.differences import Difference
from eval.effort.intervals import FEW, holm
from eval.effort.ledger_rows import seeds_of
from eval.effort.sentences import NOT_ASKED, OF_ALL_WORLDS, OF_BOARDS, OF_DRAWN_WORLDS, PAPER
from eval.effort.settings import causes
from eval.effort.studies import studies
from eval.figures.charts import Point, rank_correlation
from eval.runs.answers import Answers


def said_of(*rows):
    """First words of a sentence -> its verdict."""
    return {verdict.claim.split(",")[0]: verdict for verdict in check([replace(row) for row in rows])}

HELPS = "negatives of the same episode help the hinge (after Biza et al. 2021)"


@pytest.fixture
def hinges(answered):
    """The same two under the names that a sentence compares."""
    return [replace(row, row=replace(row.row, name=name))
            for row, name in zip(answered, ("edge + hinge", "edge + hinge, same episode"))]  # fmt: skip


def test_goals_of_too_few_seeds_are_in_no_correlation(answered):
    """A row whose goals had one seed stopped the table."""
    rows = [replace(answered[0], row=replace(answered[0].row, name=f"row {n}"),
                    entries=json.loads(json.dumps(answered[0].entries), object_hook=by_seed))
            for n in range(5)]  # fmt: skip
    for seed in (1, 2):
        rows[0].entries[seed]["scores"]["select"]["metrics"].clear()
    assert said_of(*rows)["H@1 and success correlate only partly (Spearman below 0.8)"].figures == (
        "rows above their floor of copying in H@1 with 3 seeds: 4; 5 are needed"
    )


def by_seed(found: dict) -> dict:
    """Keys that are numbers as numbers."""
    return {int(key) if key.isdigit() else key: value for key, value in found.items()}


def test_claims_are_tested_among_rows_above_their_floor(hinges):
    """The better row holds, the worse does not;
    a row at its floor, on either side, has learned nothing that could be compared."""
    one, other = hinges
    assert said_of(one, other)[HELPS].word == "holds"
    assert said_of(replace(one, row=other.row), replace(other, row=one.row))[HELPS].word == "does not hold"
    assert said_of(one, other)["with structure the contrastive loss ranks better than likelihood"].word == "runs are missing"
    assert (said_of(one, other)["H@1 and success correlate only partly (Spearman below 0.8)"].word
            == "not testable at this budget")  # fmt: skip
    for row, fine in ((one, other), (other, one)):
        floored = {seed: json.loads(json.dumps(entry)) for seed, entry in row.entries.items()}
        for entry in floored.values():
            answers = entry["scores"]["final"]["answers"]
            answers["floor/copy/hits@1/h10"] = answers["test/hits@1/h10"]
        verdict = said_of(replace(row, entries=floored), fine)[HELPS]
        assert "is not above its floor" in verdict.figures and verdict.word == "not testable at this budget"


def test_sentences_are_of_rows_that_there_are():
    """A row of another name would be told as missing for good."""
    every = (*OF_BOARDS, *OF_DRAWN_WORLDS, *OF_ALL_WORLDS)
    assert {name for one in every for name in (*one.better, one.worse)} <= causes()["rows"].keys()
    claims = [one.claim for one in every]
    assert len(claims) == len(set(claims)), "sentences are known by their words"


def test_claims_want_seeds_that_ended(hinges):
    one, other = hinges
    few = said_of(one, replace(other, entries={seed: other.entries[seed] for seed in (0, 1)}))[HELPS]
    assert few.figures == "edge + hinge, same episode has 2 of 3 seeds" and few.word == "runs are missing"
    failed = {"scores": {}, "rounds": [], "plans": {}, "diverged": "train loss is not finite"}
    assert ("1 training of edge + hinge, same episode diverged"
            in said_of(one, replace(other, entries=other.entries | {3: failed}))[HELPS].figures)  # fmt: skip
    silent = {seed: entry | {"scores": {"final": {"metrics": entry["scores"]["final"]["metrics"]}}}
              for seed, entry in other.entries.items()}  # fmt: skip
    assert "were not kept" in said_of(one, replace(other, entries=silent))[HELPS].figures


def test_claims_on_drawn_worlds_rest_on_those_of_both(hinges):
    """Three seeds each, two of them in common: in other worlds it is another question."""
    one, other = (replace(row, env="chemistry_chain5") for row in hinges)
    assert said_of(one, other)[HELPS].word == "holds"
    later = replace(other, entries={seed + 1: entry for seed, entry in other.entries.items()})
    found = said_of(one, later)[HELPS]
    assert found.word == "runs are missing" and found.figures.endswith("edge + hinge have fewer than 3 drawn worlds in common")


def test_correlations_on_drawn_worlds_are_of_rows_that_can_be_tested(answered):
    """A row with one world, or whose training diverged in another, left no world to the others,
    or became one that can be tested."""
    base = [replace(answered[0], env="chemistry_chain5",
                    entries=json.loads(json.dumps(answered[0].entries), object_hook=by_seed),
                    row=replace(answered[0].row, name=f"row {n}")) for n in range(7)]  # fmt: skip
    base[0] = replace(base[0], entries={0: base[0].entries[0]})
    base[1].entries[3] = {"scores": {}, "rounds": [], "plans": {}, "diverged": "train loss is not finite"}
    name = "H@1 and what if correlate only partly (Spearman below 0.8)"
    assert (said_of(*base[2:])[name].figures == said_of(*base)[name].figures
            and said_of(*base)[name].figures.startswith("5 rows lie too near"))  # fmt: skip


def test_a_remark_is_told_of_the_seeds_it_is_on(answered, monkeypatch):
    """It was printed below one seed."""
    monkeypatch.setitem(causes(), "remarks", {ENV: [{"row": answered[0].label, "seeds": [1, 2], "says": "not to be compared"}]})
    alone = replace(answered[0], entries={0: answered[0].entries[0]})
    assert (of_claims(answered)[-1] == "not to be compared" != of_claims([alone])[-1]
            and of_claims([alone]) == of_claims(answered)[:-1])  # fmt: skip


def test_most_models_that_rank_well(answered):
    """Six rows that rank above 97 and know 60: it holds;
    of four rows nothing is told, and one of five may be chance of rows."""
    entries = {seed: json.loads(json.dumps(entry)) for seed, entry in answered[0].entries.items()}
    for entry in entries.values():
        entry["scores"]["final"]["metrics"]["test/hits@1/h10"] = 99.5
        entry["scores"]["final"]["answers"]["test/hits@1/h10"] = Answers.of(np.arange(1000) > 4).packed()
    rows = [replace(answered[0], entries=entries, row=replace(answered[0].row, name=f"row {n}")) for n in range(6)]
    name = "most models that rank above 97 know less than 90 of what another action does"
    assert said_of(*rows)[name].word == "holds" and "6 of 6 rows, [100, 100] %" in said_of(*rows)[name].figures
    assert said_of(*rows[:4])[name].word == "not testable at this budget"
    knowing = json.loads(json.dumps(entries))
    for entry in knowing.values():
        final = entry["scores"]["final"]
        (final["answers"]["test/cf_hits@1/mean/h10"],
         final["metrics"]["test/cf_hits@1/mean/h10"]) = final["answers"]["test/hits@1/h10"], 99.5  # fmt: skip
    five = [*rows[:3], *(replace(row, entries={int(seed): entry for seed, entry in knowing.items()}) for row in rows[3:5])]
    assert said_of(*five)[name].word == "undecided" and said_of(*five)[name].figures.startswith("3 of 5 rows, [20, 100]")


def test_many_sentences_are_corrected_for(hinges, monkeypatch):
    """What is found by one of many tests may be chance: it is told of that sentence alone."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06]) and holm([0.5, 0.9]) == [1.0, 1.0] and holm([]) == []
    verdict = said_of(*hinges)[HELPS]
    assert verdict.word == "holds" and verdict.figures.endswith(f"; p {verdict.p:.3f}, of 2 sentences {2 * verdict.p:.3f}"), (
        "its H@1, and its what if"
    )
    for p, word in ((0.024, "holds"), (0.03, "holds, taken alone")):
        monkeypatch.setattr("eval.effort.claims.difference", lambda *_, p=p: Difference(5.0, 1.0, 9.0, p))
        assert said_of(*hinges)[HELPS].word == word
    monkeypatch.setattr("eval.effort.claims.difference", lambda *_: Difference(-5.0, -9.0, -1.0, 0.03))
    assert said_of(*hinges)[HELPS].word == "does not hold, taken alone"


def test_every_look_at_final_is_a_chance_to_find_it(hinges, monkeypatch):
    """Seeds were added after a look in one world;
    its table once said of a sentence that it holds, of which the docs said not to quote it."""
    monkeypatch.setattr("eval.effort.claims.difference", lambda *_: Difference(5.0, 1.0, 9.0, 0.02))
    env = hinges[0].env
    for looks, word, told in (({"causes-published": {env: 2}}, "holds", "of 2 sentences 0.040"),
                              ({"causes": {env: 2}}, "holds, taken alone", "of 2 sentences, 2 looks 0.080")):  # fmt: skip
        monkeypatch.setitem(causes(), "looks", looks)
        assert said_of(*hinges)[HELPS].word == word and said_of(*hinges)[HELPS].figures.endswith(told)


def test_looks_at_final_of_the_project_are_counted(root):
    """Of one world in three they were, and in another two sentences held that one more world had let hold."""
    for env in causes()["compared"]:
        seeds = seeds_of(MAIN, env, root / "results/ledger")
        if seeds > FEW:  # with so many sentences were judged for the first time
            assert causes()["looks"]["causes"][env] > seeds - FEW, env


def test_one_pair_refutes_a_sentence_on_several(answered, monkeypatch):
    """The other pair, which tells nothing, made its chance .71."""
    names = ("GNN + hinge, small encoder", "modular + hinge, small encoder", "AE + hinge, small encoder")
    rows = [replace(answered[0], row=replace(answered[0].row, name=name)) for name in names]
    found = {names[0]: Difference(1.0, -8.0, 10.0, 0.7), names[1]: Difference(-39.0, -48.0, -30.0, 0.001)}
    monkeypatch.setattr("eval.effort.claims.difference", lambda one, *_: found[one.label])
    verdict = said_of(*rows)["models with structure beat the monolithic one under the hinge loss"]
    assert verdict.word == "does not hold" and verdict.p == 0.002
    found |= {names[0]: Difference(5.0, 1.0, 9.0, 0.01), names[1]: Difference(2.0, -3.0, 7.0, 0.4)}
    verdict = said_of(*rows)["models with structure beat the monolithic one under the hinge loss"]
    assert verdict.word == "undecided" and verdict.p == 0.4, "all pairs are needed to hold it"


@pytest.fixture
def paper(answered):
    """The paper's three rows, which reach so many percent of goals more than a random policy, and .1 more with every seed."""
    one = answered[0]

    def reaching(*above):
        rows = []
        for name, more in zip(PAPER, above):
            entries = json.loads(json.dumps(one.entries), object_hook=by_seed)
            for seed, entry in entries.items():
                reached = {"plan/success/h10": 2.0 + more + seed / 10, "plan/floor/random/h10": 2.0}
                entry["scores"]["select"]["metrics"] |= reached
            rows.append(replace(one, entries=entries, row=replace(one.row, name=name)))
        return rows

    return reaching


def test_goals_are_compared_over_seeds_alone(paper):
    """The paper says it of goals as well, and nobody asked: no answers are kept of which intervals could be drawn."""
    claim = "models with structure reach more goals than the monolithic one under the hinge loss"
    found = said_of(*paper(10.0, 60.0, 50.0))[claim]
    assert found.word == "holds" and "+50.0 [49.8, 50.2]; modular + hinge, small encoder +40.0" in found.figures
    assert said_of(*paper(10.0, 60.0, 5.0))[claim].word == "does not hold"
    alike = [replace(one, entries={seed: one.entries[0] for seed in one.entries}) for one in paper(10.0, 60.0, 50.0)]
    assert said_of(*alike)[claim].word == "not testable at this budget", "of seeds that do not differ none has an interval"
    at_random = said_of(*paper(0.0, 60.0, 50.0))[claim]
    assert at_random.word == "not testable at this budget" and "not above a policy without a model" in at_random.figures
    rows = paper(10.0, 60.0, 50.0)
    for one in rows:  # above a random policy, and below who paints by number
        for entry in one.entries.values():
            entry["scores"]["select"]["metrics"]["plan/floor/painter/h10"] = 90.0
    assert said_of(*rows)[claim].word == "not testable at this budget"


def test_rows_of_the_paper_are_held_against_a_random_policy(paper):
    claim = "most models reach goals only slightly better than a random policy"
    words = {above: said_of(*paper(*above))[claim].word for above in ((1.0, 2.0, 60.0), (1.0, 20.0, 60.0), (1.0, 5.0, 60.0))}
    assert list(words.values()) == ["holds", "does not hold", "undecided"]
    assert said_of(*paper(1.0, 2.0, 60.0)[:2])[claim].word == "runs are missing"


def test_chemistry_is_asked_what_is_said_of_it(hinges):
    """Of chemistry the paper says it of the modular model alone; it was judged by the GNN as well."""
    here, there = said_of(*hinges), said_of(*(replace(one, env="chemistry_chain5") for one in hinges))
    assert {one.claim for one in OF_BOARDS if "," not in one.claim} <= here.keys()
    assert {one.claim for one in OF_DRAWN_WORLDS if "," not in one.claim} <= there.keys()
    assert not any(claim.startswith("models with structure") for claim in there)


def test_sentences_that_nobody_is_held_against_are_named(hinges):
    words = {verdict.claim: verdict.word for verdict in check(hinges)}
    assert {words[claim] for claim in NOT_ASKED} == {"not asked"}


def test_the_paper_s_own_budget_is_held_against_its_sentences(paper):
    """Three rows of a hundred epochs were compared with nothing; what needs more rows is not asked of them."""
    rows = [replace(one, study=studies()["causes-published"]) for one in paper(10.0, 60.0, 50.0)]
    words = [verdict.word for verdict in check(rows)]
    assert words[1] == "holds" and len(words) == 4 and "runs are missing" not in words


@pytest.mark.parametrize("order, word", [([0, 1, 2, 3, 4, 5, 6], "does not hold"), ([3, 6, 1, 4, 0, 5, 2], "holds")])
def test_success_in_the_order_of_ranking_refutes_a_partial_correlation(answered, order, word):
    rows = []
    for n, place in enumerate(order):
        entries = json.loads(json.dumps(answered[0].entries), object_hook=by_seed)
        for seed, entry in entries.items():
            entry["scores"]["final"]["metrics"]["test/hits@1/h10"] = 70 + 3 * n + 0.1 * seed
            entry["scores"]["select"]["metrics"]["plan/success/h10"] = 50 + 3 * place + 0.1 * seed
        rows.append(replace(answered[0], entries=entries, row=replace(answered[0].row, name=f"row {n}")))
    assert said_of(*rows)["H@1 and success correlate only partly (Spearman below 0.8)"].word == word


def test_correlations_of_replicates_are_spearmans():
    """Ties by average ranks; where a side never changes there is none."""
    x, y = np.array([[1.0, 2, 2, 5], [3, 1, 2, 0], [1, 1, 1, 1]]), np.array([[4.0, 3, 9, 9], [0, 1, 2, 2], [1, 2, 3, 4]])
    wanted = [rank_correlation([Point("", "", "", *pair) for pair in zip(*of)]) for of in zip(x, y)]
    assert wanted[2] is None and _rank_correlations(x, y) == pytest.approx(wanted[:2])


def test_a_row_without_room_above_it_decides_nothing(hinges, monkeypatch):
    """It was called undecided whether hiding objects helps a row that has 99.2;
    the sentence is counted among the tested all the same."""
    for low, high, word in ((-9.0, 7.0, "undecided"), (-80.0, 78.0, "not testable at this budget"), (0.1, 95.0, "holds")):
        monkeypatch.setattr(
            "eval.effort.claims.difference",
            lambda *_: Difference(-1.0, low, high, 0.001),  # noqa: B023  called at once
        )
        verdict = said_of(*hinges)[HELPS]
        assert (verdict.word == word and verdict.p == 0.001
                and ("which leaves 4" in verdict.figures) == word.startswith("not")), "the row has about 60"  # fmt: skip
