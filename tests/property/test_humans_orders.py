"""Lists of human trials keep every rule for 200 seeds, and every version is rated equally often, whoever is rejected."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.problem import Problem
from eval.humans.allocation import complement, next_list
from eval.humans.order import Rules, complementary_lists, halves, order

TRIALS = {letter: [(f"{letter}{n}-expected", f"{letter}{n}-surprising") for n in range(50)] for letter in "ABCDE"}
CHECKS = ["check0", "check1", "check2", "check3", "check4"]
RULES = Rules()


def stimulus(entry):
    """What is shown, in whichever version."""
    return entry.clip.split("-")[0]


def check(entries):
    """All rules of one list of the paper's size."""
    assert [entry.position for entry in entries] == list(range(1, 281))
    kinds = Counter(entry.kind for entry in entries)
    assert kinds == {"test": 250, "repeat": 25, "check": 5}
    tests = [entry.clip for entry in entries if entry.kind == "test"]
    assert len({clip.split("-")[0] for clip in tests}) == 250
    each = Counter((clip[0], clip.split("-")[1]) for clip in tests)
    assert each == {(letter, version): 25 for letter in "ABCDE" for version in ("expected", "surprising")}
    at = {entry.position: entry for entry in entries}
    for entry in entries:
        if entry.kind == "repeat":
            original = at[entry.repeat_of]
            assert (original.kind, original.clip) == ("test", entry.clip)
            assert entry.position - original.position >= RULES.distance
        else:
            assert entry.repeat_of is None
        assert entry.kind != "check" or 3 < entry.position <= 277
    assert all(stimulus(one) != stimulus(other) for one, other in zip(entries, entries[1:]))
    assert sorted(entry.clip for entry in entries if entry.kind == "check") == CHECKS


def test_every_rule_holds_for_200_seeds():
    """Both lists of a pair; they complement each other: every trial is in both, never in one version."""
    for seed in range(200):
        one, other = complementary_lists(TRIALS, CHECKS, RULES, seed, 2)
        check(one)
        check(other)
        tests = [{entry.clip for entry in entries if entry.kind == "test"} for entries in (one, other)]
        assert tests[0].isdisjoint(tests[1])


def test_fifty_lists_show_every_version_25_times():
    """And the first lists stay as they are when more are asked for."""
    lists = complementary_lists(TRIALS, CHECKS, RULES, 0, 50)
    seen = Counter(entry.clip for entries in lists for entry in entries if entry.kind == "test")
    assert len(seen) == 500 and set(seen.values()) == {25}
    assert complementary_lists(TRIALS, CHECKS, RULES, 0, 4) == lists[:4]


def test_chance_decides_alike():
    """Over 2000 small lists every clip is repeated equally often, and checks stand in every place that they may."""
    rng, clips, rules = np.random.default_rng(0), [str(n) for n in range(12)], Rules(2, 3, 2)
    repeated, places = Counter(), Counter()
    for _ in range(2000):
        for entry in order(clips, ["check"], rules, rng):
            repeated[entry.clip] += entry.kind == "repeat"
            places[entry.position] += entry.kind == "check"
    assert max(abs(repeated[clip] - 2000 / 6) for clip in clips) < 80  # 4.8 standard deviations
    assert {place for place, count in places.items() if count} == set(range(3, 14))
    assert max(abs(places[place] - 2000 / 11) for place in range(3, 14)) < 75


def test_categories_are_halved_for_both():
    """Of an even number of trials both participants of a pair see as many in either version."""
    for seed in range(20):
        one, other = halves({"A": TRIALS["A"][:6], "B": TRIALS["B"][:2]}, np.random.default_rng(seed))
        for half in (one, other):
            assert Counter((clip[0], clip.split("-")[1]) for clip in half) == {
                ("A", "expected"): 3, ("A", "surprising"): 3, ("B", "expected"): 1, ("B", "surprising"): 1
            }  # fmt: skip


def test_rules_that_no_order_keeps_are_told():
    """With the option that would help."""
    with pytest.raises(Problem, match="smaller --distance"):
        order(["a", "b", "c"], ["check"], Rules(1, 5), np.random.default_rng(0))


def recruited(lists, rejected, at_once, rng):
    """Participants come until every list has an accepted one, some at a time and ended in any order.  rejected: how many are
    turned away on the way.  -> accepted lists in order, and everybody's."""
    taken, order_of, everybody = {}, [], []
    while len(order_of) < lists:
        running = [index for index, state in taken.items() if state == "open"]
        free = next_list(taken, lists)
        if free is not None and len(running) < at_once:
            taken[free] = "open"
            everybody.append(free)
            continue
        done = int(rng.choice(running))
        left = lists - len(order_of)
        if rejected and (left == 1 or rng.random() < 0.3):  # rejected, withdrew or ran out of time
            rejected -= 1
            del taken[done]
        else:
            taken[done] = "accepted"
            order_of.append(done)
    return order_of, everybody


@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(0, 11))
def test_every_list_is_accepted_once_whoever_is_rejected(seed, at_once, rejected):
    """With 50 accepted participants, after up to 11 rejections in any order: so every version has 25 ratings."""
    accepted, everybody = recruited(50, rejected, at_once, np.random.default_rng(seed))
    assert sorted(accepted) == list(range(50)) and len(everybody) == 50 + rejected


def test_after_eleven_rejections_every_version_has_25_ratings():
    """The paper's numbers, counted clip by clip: 61 took part, 50 were accepted."""
    lists = complementary_lists(TRIALS, CHECKS, RULES, 3, 50)
    for seed in range(20):
        accepted, everybody = recruited(50, 11, 8, np.random.default_rng(seed))
        seen = Counter(entry.clip for index in accepted for entry in lists[index] if entry.kind == "test")
        assert len(everybody) == 61 and len(seen) == 500 and set(seen.values()) == {25}


@given(st.dictionaries(st.integers(0, 9), st.sampled_from(["open", "accepted"])))
def test_the_next_list_is_free_and_completes_a_pair_where_one_is_open(taken):
    """In whatever state a study is."""
    index = next_list(taken, 10)
    free = set(range(10)) - set(taken)
    if not free:
        assert index is None
        return
    halves_of_pairs = {one for one in free if complement(one) in taken}
    assert index == min(halves_of_pairs or free)


def test_a_list_that_was_given_back_goes_out_first():
    """Its complement was accepted; pairs that nobody has begun wait."""
    assert next_list({0: "accepted", 2: "accepted", 3: "accepted"}, 50) == 1
    assert next_list({}, 50) == 0 and next_list({0: "open", 1: "open"}, 50) == 2
    assert next_list({0: "open", 1: "accepted"}, 2) is None
