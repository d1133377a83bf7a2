"""Saved and changed within an episode: what follows is the same in every mode, and the time is the episode's."""

import numpy as np
import pytest

pytest.importorskip("pybullet")
from envs.problem import Problem  # noqa: E402
from envs.trifinger import make  # noqa: E402
from envs.trifinger.robot.actions import MODES  # noqa: E402


@pytest.mark.parametrize("mode", MODES)
def test_what_follows_a_saved_state_is_the_same_in_every_mode(mode):
    """Observations with their time, and when the episode ends, here and in an environment that never began."""
    env, other = make(action_mode=mode, skip_frame=3, max_steps=30), make(action_mode=mode, skip_frame=3, max_steps=30)
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(10):
        env.step(rng.uniform(-0.1, 0.1, 9))
    saved, actions = env.save(), rng.uniform(-0.1, 0.1, (20, 9))
    runs = []
    for one in (env, env, other):
        one.restore(saved)
        runs.append([one.step(action) for action in actions])
    for run in runs[1:]:
        assert all(np.array_equal(a[0], b[0]) and a[1:4] == b[1:4] for a, b in zip(runs[0], run))
    assert runs[0][-1][3] and not runs[0][-2][3]
    env.close()
    other.close()


def test_a_state_of_another_task_is_refused():
    env, other = make("pushing"), make("stacking2")
    env.reset(seed=0)
    other.reset(seed=0)
    for state in (other.state, {"gravity": np.zeros(3)}):
        with pytest.raises(Problem, match="this is no state of pushing"):
            env.restore(state)
    env.step(env.action_space.sample())
    env.close()
    other.close()


def test_an_intervention_does_not_shorten_the_episode():
    """Fewer blocks would have less time; the episode keeps what it began with, and tells its end."""
    env = make("towers", max_steps=None)
    env.reset(seed=0)
    limit = env.limit
    for _ in range(251):
        env.step(np.zeros(9))
    assert env.intervene({"number_of_blocks_in_tower": [1, 1, 1], "tower_dims": [0.08] * 3, "tower_center": [0, 0.1]}).accepted
    assert env.limit == limit and not env.step(np.zeros(9))[3]
    env.reset(options={"interventions": {"number_of_blocks_in_tower": [1, 1, 1], "tower_dims": [0.08] * 3}})
    assert env.limit == 250
    env.close()
