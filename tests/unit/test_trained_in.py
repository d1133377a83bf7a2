"""What an agent of stable-baselines3 was trained in: its archive alone says it, another world is refused, and the network plays
as it was trained, beside an expert or with goals apart."""

import json
import zipfile

import numpy as np
import pytest

pytest.importorskip("pybullet")
sb3 = pytest.importorskip("stable_baselines3")
from envs.problem import Problem  # noqa: E402
from envs.trifinger import make  # noqa: E402
from envs.trifinger.env.wrappers import GoalDict  # noqa: E402
from envs.trifinger.experts import expert  # noqa: E402
from eval.manipulation.controllers import load_controller  # noqa: E402
from eval.manipulation.goals_apart import UNIT, GoalsApart  # noqa: E402
from eval.manipulation.residual import Residual  # noqa: E402
from eval.manipulation.trained_in import layout  # noqa: E402
from train.agents.archive import check_goals, save  # noqa: E402


def trained(path, env, **changes):
    """An agent of random weights, as if it had been trained in an environment.  -> itself"""
    goals = hasattr(env.observation_space, "spaces")
    own = {"residual": env.share if isinstance(env, Residual) else None, "goals_apart": UNIT if goals else False}
    agent = sb3.SAC("MultiInputPolicy" if goals else "MlpPolicy", env, buffer_size=1, seed=0, device="cpu",
                    policy_kwargs={"net_arch": [8, 8]})  # fmt: skip
    save(agent, path, layout(env) | own | changes)
    return agent


def test_an_agent_of_another_world_is_refused(tmp_path):
    """By task, frames, actions and layout, from the archive alone; wherever it lies."""
    env = make("pushing", skip_frame=3)
    env.reset(seed=0)
    trained(tmp_path / "a.zip", env)
    assert load_controller(str(tmp_path / "a.zip"), env, None)(env.observe()).shape == (9,)
    for task, options, said in (
        ("picking", {}, "was trained with task=pushing, here it is picking; give task=pushing"),
        ("pushing", {"skip_frame": 10}, "was trained with skip_frame=3, here it is 10; give skip_frame=3"),
        ("pushing", {"action_mode": "joint_torques"}, "was trained with action_mode=joint_positions, here it is joint_torques"),
        ("pushing", {"normalized": False}, "was trained with normalized=True, here it is False"),
        ("pushing", {"extra_observations": {"gap": lambda now: now.tips[0]}}, "on observations of 56 numbers in another order"),
    ):
        other = make(task, **{"skip_frame": 3, **options})
        other.reset(seed=0)
        with pytest.raises(Problem, match=said):
            load_controller(str(tmp_path / "a.zip"), other, None)
        other.close()
    trained(tmp_path / "b.zip", env, residual=0.1)  # its network does not see the expert
    with pytest.raises(Problem, match="was trained on observations of 56 numbers, this task gives 65"):
        load_controller(str(tmp_path / "b.zip"), env, None)
    trained(tmp_path / "c.zip", env, residual="much")
    with pytest.raises(Problem, match="c.zip is neither a cloned agent nor an archive"):
        load_controller(str(tmp_path / "c.zip"), env, None)
    env.close()


def test_an_archive_of_before_says_it_by_its_run(tmp_path):
    """It has no header; the config.yaml of its folder knows task and frames."""
    env = make("pushing", skip_frame=3)
    env.reset(seed=0)
    folder = tmp_path / "run/checkpoints"
    folder.mkdir(parents=True)
    trained(folder / "whole.zip", env)
    with zipfile.ZipFile(folder / "whole.zip") as whole, zipfile.ZipFile(folder / "agent.zip", "w") as before:
        for name in {*whole.namelist()} - {"trained_in.json"}:
            before.writestr(name, whole.read(name))
    (tmp_path / "run/config.yaml").write_text(json.dumps({"task": "pushing", "skip_frame": 10}))
    with pytest.raises(Problem, match="was trained with skip_frame=10, here it is 3; give skip_frame=10"):
        load_controller(str(folder / "agent.zip"), env, None)
    env.close()


def test_a_residual_agent_acts_as_it_was_trained(tmp_path):
    """Wrapper of training and controller of measuring play the same episode; with a share of nothing it is the expert's."""
    options = {"skip_frame": 10, "max_steps": 12}
    lessons, arena, alone = Residual(make("picking", **options), 0.3), make("picking", **options), make("picking", **options)
    agent = trained(tmp_path / "a.zip", lessons)
    seen, _ = lessons.reset(seed=3)
    observation, _ = arena.reset(seed=3)
    followed, _ = alone.reset(seed=3)
    act, says = load_controller(str(tmp_path / "a.zip"), arena, None), expert(alone)
    for _ in range(12):
        said = np.clip(says(followed), -1, 1)
        assert seen[:-9] == pytest.approx(observation, abs=1e-5) and seen.shape == (65,) and np.abs(seen[-9:]).max() <= 1
        given = agent.predict(seen.astype(np.float32), deterministic=True)[0]
        seen, *_ = lessons.step(given)
        observation, *_ = arena.step(act(observation))
        followed, *_ = alone.step(said)
    assert np.abs(observation - followed).max() > 0.01  # the network has a say
    still = Residual(make("picking", **options), 1e-12)
    seen, _ = still.reset(seed=3)
    for _ in range(12):
        seen, *_ = still.step(np.ones(9))
    assert seen[:-9] == pytest.approx(followed, abs=1e-6)


