"""Streams of random numbers: no two purposes draw the same numbers, and none draws those of the data."""

import re

import numpy as np
import pytest

from configs.limits import check_values
from envs.chemistry import ChemistryWorld
from envs.problem import Problem
from envs.streams import Stream

SEEDS = range(4)


def test_no_two_streams_are_the_same():
    """The causal model of world 2 was drawn from the numbers of block 0 of the test split, what-ifs from block 0 of train."""
    drawn = {}
    for stream in Stream:
        for rest in ((), *((a,) for a in range(1, 12)), *((a, b) for a in SEEDS for b in range(1, 12))):
            drawn[stream, rest] = stream.rng(*rest).integers(2**62)
    for seed in range(1, 32):  # of splits
        for block in range(101):
            drawn["data", seed, block] = np.random.default_rng([seed, block]).integers(2**62)
    assert len(set(drawn.values())) == len(drawn)
    assert len(set(Stream)) == len(Stream.__members__)


def test_no_split_has_the_seed_of_a_stream(compose):
    """Splits of the seeds 7001 and on drew the numbers of the streams; the limit was written in a docstring alone."""
    check_values(compose("fit", "env.splits.train.seed=6999"))
    assert min(Stream) > 6999
    for seed in (7000, max(Stream)):
        with pytest.raises(Problem, match=f"must be a whole number from 0 to 6999, got {seed:d}"):
            check_values(compose("fit", f"env.splits.train.seed={seed:d}"))


def test_planning_draws_what_it_drew():
    """The named streams of planning are the ones that published plans were drawn from."""
    for stream, old in zip((Stream.TASKS, Stream.CHANCE, Stream.RANDOM, Stream.EPISODES), (7001, 7002, 7003, 7006)):
        assert stream.rng(3, 5).integers(2**62) == np.random.default_rng([old, 3, 5]).integers(2**62)


def test_a_world_is_not_drawn_from_the_numbers_of_a_split():
    """Its first table's network is other than what default_rng([scm_seed]) gives, which is block 0 of a split of that seed."""
    for seed in (1, 2, 3):
        weights, _ = np.linalg.qr(np.random.default_rng([seed, 0]).standard_normal((25, 20)))
        drawn = ChemistryWorld(scm_seed=seed).model.layers[0].inner.reshape(20, 25)
        assert not np.allclose(np.abs(drawn), 3.5 * np.abs(weights.T))


def test_every_score_names_its_stream(root):
    """No score is drawn from a nameless generator: default_rng(0) of one would be default_rng([0, 0]) of another."""
    for folder, spared in (
        ("eval", {"protocols.py"}),
        ("eval/probes", set()),
        ("eval/planning", {"sampling.py"}),  # the one there only tries arguments
        ("envs", {"boards.py", "frames.py", "collect.py", "physics.py", "streams.py"}),
    ):
        paths = list((root / folder).glob("*.py"))
        assert len(paths) > 5
        for path in paths:
            assert path.name in spared or not re.search(r"default_rng\(", path.read_text()), path
