"""TriFinger environments: Gymnasium's promise, observations, actions, rewards, time."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

pytest.importorskip("pybullet")
from envs.problem import Problem  # noqa: E402
from envs.trifinger import NAMES, gym_id, make  # noqa: E402
from envs.trifinger.robot.actions import MODES  # noqa: E402
from envs.trifinger.robot.robot import REST  # noqa: E402
from envs.trifinger.tasks import TASKS  # noqa: E402

LENGTHS = {
    "reaching": 37,
    "pushing": 56,
    "picking": 56,
    "pick_and_place": 67,
    "stacking2": 84,
    "towers": 168,
    "general": 168,
    "creative_stacked_blocks": 502,
    "stacked_blocks": 1008,
}  # fmt: skip  reference section 4
STEPS = {"reaching": 125, "pushing": 250, "picking": 250, "pick_and_place": 500, "stacking2": 500, "towers": 1250,
         "general": 1250, "creative_stacked_blocks": 6000, "stacked_blocks": 8750}  # fmt: skip


@pytest.fixture
def env(request):
    env = make(**getattr(request, "param", {}))
    yield env
    env.close()


def stay(env):
    """The action that holds the rest pose."""
    return (2 * (REST - env._actions.low) / (env._actions.high - env._actions.low) - 1).astype(np.float32)


@pytest.mark.filterwarnings("ignore:.*Box observation space.*")
@pytest.mark.parametrize("task", TASKS)
def test_gymnasium_checker(task):
    env = gym.make(gym_id(task))
    check_env(env.unwrapped, skip_render_check=True)
    env.close()


def test_every_task_has_an_id():
    assert set(NAMES) == set(TASKS)


@pytest.mark.parametrize("task", TASKS)
def test_length_of_observation_and_episode(task):
    env = make(task)
    observation, info = env.reset(seed=0)
    assert observation.shape == (LENGTHS[task],) and len(env._observer.names()) == LENGTHS[task]
    assert 0 <= info["fractional_success"] < 0.01 and not info["success"]
    assert env.limit == STEPS[task] and observation[0] == 1  # all the time is left
    env.close()


def test_the_end_of_an_episode(env):
    env.reset()
    for step in range(250):
        observation, *_, truncated, _ = env.step(stay(env))
        assert truncated == (step == 249)
    assert observation[0] == pytest.approx(-1)
    with pytest.raises(Problem, match="over after 250 steps; call reset"):
        env.step(stay(env))


def test_observation_is_the_references_order(env):
    """Robot, then the block (type, size, place, turn, velocities), then the goal; types raw, the rest between their bounds."""
    observation, _ = env.reset()
    at = dict(zip(env._observer.names(), observation))
    names = env._observer.names()
    assert names[0] == "time_left" and names[1] == "joint_positions/0" and names[10] == "joint_velocities/0"
    assert names[28:32] == ["tool_block/type", "tool_block/size/0", "tool_block/size/1", "tool_block/size/2"]
    assert names[45] == "goal_block/type" and names[-1] == "goal_block/orientation/3"
    assert at["tool_block/type"] == 1 and at["goal_block/type"] == 20
    assert at["tool_block/size/0"] == pytest.approx(0)  # .065 is the middle of .03 to .1
    assert at["tool_block/cartesian_position/1"] == pytest.approx(-0.16)
    assert at["tool_block/orientation/3"] == pytest.approx(0.1)


def test_raw_observations_are_in_their_units():
    env = make(normalized=False)
    at = dict(zip(env._observer.names(), env.reset()[0]))
    assert at["time_left"] == 10 and at["tool_block/cartesian_position/1"] == -0.08 and at["tool_block/size/0"] == 0.065
    env.close()


@pytest.mark.parametrize("mode", MODES)
def test_every_action_mode_moves_the_robot(mode):
    env = make(action_mode=mode, skip_frame=5)
    env.reset(seed=0)
    before = env.state["joint_positions"]
    env.action_space.seed(0)
    for _ in range(10):
        env.step(env.action_space.sample())
    assert np.abs(env.state["joint_positions"] - before).max() > 0.01
    env.close()


@pytest.mark.parametrize("env", [{"action_mode": "end_effector_positions"}], indirect=True)
def test_tips_go_where_they_are_told(env):
    """CausalWorld adds the floor's height twice and stops its search early: 11 mm above, up to 15 mm off."""
    env.reset()
    tips = env._now.tips + (0, 0, 0.03)
    action = 2 * (tips.ravel() - env._actions.low) / (env._actions.high - env._actions.low) - 1
    for _ in range(100):
        env.step(action)
    assert np.linalg.norm(env._now.tips - tips, axis=1).max() < 0.006  # gravity bends the PD controller by some millimetres


