"""Every id of a grid world keeps Gymnasium's promises, one board or many."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import envs  # noqa: F401  registers the ids
from envs.problem import Problem

IDS = sorted(name for name in gym.registry if name.startswith(("causalwm/Physics", "causalwm/Chemistry")))
PLAYED = [  # an id, and what is asked of it
    *((name, {}) for name in IDS),
    ("causalwm/Physics-v0", {"num_objects": 4, "setting": "fixed_unobserved", "colormap": "sets"}),
    ("causalwm/Physics-v0", {"num_objects": 3, "hidden_weights": True}),
    ("causalwm/Physics-v0", {"num_objects": 9, "board": 7}),
    ("causalwm/Chemistry-v0", {"num_objects": 10, "graph": "jungle10", "delay": 1}),
]


def test_ids():
    """One id for each world; graph, movement, delay and the like are arguments. Three short names stay."""
    assert {name.split("/")[1].removesuffix("-v0") for name in IDS} == {
        "Physics", "Physics3", "Physics5Shuffled", "Chemistry", "ChemistryChain5Dynamic"
    }  # fmt: skip
    env = gym.make("causalwm/Chemistry-v0", graph="full5", movement="dynamic").unwrapped
    assert (env._batch.world.graph, env._batch.world.movement) == ("full5", "dynamic")


@pytest.mark.parametrize("name, rules", PLAYED)
def test_checker(name, rules):
    """Gymnasium's own checker passes."""
    check_env(gym.make(name, render_mode="rgb_array", **rules).unwrapped, skip_render_check=False)


@pytest.mark.parametrize("name, rules", PLAYED)
def test_vector(name, rules):
    """make_vec gives batches inside their spaces; equal seeds, equal episodes; other seeds, others."""
    def play(seed):
        env = gym.make_vec(name, num_envs=3, vectorization_mode="vector_entry_point", max_steps=4, **rules)
        obs, info = env.reset(seed=seed)
        rng, seen = np.random.default_rng(0), [obs]
        assert info["goal"].shape == obs.shape
        for _ in range(10):
            obs, reward, terminated, truncated, info = env.step(rng.integers(0, env.single_action_space.n, 3))
            assert env.observation_space.contains(obs)
            assert np.array_equal(info["goal"], env.unwrapped.world.render(env.unwrapped._goal)), (
                "kept, and drawn where it is another"
            )
            assert reward.shape == terminated.shape == truncated.shape == (3,)
            low, high = (-8, 0) if "Physics" in name else (0, 1)
            assert (reward <= high).all() and (reward >= low).all()
            seen.append(obs)
        return np.stack(seen)

    first = play(0)
    assert np.array_equal(first, play(0)) and not np.array_equal(first, play(1))


def test_vector_resets_the_step_after_the_end():
    """After truncation the next step ignores the action, starts anew and pays nothing."""
    env = gym.make_vec("causalwm/Physics3-v0", num_envs=2, vectorization_mode="vector_entry_point", max_steps=3)
    env.reset(seed=0)
    stay = np.zeros(2, int)
    ends = [env.step(stay)[3].tolist() for _ in range(3)]
    assert ends == [[False, False], [False, False], [True, True]]
    obs, reward, terminated, truncated, _ = env.step(stay)
    assert reward.tolist() == [0, 0] and not terminated.any() and not truncated.any()
    assert env.step(stay)[3].tolist() == [False, False]


def test_goal_met_ends_the_episode():
    """At the goal: distance 0, reward 0, terminated."""
    env = gym.make("causalwm/Physics3-v0").unwrapped
    for seed in range(50):
        _, info = env.reset(seed=seed, options={"num_steps": 1})
        start = env._batch._boards
        for action in range(15):
            after, _ = env._batch.world.step(start, np.array([action]))
            if env._batch.world.distance(after, env._batch._goal)[0] == 0:
                obs, reward, terminated, _, info = env.step(action)
                assert terminated and reward == 0 and info["distance"] == 0
                assert np.array_equal(obs, info["goal"])
                break
        else:
            raise AssertionError("a goal one step away is one step away")


def test_wrong_option_is_refused():
    """reset names the nearest option."""
    with pytest.raises(Problem, match="did you mean 'num_steps'"):
        gym.make("causalwm/Physics3-v0").reset(options={"num_step": 3})


def test_step_before_reset_is_refused():
    """A sentence, not an attribute error."""
    env = gym.make_vec("causalwm/Physics3-v0", num_envs=1, vectorization_mode="vector_entry_point")
    with pytest.raises(Problem, match="call reset"):
        env.unwrapped.step(np.array([0]))