def test_goals_stand_apart_once(tmp_path):
    """No other goal hides in the observation, which a relabelled transition would contradict; the controller sees the same."""
    env, arena = GoalsApart(make("pushing", reward="sparse")), make("pushing")
    agent = trained(tmp_path / "a.zip", env)
    seen, _ = env.reset(seed=1)
    observation, _ = arena.reset(seed=1)
    moved = {"goal_block": {"cylindrical_position": [0.1, 1.0, 0.0325]}}
    act = load_controller(str(tmp_path / "a.zip"), arena, None)
    assert act(observation) == pytest.approx(agent.predict(seen, deterministic=True)[0], abs=1e-6)
    for each in (env, arena):
        assert each.unwrapped.intervene(moved).accepted
    other = env.step(np.zeros(9))[0]
    base = GoalsApart(make("pushing", reward="sparse"))
    base.reset(seed=1)
    plain = base.step(np.zeros(9))[0]
    assert other["observation"] == pytest.approx(plain["observation"], abs=1e-6)
    assert np.abs(other["desired_goal"] - plain["desired_goal"]).max() > 0.01
    assert env.get_wrapper_attr("compute_reward")(plain["achieved_goal"], plain["achieved_goal"]) > 0


@pytest.mark.parametrize("task", ["pushing", "reaching"])
def test_goals_are_numbers_as_large_as_the_others(task):
    """Seen: in metres, a network of hindsight learned nothing of them in 25,000 steps. Their rewards stay what they were; a
    quaternion has no unit."""
    env, plain = (wrapper(make(task, reward="fractional")) for wrapper in (GoalsApart, GoalDict))
    seen, known = (each.reset(seed=1)[0] for each in (env, plain))
    for key in ("achieved_goal", "desired_goal"):
        for part in (slice(3), slice(-3, None)):  # a position, and the edges of a block
            assert seen[key][part] == pytest.approx(10 * known[key][part], abs=1e-6)
    if task == "pushing":
        assert seen["achieved_goal"][3:7] == pytest.approx(known["achieved_goal"][3:7], abs=1e-6)
    near = known["desired_goal"].copy()
    near[:3] += 0.012
    one, two = (np.float32(seen["desired_goal"]) + np.float32([0.12] * 3 + [0] * (len(near) - 3)), near)
    given = env.compute_reward(one, seen["desired_goal"]), plain.compute_reward(two, known["desired_goal"])
    assert given[0] == pytest.approx(given[1], rel=1e-4) and 0 < given[0]
    batch = env.compute_reward(np.stack([one, seen["achieved_goal"]]), np.stack([seen["desired_goal"]] * 2))
    assert batch[0] == pytest.approx(given[0], rel=1e-6) and batch.shape == (2,)


def test_an_agent_of_before_is_shown_metres(tmp_path):
    """Its archive says true in place of a unit. It plays as it was trained,
    and is not trained on with goals ten times as large."""
    env, metres, arena = (
        GoalsApart(make("reaching", reward="sparse")),
        GoalDict(make("reaching", reward="sparse")),
        make("reaching"),
    )
    agent = trained(tmp_path / "a.zip", env, goals_apart=True)
    seen, known, observation = (each.reset(seed=1)[0] for each in (env, metres, arena))
    said = agent.predict(
        {**seen, **{key: np.float32(known[key]) for key in ("achieved_goal", "desired_goal")}}, deterministic=True
    )[0]
    act = load_controller(str(tmp_path / "a.zip"), arena, None)
    assert act(observation) == pytest.approx(said, abs=1e-6)
    assert np.abs(act(observation) - agent.predict(seen, deterministic=True)[0]).max() > 1e-4
    with pytest.raises(
        Problem, match="a.zip learned from goals in units of 1 m, which are 0.1 m now; train again with overwrite=true"
    ):
        check_goals(tmp_path / "a.zip", {"goals_apart": UNIT})
    trained(tmp_path / "b.zip", env)
    check_goals(tmp_path / "b.zip", {"goals_apart": UNIT})
    trained(tmp_path / "c.zip", env, goals_apart=-1)
    with pytest.raises(Problem, match="c.zip is neither a cloned agent nor an archive"):
        load_controller(str(tmp_path / "c.zip"), arena, None)