def test_seeds_and_order_do_not_matter(env):
    """Same seed, same goals; episodes before leave no trace."""
    env.reset(seed=3)
    goal = env.sample_goal("a")
    other = make()
    other.reset(seed=3)
    assert all(np.array_equal(goal[key], value) for key, value in other.sample_goal("a").items())
    rows = []
    for world in (env, other, env):
        world.reset(seed=1)
        world.action_space.seed(1)
        rows.append([world.step(world.action_space.sample())[0] for _ in range(30)])
    assert np.array_equal(rows[0], rows[1]) and np.array_equal(rows[0], rows[2])
    other.close()


def test_rewards():
    made = {kind: make(reward=kind) for kind in ("dense", "fractional", "sparse", "none")}
    changes = {"tool_block": {"cartesian_position": [0, 0.06, 0.0325]}}
    rewards = {}
    for kind, env in made.items():
        env.reset(options={"interventions": changes})
        rewards[kind], info = env.step(stay(env))[1], env.step(stay(env))[4]
        env.close()
    share = 0.045 / 0.065
    assert info["fractional_success"] == pytest.approx(share, abs=0.01) and not info["success"]
    assert rewards["fractional"] == pytest.approx(0.04 * share, abs=1e-3)
    assert rewards["sparse"] == rewards["none"] == 0
    assert rewards["dense"] != rewards["fractional"]


def test_dense_reward_is_paid_for_coming_nearer(env):
    env.reset()
    before = env._now
    nearer = {**before.state, "tool_block": {**before.state["tool_block"], "cartesian_position": np.array([0, -0.04, 0.0325])}}
    after = type(before)(nearer, before.tips, before.torques)
    approach, way, turn = env.task.dense_terms(after, before)
    assert way == pytest.approx(0.04) and turn == 0
    assert approach == pytest.approx(before.tip_distance("tool_block") - after.tip_distance("tool_block"))


def test_a_block_in_its_goal_is_success(env):
    _, info = env.reset(options={"interventions": {"tool_block": {"cartesian_position": [0, 0.08, 0.0325]}}})
    assert info == {"fractional_success": pytest.approx(1), "success": True}
    assert env.step(stay(env))[2] is False  # success never ends an episode


@pytest.mark.parametrize("action, said", [
    (np.zeros(8), r"9 numbers.*got shape \(8,\)"), (np.full(9, np.nan), "must be finite"),
])  # fmt: skip
def test_bad_actions(env, action, said):
    env.reset()
    with pytest.raises(Problem, match=said):
        env.step(action)


def test_actions_out_of_range_are_cut_or_refused(env):
    strict = make(clip=False)
    for world in (env, strict):
        world.reset()
    assert np.array_equal(env.step(np.full(9, 3.0))[0], make_step(np.ones(9)))
    with pytest.raises(Problem, match="must lie in Box"):
        strict.step(np.full(9, 1.5))
    strict.close()


def make_step(action):
    env = make()
    env.reset()
    observation = env.step(action)[0]
    env.close()
    return observation


@pytest.mark.parametrize("options, said", [
    ({"task": "pushin"}, "did you mean 'pushing'"), ({"action_mode": "torques"}, "joint_torques"),
    ({"skip_frame": 0}, "from 1 on, got 0"), ({"reward": "spare"}, "did you mean 'sparse'"),
    ({"space": "c"}, "no space 'c'"), ({"collision": "capsule"}, "no collision 'capsule'"),
    ({"dynamics": "real"}, "no dynamics 'real'"), ({"robot": "one"}, "no robot 'one'"),
    ({"task": "picking", "task_params": {"height": 1}}, "'picking' cannot be made"),
])  # fmt: skip
def test_bad_options(options, said):
    with pytest.raises(Problem, match=said):
        make(**options)


def test_a_step_before_reset():
    env = make()
    with pytest.raises(Problem, match=r"call reset\(\) first"):
        env.step(np.zeros(9))
    env.close()


@pytest.mark.parametrize("options, said", [
    ({"source": "papr"}, "did you mean 'paper'"), ({"renderer": "foo"}, "there is no renderer 'foo'"),
    ({"max_steps": 0}, "max_steps must be"), ({"max_steps": 2.5}, "max_steps must be"),
    ({"observation": "pixel", "cameras": ()}, "one camera at least"),
])  # fmt: skip
def test_options_are_checked_at_once(options, said):
    with pytest.raises(Problem, match=said):
        make(**options)


def test_obstacles_of_reaching():
    """Eleven numbers each; more come to those that are there."""
    env = make("reaching")
    env.reset(seed=0)
    lengths, places = [], []
    for count in (1, 3, 2):
        for _ in range(20):  # a cube that would be in a finger is refused
            if env.intervene({"number_of_obstacles": count}).accepted:
                break
        lengths.append(len(env.observe()))
        places.append(env.value("obstacle_0/cartesian_position"))
        env.step(np.zeros(9))
    assert lengths == [48, 70, 59] and all(np.array_equal(place, places[0]) for place in places)
    assert env.reset(seed=0)[0].shape == (37,)
    env.close()
