"""Families of tasks: their variables build all objects anew, resting, apart from one another, matching their goals."""

import numpy as np
import pytest

pytest.importorskip("pybullet")
from envs.problem import Problem  # noqa: E402
from envs.trifinger import make  # noqa: E402
from envs.trifinger.robot.robot import RAISED  # noqa: E402
from envs.trifinger.scene.state import CUBE, GOAL, STATIC, of_type, same  # noqa: E402
from envs.trifinger.tasks import make_task  # noqa: E402
from envs.trifinger.tasks.layout import in_columns, scattered  # noqa: E402

FAMILIES = ("towers", "stacked_blocks", "creative_stacked_blocks", "general")


@pytest.fixture(params=FAMILIES)
def env(request):
    env = make(request.param)
    env.reset(seed=0)
    yield env
    env.close()


def tools(env):
    return of_type(env.state, CUBE)


def test_the_default_scene_rests_and_touches_nothing(env):
    """CausalWorld's creative and general scenes begin with fingers inside blocks, its stacked blocks in mid-air."""
    assert not [pair for pair in env.world.contacts() if pair[2] > 1e-3 or "robot" in pair[:2]]
    before = env.state
    env.world.follow(RAISED, 125)
    after = env.world.read()
    assert max(np.abs(after[n]["cartesian_position"] - before[n]["cartesian_position"]).max() for n in tools(env)) < 2e-3
    assert env.success()["fractional_success"] < 0.01


def test_towers_count_their_blocks():
    env = make("towers")
    env.reset(seed=0)
    changes = {"number_of_blocks_in_tower": [2, 3, 2], "tower_dims": [0.1, 0.12, 0.08], "tower_center": [0.02, -0.03]}
    verdict = env.intervene(changes)
    assert verdict.accepted, verdict.reasons
    goals = of_type(env.state, GOAL)
    assert len(goals) == len(tools(env)) == 12 and "goal_level_1_col_2_row_1" in goals
    places = np.array([env.state[name]["cartesian_position"] for name in goals])
    assert places.mean(0) == pytest.approx([0.02, -0.03, 0.04])
    assert env.state[goals[0]]["size"] == pytest.approx([0.05, 0.04, 0.04])
    assert env.observation_space.shape == (28 + 12 * 28,) == env.observe().shape
    env.reset()
    assert env.observation_space.shape == (168,) and len(tools(env)) == 5
    env.close()


def test_rows_of_a_tower_go_along_x():
    """Columns and rows had each other's names and order: as in CausalWorld, x changes first, then y, then the level."""
    scene = make_task("towers", number_of_blocks_in_tower=(2, 3, 1), tower_dims=(0.1, 0.12, 0.04)).objects()
    places = {name: scene[name]["cartesian_position"].round(6).tolist() for name in of_type(scene, GOAL)}
    assert list(places) == [f"goal_level_0_col_{col}_row_{row}" for col in range(3) for row in range(2)]
    assert places["goal_level_0_col_2_row_0"] == [-0.025, 0.04, 0.02]
    assert places["goal_level_0_col_0_row_1"] == [0.025, -0.04, 0.02]


def test_a_tower_built_is_a_success():
    env = make("towers")
    env.reset()
    state = env.state
    for name in tools(env):
        state[name]["cartesian_position"] = state[name.replace("tool", "goal")]["cartesian_position"].copy()
    env.restore(state)
    assert env.success() == {"fractional_success": pytest.approx(1), "success": True}
    env.close()


def test_creative_shows_the_first_and_the_last_level():
    env = make("creative_stacked_blocks")
    env.reset(seed=0)
    assert len(tools(env)) == 24 and {name.split("_")[2] for name in of_type(env.state, GOAL)} == {"0", "7"}
    assert env.intervene({"number_of_obstacles": 3}).accepted
    assert len(of_type(env.state, STATIC)) == 3
    env.reset()
    assert of_type(env.state, STATIC) == []
    env.close()


def test_stacked_blocks_stand_on_one_another():
    env = make("stacked_blocks")
    env.reset(seed=0)
    for _ in range(10):
        assert env.intervene({"stack_levels": 4, "max_level_width": 0.12}).accepted
        goals = [env.state[name] for name in of_type(env.state, GOAL)]
        for goal in goals:
            x, _, z = goal["cartesian_position"]
            below = [g for g in goals if g["cartesian_position"][2] < z - 1e-6]
            low = [g for g in below if abs(g["cartesian_position"][2] + 0.035 - z) < 1e-6]
            assert not below or any(abs(x - g["cartesian_position"][0]) <= g["size"][0] / 2 for g in low)
    env.close()


