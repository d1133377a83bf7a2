"""What users add to an environment: observations, weights, smoothed actions."""

import numpy as np
import pytest

pytest.importorskip("pybullet")
from envs.problem import Problem  # noqa: E402
from envs.trifinger import make  # noqa: E402
from envs.trifinger.env.wrappers import MovingAverage  # noqa: E402


def test_the_users_own_observations_follow_the_vector():
    def gap(now):
        return now.tips[0] - now.position("tool_block")

    env = make("pushing", extra_observations={"gap": gap, "torque": lambda now: now.torques[:1]})
    plain = make("pushing")
    observation, _ = env.reset(seed=0)
    assert observation[:-4] == pytest.approx(plain.reset(seed=0)[0]) and env.observation_space.shape == (60,)
    assert env.entries()[-4:] == ["gap/0", "gap/1", "gap/2", "torque"]
    action = env.action_space.sample()
    observation = env.step(action)[0]
    assert observation[:-4] == pytest.approx(plain.step(action)[0])
    assert observation[-4:-1] == pytest.approx(env.unwrapped._now.tips[0] - env.state["tool_block"]["cartesian_position"])
    env.close()
    plain.close()


@pytest.mark.parametrize("extra, said", [
    (lambda now: 1.0, "must give finite numbers"), (lambda now: [np.nan], "must give finite numbers"),
])  # fmt: skip
def test_an_observation_that_is_no_vector_is_refused(extra, said):
    with pytest.raises(Problem, match=said):
        make("pushing", extra_observations={"mine": extra})


def test_an_observation_that_changes_its_length_is_refused():
    lengths = iter([2, 2, 3])
    env = make("pushing", extra_observations={"mine": lambda now: np.zeros(next(lengths))})
    env.reset(seed=0)
    with pytest.raises(Problem, match="'mine' had 2 numbers at the start, now 3"):
        env.step(env.action_space.sample())
    env.close()


def test_moving_average():
    """The torques told are the mean of the last three; an episode remembers nothing of the one before."""
    env = MovingAverage(make("pushing", action_mode="joint_torques"), window=3)
    told = []
    read = env.unwrapped._actions.read
    env.unwrapped._actions.read = lambda action, origin: told.append(action) or read(action, origin)
    for _ in range(2):
        env.reset(seed=0)
        for value in (0.3, 0.6, 0.9, 0.0):
            env.step(np.full(9, value))
    assert [round(float(a[0]), 6) for a in told] == 2 * [0.3, 0.45, 0.6, 0.5]
    with pytest.raises(Problem, match="9 numbers"):
        env.step(np.zeros(8))
    with pytest.raises(Problem, match="window of a moving average"):
        MovingAverage(env, window=0)
    env.close()


def test_weights_of_the_users_own():
    plain, mine = make(), make(dense_weights=[0, 0, 0], fractional_weight=2.0)
    places = {"tool_block": [0.08, np.pi / 2, 0.0325], "goal_block": [0.08, 1.6, 0.0325]}
    state = {f"{name}/cylindrical_position": place for name, place in places.items()}
    for env in (plain, mine):
        env.reset(seed=0)
        assert env.intervene(state).accepted
    _, reward, _, _, info = mine.step(np.zeros(9))
    assert reward == pytest.approx(2 * mine.dt * info["fractional_success"]) and info["fractional_success"] > 0.5
    assert plain.step(np.zeros(9))[1] != pytest.approx(reward)
    with pytest.raises(Problem, match="pushing has 3 dense terms"):
        make(dense_weights=[1.0])
    plain.close()
    mine.close()
