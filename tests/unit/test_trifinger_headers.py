"""What identifies collected data of TriFinger: whatever decides a byte has another header."""

from functools import partial

import pytest

pytest.importorskip("pybullet")
from envs.trifinger.source import TriFingerSource  # noqa: E402
from envs.trifinger.source.exploration import identity_of  # noqa: E402


def held(height, env, rng, speed=1.0):
    """A policy whose first argument may be given by place."""
    return lambda observation: observation * 0 + height


def test_arguments_by_place_identify_a_policy(tmp_path):
    """They were left out, so that two policies had one header. Headers of policies without any stay as they were."""
    file = tmp_path / "weights"
    file.write_bytes(b"1")
    own = {"function": f"{__name__}.held"}
    assert identity_of(partial(held, 0.25, speed=2.0)) == {**own, "speed": 2.0, "_args_": [0.25]}
    assert identity_of(partial(held, 0.5)) == {**own, "_args_": [0.5]}
    assert identity_of(partial(held, str(file))) == {**own, "_args_": ["6b86b273ff34fce1"]}
    assert identity_of(partial(held, height=0.25)) == {**own, "height": 0.25} and identity_of(held) == own


@pytest.mark.parametrize("task, revision", [("pick_and_place", 1), ("reaching", 1), ("towers", 1), ("pushing", None)])
def test_tasks_that_give_other_data_than_before_say_so(task, revision):
    """Rewards, colours of goals or the order of blocks in a row; data of pushing keep their header."""
    assert TriFingerSource(task, workers=1).header().get("revision") == revision