@pytest.mark.parametrize("levels, edge", [(5, 0.035), (8, 0.1)])
def test_blocks_of_the_default_scene_wait_within_the_arena(levels, edge):
    """A pile of four blocks of ten centimetres would be higher than the arena: columns are, all over it."""
    env = make("stacked_blocks", task_params={"stack_levels": levels, "blocks_min_size": edge})
    env.reset()
    assert len(tools(env)) == levels * max(1, int(0.25 / edge))
    assert max(env.state[name]["cartesian_position"][2] for name in tools(env)) + edge / 2 <= 0.3 + 1e-9
    env.close()


def test_masses_alone_move_nothing(env):
    before = env.state
    assert env.intervene({"blocks_mass": 0.05}).accepted
    after = env.state
    for name in tools(env):
        assert after[name]["mass"] == 0.05 and np.array_equal(
            after[name]["cartesian_position"], before[name]["cartesian_position"]
        )


@pytest.mark.parametrize("space", ["a", "b"])
def test_drawn_scenes(env, space):
    """Of both spaces: accepted in a few tries, every goal with its block, the same for the same seed."""
    accepted = 0
    for seed in range(3):
        env.reset(seed=seed)
        accepted += env.intervene(env.sample_goal(space)).accepted
        for name in of_type(env.state, GOAL):
            assert np.array_equal(env.state[name]["size"], env.state[name.replace("goal", "tool")]["size"])
        env.step(env.action_space.sample())
    assert accepted >= 2
    drawn = []
    for _ in range(2):
        env.reset(seed=7)
        env.intervene(env.sample_goal(space))
        drawn.append(env.state)
    assert same(*drawn)


@pytest.mark.parametrize("changes, said", [
    ({"number_of_blocks_in_tower": [1, 1, 2.5]}, "must be whole numbers"),
    ({"number_of_blocks_in_tower": [1, 1, 9]}, "out of its bounds"),
    ({"tower_dims": [0.2, 0.2, 0.2], "tower_center": [0.1, 0.1]}, "beyond the round wall"),
    ({"number_of_blocks_in_tower": [1, 1, 1], "tool_level_4_col_0_row_0/mass": 0.02}, "does not exist any more"),
])  # fmt: skip
def test_refusals(changes, said):
    env = make("towers")
    env.reset(seed=0)
    before = env.state
    verdict = env.intervene(changes)
    assert not verdict.accepted and said in verdict.reasons[0] and same(env.state, before)
    env.close()


def test_more_blocks_than_the_arena_holds():
    with pytest.raises(Problem, match="400 blocks up to 60 mm wide do not fit the arena"):
        in_columns(np.full((400, 3), 0.06))


def test_layouts_keep_blocks_apart():
    sizes = np.random.default_rng(0).uniform(0.03, 0.05, (12, 3))
    for places in (in_columns(sizes), scattered(np.random.default_rng(1), sizes)[0]):
        for i in range(12):
            for j in range(i):
                apart = np.abs(places[i] - places[j]) - (sizes[i] + sizes[j]) / 2
                assert apart.max() >= -1e-9


def test_parameters_of_a_family():
    env = make("general", task_params={"nums_objects": 3})
    env.reset()
    assert len(tools(env)) == 3
    env.close()
    with pytest.raises(Problem, match="no parameter 'blocks'"):
        make("general", task_params={"blocks": 3})


@pytest.mark.parametrize("task, values, said", [
    ("towers", {"number_of_blocks_in_tower": (0, 1, 1)}, "must have shape"),
    ("towers", {"number_of_blocks_in_tower": (1, 1, 1.5)}, "whole numbers"),
    ("stacked_blocks", {"stack_levels": 0}, "must have shape"), ("general", {"nums_objects": -1}, "must have shape"),
    ("towers", {"tower_center": (1, 1, 1)}, "must have shape"),
])  # fmt: skip
def test_values_of_a_family_must_lie_in_their_bounds(task, values, said):
    with pytest.raises(Problem, match=said):
        make(task, task_params=values)
