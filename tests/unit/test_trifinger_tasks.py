"""Tasks against the original: order of observations, obstacles, spaces, goals one by one."""

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("pybullet")
import envs  # noqa: E402, F401  registers the ids
from envs.problem import Problem  # noqa: E402
from envs.trifinger import make  # noqa: E402
from envs.trifinger.interventions.actors import GoalActor  # noqa: E402
from envs.trifinger.scene.state import CUBE, GOAL, GOAL_SPHERE, STATIC, of_type  # noqa: E402
from envs.trifinger.tasks import make_task  # noqa: E402
from envs.trifinger.tasks.task import StepContext  # noqa: E402


@pytest.fixture
def env(request):
    task, options = request.param
    env = make(task, **options)
    env.reset(seed=0)
    yield env
    env.close()


def objects_in(env):
    """Objects in the order in which they are observed."""
    return list(dict.fromkeys(name.split("/")[0] for name in env.entries() if name.endswith("/type")))


@pytest.mark.parametrize("env", [("general", {})], indirect=True)
def test_general_shows_all_blocks_then_all_goals(env):
    assert objects_in(env) == [f"tool_{i}" for i in range(5)] + [f"goal_{i}" for i in range(5)]


@pytest.mark.parametrize("env", [("creative_stacked_blocks", {})], indirect=True)
def test_obstacles_of_creative_stacked_blocks_move_nothing_else(env):
    """They built the whole structure anew: 24 blocks became 9."""
    before = env.state
    assert env.intervene({"number_of_obstacles": 2}).accepted
    after = env.state
    assert env.observe().shape == (524,) and of_type(after, STATIC) == ["obstacle_0", "obstacle_1"]
    for name in of_type(before, CUBE, GOAL):
        assert all(np.array_equal(after[name][key], before[name][key]) for key in before[name])
    first = after["obstacle_0"]["cartesian_position"]
    for count in (3, 1):
        assert env.intervene({"number_of_obstacles": count, "blocks_mass": 0.05}).accepted
        assert len(of_type(env.state, STATIC)) == count
        assert np.array_equal(env.value("obstacle_0/cartesian_position"), first)
    assert env.value("tool_level_0_num_0/mass") == 0.05


@pytest.mark.parametrize("env", [("picking", {"space": "b"})], indirect=True)
def test_spaces_of_picking_are_the_codes(env):
    """They pinned the block to the floor and the goal to the middle, so protocols drew other starts than the original's."""
    tool, aim = (env.variables()[f"{name}/cylindrical_position"] for name in ("tool_block", "goal_block"))
    assert tool.a[0] == pytest.approx([0, -np.pi, 0.0325]) and tool.a[1] == pytest.approx([0.11, np.pi, 0.15])
    assert tool.b[0] == pytest.approx([0.11, -np.pi, 0.0325]) and tool.b[1] == pytest.approx([0.15, np.pi, 0.3])
    assert aim.a[0] == pytest.approx([0, -np.pi, 0.08]) and aim.a[1] == pytest.approx([0.11, np.pi, 0.2])
    assert aim.b[0] == pytest.approx([0.11, -np.pi, 0.2]) and aim.b[1] == pytest.approx([0.15, np.pi, 0.25])
    verdict = env.intervene({"goal_block": {"cylindrical_position": [0.12, 0, 0.22]}})
    assert verdict.accepted and env.value("goal_block/cartesian_position") == pytest.approx([0, 0, 0.22])
    verdict = env.intervene({"goal_block": {"cartesian_position": [0.13, 0, 0.21]}})  # a place is the same by each name
    assert verdict.accepted and env.value("goal_block/cartesian_position") == pytest.approx([0, 0, 0.21])
    for even in (False, True):
        env.reset()
        assert env.intervene(GoalActor("b", by_area=even).request(env, np.random.default_rng(0))).accepted
        assert env.value("goal_block/cartesian_position")[:2] == pytest.approx([0, 0])


@pytest.mark.parametrize("env", [("picking", {"task_params": {"block_on_floor": True}})], indirect=True)
def test_the_block_of_picking_can_be_kept_on_the_floor(env):
    tool = env.variables()["tool_block/cylindrical_position"]
    assert tool.a[1][2] == tool.b[1][2] == 0.0325


