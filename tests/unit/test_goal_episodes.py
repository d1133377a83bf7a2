"""Goal-reaching episodes: their lengths, rewards and goals are those of the planning tasks; an agent learns in them."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
from envs.chemistry import ChemistryWorld
from envs.physics import PhysicsWorld
from eval.planning.oracles import Replay, TrueGreedy
from eval.planning.tasks import Tasks, draw_tasks, run_policy
from train.agents.board_envs import STOCK, GoalEpisodes, glimpse, observation
from train.agents.training import EpisodeSums

WORLDS = {"physics": PhysicsWorld(3), "chemistry": ChemistryWorld(5), "delayed": ChemistryWorld(5, delay=1)}
STATES = {"physics": PhysicsWorld(3, observation="state"), "chemistry": ChemistryWorld(5, observation="state")}


def stay(episodes):
    """The action that leaves blocks where they are."""
    return np.zeros(episodes.num_envs, int)


@pytest.mark.parametrize("world", [*WORLDS.values(), *STATES.values()])
def test_observations_are_in_their_space(world):
    """At the start and after every step, for frames and factors; frame before goal."""
    episodes = GoalEpisodes(world, 6, 4, [0])
    rng, seen = np.random.default_rng(0), episodes.reset()
    for _ in range(9):
        for i in range(6):
            assert episodes.observation_space.contains({name: values[i] for name, values in seen.items()})
        half = seen["board"].shape[1] // 2
        assert np.array_equal(seen["board"][:, :half], glimpse(world.observe(episodes.boards)))
        assert np.array_equal(seen["board"][:, half:], glimpse(world.observe(episodes.goal)))
        assert np.array_equal(seen["remaining"].argmax(1) + 1, episodes.remaining)
        seen, reward, over, infos = episodes.step(rng.integers(0, world.spec.action.size, 6))
        assert reward.shape == over.shape == (6,) and len(infos) == 6
    if world.observation == "pixels":
        assert seen["board"].shape == (6, 6, 50, 50)


@pytest.mark.parametrize("world", WORLDS.values())
def test_episodes_end_after_exactly_their_actions(world):
    """Not when the goal is met, not later; then another begins in the same step, with another goal."""
    episodes = GoalEpisodes(world, 40, 5, [0])
    counted = EpisodeSums(episodes)
    counted.reset()
    rng, left = np.random.default_rng(0), episodes.remaining.copy()
    assert set(left) == {1, 2, 3, 4, 5}
    for _ in range(12):
        goals, before = world.pack(episodes.goal), left
        _, _, over, _ = counted.step(rng.integers(0, world.spec.action.size, 40))
        assert np.array_equal(over, before == 1)
        left = episodes.remaining.copy()
        assert np.array_equal(left[~over], before[~over] - 1) and (left >= 1).all()
        assert np.array_equal(world.pack(episodes.goal)[~over], goals[~over])
        assert (world.distance(episodes.boards, episodes.goal)[over] > 0).all()  # goals differ from the start
    assert counted.steps == 480 and counted.episodes >= 40 > counted.succeeded


def test_reward_is_the_way_made_and_success():
    """Blocks: a cell nearer is 1, a cell away -1, and 1 more only at the end of an episode whose goal stands."""
    world = PhysicsWorld(3)
    episodes = GoalEpisodes(world, 64, 1, [0])
    counted = EpisodeSums(episodes)
    counted.reset()
    way = world.distance(episodes.boards, episodes.goal) * 3
    chosen = TrueGreedy(world, 0)
    chosen.begin(Tasks(episodes.boards, episodes.goal.take(np.arange(64)), np.zeros((64, 1), int)))
    _, reward, over, _ = counted.step(chosen.act(episodes.boards, 1))
    assert over.all() and np.allclose(reward, way + 1) and counted.succeeded == 64  # one action made every goal
    assert counted.reward == reward.sum() and counted.episodes == 64
    _, reward, _, _ = episodes.step(stay(episodes))
    assert not reward.any()  # nothing moved and nothing is reached
    longer = GoalEpisodes(world, 64, 3, [1])
    longer.reset()
    longer.goal, longer.distance = longer.boards.take(np.arange(64)), np.zeros(64)  # as if it stood already
    _, reward, over, _ = longer.step(stay(longer))
    assert np.array_equal(reward, over.astype(float)) and not over.all()


def test_tasks_are_those_of_planning():
    """Goals are as far away in both, within chance, of one step and of several;
    replay reaches more than half of those one step away."""
    world = ChemistryWorld(5)
    episodes = GoalEpisodes(world, 2000, 1, [0])
    episodes.reset()
    tasks = draw_tasks(world, 2000, 1, seed=0)
    far = world.distance(episodes.boards, episodes.goal)
    assert abs(far.mean() - world.distance(tasks.start, tasks.goal).mean()) < 0.02
    assert run_policy(world, tasks, Replay(), 0).mean() > 0.5
    blocks = PhysicsWorld(3)
    several = GoalEpisodes(blocks, 4000, 4, [0])
    several.reset()
    away = blocks.distance(several.boards, several.goal)
    for steps in (1, 2, 4):  # a further step makes them farther by .2 and more
        there = draw_tasks(blocks, 4000, steps, seed=0)
        assert abs(away[several.remaining == steps].mean() - blocks.distance(there.start, there.goal).mean()) < 0.1
    assert not np.array_equal(world.pack(episodes.boards), world.pack(tasks.start))  # of another stream


def test_equal_seeds_equal_episodes():
    """And another seed gives others; a stock that runs out is drawn anew."""

    def play(seed):
        episodes = GoalEpisodes(STATES["chemistry"], 500, 2, seed)
        seen, rng = [episodes.reset()["board"]], np.random.default_rng(0)
        for _ in range(2 * STOCK // 500 + 2):
            seen.append(episodes.step(rng.integers(0, 25, 500))[0]["board"])
        return np.array(seen)

    assert np.array_equal(play([0, 1]), play([0, 1])) and not np.array_equal(play([0, 1]), play([0, 2]))


def test_observation_of_one_horizon():
    """One action left is the first of the one-hot places."""
    now = np.zeros((2, 3), np.uint8)
    seen = observation(now, now + 1, np.array([1, 4]), 4)
    assert seen["remaining"].tolist() == [[1, 0, 0, 0], [0, 0, 0, 1]] and seen["board"].tolist() == [[0, 0, 0, 1, 1, 1]] * 2
