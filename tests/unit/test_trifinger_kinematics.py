"""Joints for wanted tips: within their limits, near where no tip can be, and found in few searches."""

import numpy as np
import pytest

pinocchio = pytest.importorskip("pinocchio")
from envs.trifinger.robot.kinematics import Kinematics  # noqa: E402
from envs.trifinger.robot.robot import REST  # noqa: E402
from envs.trifinger.robot.urdf import urdf_file  # noqa: E402


@pytest.mark.parametrize("model", ["edu", "pro"])
def test_places_out_of_reach(model, monkeypatch):
    """Thirteen other starts were tried for each of them, at every step, and the pro left its limits."""
    kinematics, rng = Kinematics(model), np.random.default_rng(0)
    searches = []
    search = Kinematics._search
    monkeypatch.setattr(Kinematics, "_search", lambda self, *given: searches.append(1) or search(self, *given))
    some = np.array([kinematics.tips(rng.uniform(kinematics.low, kinematics.high)) for _ in range(3000)])
    for _ in range(30):
        wanted = rng.uniform([-0.5, -0.5, 0], [0.5, 0.5, 0.5], (3, 3))
        joints = kinematics.joints(wanted, REST)
        assert (joints >= kinematics.low).all() and (joints <= kinematics.high).all()
        error = np.linalg.norm(kinematics.tips(joints) - wanted, axis=1)
        assert (error < np.linalg.norm(some - wanted, axis=2).min(0) + 0.005).all()  # no pose of 3000 is much nearer
    assert len(searches) <= 3 * 3 * 30  # some of the places can be reached


def test_a_finger_that_is_there_stays_as_it_is():
    kinematics = Kinematics()
    start = REST + np.tile([0.2, -0.3, 0.1], 3)
    assert kinematics.joints(kinematics.tips(start), start) == pytest.approx(start, abs=1e-3)


@pytest.mark.parametrize("model", ["edu", "pro"])
def test_what_does_not_collide_moves_alike_and_in_silence(model, capfd):
    """With capsules in the file, its reader complained of every one on the terminal."""
    whole = Kinematics(model)
    assert capfd.readouterr() == ("", "")
    with urdf_file(model) as path:
        assert whole._model == pinocchio.buildModelFromUrdf(str(path))