@pytest.mark.parametrize("task, goal", [
    ("stacking2", "goal_block_1"), ("towers", "goal_level_1_col_0_row_0"), ("general", "goal_2"),
    ("stacked_blocks", "goal_level_0_num_3"),
])  # fmt: skip
def test_goals_can_be_placed_one_by_one(task, goal):
    """In no space, as in the original, so an active one refuses it."""
    env = make(task, space=None)
    env.reset(seed=0)
    others = {name: value for name, value in env.state.items() if name != goal}
    for key, value in {"cartesian_position": [0.05, -0.04, 0.29], "euler_orientation": [0, 0, 0.4]}.items():
        assert env.intervene({goal: {key: value}}).accepted
        assert env.value(f"{goal}/{key}") == pytest.approx(value)
    for name in of_type(others, GOAL):
        assert np.array_equal(env.state[name]["cartesian_position"], others[name]["cartesian_position"])
    assert not env.intervene({f"{goal}/cylindrical_position": [0.5, 0, 0.1]}).accepted
    env.close()
    bound = make(task)
    bound.reset(seed=0)
    assert "is in no space" in bound.intervene({f"{goal}/cartesian_position": [0.05, -0.04, 0.1]}).reasons[0]
    bound.close()


@pytest.mark.parametrize("env", [("stacking2", {"space": None})], indirect=True)
def test_what_is_given_for_one_goal_of_the_tower_counts_for_it(env):
    changes = {"goal_tower/cylindrical_position": [0.1, 0.5, 0.065], "goal_block_2/cartesian_position": [0, 0, 0.2]}
    assert env.intervene(changes).accepted
    assert env.value("goal_block_1/cylindrical_position") == pytest.approx([0.1, 0.5, 0.0325])
    assert env.value("goal_block_2/cartesian_position") == pytest.approx([0, 0, 0.2])


def moment(task, position, tips):
    """A task's start with its block elsewhere, as rewards read it."""
    scene = task.objects()
    scene["tool_block"]["cartesian_position"] = np.array(position)
    return StepContext({**scene, "joint_velocities": np.zeros(9)}, np.array(tips), np.zeros(9))


def test_a_block_carried_over_the_wall_loses_no_height():
    """Each moment had a target of its own, so that the step over the wall cost 29.4 a second. CausalWorld has one for both."""
    task = make_task("pick_and_place")
    before, now = (moment(task, (0, y, 0.15), np.full((3, 3), 0.15)) for y in (-1e-3, 1e-3))
    assert task.dense_terms(now, before)[2] == 0
    lower = moment(task, (0, 0.02, 0.14), np.full((3, 3), 0.15))
    assert task.dense_terms(lower, now)[2] == pytest.approx(0.01)  # beyond the wall down is the way
    assert task.dense_terms(moment(task, (0, -0.02, 0.14), np.full((3, 3), 0.15)), before)[2] == pytest.approx(-0.01)


def test_tips_beside_the_block_of_picking_count_by_what_is_outside():
    """The two nearest tips counted, .05; CausalWorld takes the two least means of what exceeds the size."""
    task, place = make_task("picking"), np.array([0, 0, 0.0325])
    now = moment(task, place, place + [(0.06, 0.06, 0.06), (0.07, 0, 0), (0.08, 0, 0)])
    assert task.dense_terms(now, now)[6] == pytest.approx(-0.07 / 3)


def test_goals_of_reaching_have_the_colours_of_their_fingers():
    """All three were green."""
    scene = make_task("reaching").objects()
    colors = {name: scene[name]["color"].tolist() for name in of_type(scene, GOAL_SPHERE)}
    assert colors == {"goal_60": [1, 0, 0], "goal_120": [0, 1, 0], "goal_300": [0, 0, 1]}


def test_an_id_is_one_task():
    """task="picking" silently made picking of the id of pushing."""
    with pytest.raises(Problem, match="causalwm/TriFingerPushing-v0 is the task 'pushing', not 'picking'"):
        gym.make("causalwm/TriFingerPushing-v0", task="picking")
    env = gym.make("causalwm/TriFingerPushing-v0", task="pushing", skip_frame=3)
    assert env.unwrapped.task.name == "pushing"
    env.close()
