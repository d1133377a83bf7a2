"""Planning: with a perfect model it must do what the true world allows; policies see what they claim to see, no more."""

import numpy as np
import pytest
import torch

from envs.chemistry import ChemistryWorld
from envs.physics import PhysicsWorld
from envs.problem import Problem
from eval.plan import BASELINES, caption, reached
from eval.planning.latent_search import LatentSearch
from eval.planning.oracles import LowestWrong, Random, Replay, TrueGreedy, after_every_action
from eval.planning.planners import make_planner
from eval.planning.tasks import Tasks, draw_tasks, run_policy
from eval.planning.true_frames import TrueFrames
from models.goal_distance import FlatDistance, LatentDistance, SiameseDistance
from models.transitions.lstm import LSTM
from models.transitions.recurrent import RecurrentTransition
from models.world_model import WorldModel

PHYSICS = PhysicsWorld(3, observation="state")
CHEMISTRY = ChemistryWorld(num_objects=3, graph="chain3", observation="state", numbering="causal")


class PerfectModel:
    """Latents are factors, steps are the world's: what a flawless world model of a deterministic world would be."""

    device = torch.device("cpu")

    transition = None  # without a shorter way to try every action
    step_all_actions = WorldModel.step_all_actions

    def __init__(self, world):
        self.world = world

    def encode(self, obs):
        return obs.float()

    def step(self, latent, action, memory=None):
        cells, rank = latent[..., :25].argmax(-1).numpy(), latent[..., 25:].argmax(-1).numpy()
        state = np.zeros((*cells.shape, 7), np.float32)
        state[..., 0], state[..., 1] = np.divmod(cells, 5)
        state[..., 2] = rank
        after, _ = self.world.step(self.world.unpack(state), action.argmax(-1).numpy())
        return torch.from_numpy(self.world.factors(after)).float(), None


class CellDistance(torch.nn.Module):
    """The true distance, read off one-hot cells."""

    def forward(self, latent, goal):
        at, to = (torch.stack([z[..., :25].argmax(-1) // 5, z[..., :25].argmax(-1) % 5], -1) for z in (latent, goal))
        return (at - to).abs().sum((-1, -2)).float()


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("horizon", [1, 4])
def test_a_perfect_model_plans_as_the_true_world(closed, horizon):
    """Open or closed, greedy with a perfect model and the true distance takes the very actions of the true greedy policy;
    so does the simulator, which has no model at all."""
    tasks = draw_tasks(PHYSICS, 60, horizon, seed=1)
    model, distance = PerfectModel(PHYSICS), CellDistance()
    wanted = run_policy(PHYSICS, tasks, TrueGreedy(PHYSICS, 0), 0)
    assert 0 < wanted.sum() <= 60 and (horizon > 1 or wanted.all())
    for policy in (LatentSearch(model, PHYSICS, distance, closed=closed), TrueFrames(model, PHYSICS, distance, 0)):
        np.testing.assert_array_equal(run_policy(PHYSICS, tasks, policy, 0), wanted)


def test_deep_search_with_a_perfect_model_reaches_everything():
    """A beam that never drops a board is exhaustive: every goal two steps away is reached, greedy reaches fewer."""
    tasks = draw_tasks(PHYSICS, 300, 2, seed=2)
    model = PerfectModel(PHYSICS)
    shallow = run_policy(PHYSICS, tasks, LatentSearch(model, PHYSICS, LatentDistance()), 0)
    deep = run_policy(PHYSICS, tasks, LatentSearch(model, PHYSICS, LatentDistance(), width=15, depth=2), 0)
    assert deep.all() and shallow.mean() < 1


@pytest.mark.parametrize("name", ["cem", "mppi"])
def test_drawn_choices_come_near_to_all_of_them(name):
    """With the true board as model, plans of two actions: nearly what trying all 225 reaches, by drawing 4 times 48."""
    world, distance = PHYSICS, LatentDistance()
    tasks, model = draw_tasks(world, 80, 2, seed=2), PerfectModel(world)
    greedy = run_policy(world, tasks, LatentSearch(model, world, distance), 0).mean()
    every = run_policy(world, tasks, LatentSearch(model, world, distance, width=15, depth=2), 0).mean()
    asked = {"depth": 2, "candidates": 48, "iterations": 4, **({"elites": 8} if name == "cem" else {})}
    drawn = run_policy(world, tasks, make_planner(name, asked, model, world, distance, 0), 0).mean()
    assert every == 1 > greedy and drawn > 0.9 and drawn >= greedy, (greedy, drawn)


def test_depth_never_looks_past_the_last_step():
    """With one step left a deep search is a greedy one."""
    tasks, model = draw_tasks(PHYSICS, 20, 1, seed=3), PerfectModel(PHYSICS)
    deep = LatentSearch(model, PHYSICS, CellDistance(), width=4, depth=5)
    flat = LatentSearch(model, PHYSICS, CellDistance())
    for policy in (deep, flat):
        policy.begin(PHYSICS.observe(tasks.goal))
    shown = PHYSICS.observe(tasks.start)
    np.testing.assert_array_equal(deep.act(shown, 1), flat.act(shown, 1))


@pytest.mark.parametrize("world", [PHYSICS, CHEMISTRY], ids=["physics", "chemistry"])
def test_tasks(world):
    """Goals differ from their start, are the same for every model, and another seed draws others; replay tells the goal."""
    tasks, again, other = (draw_tasks(world, 50, 3, seed) for seed in (5, 5, 6))
    assert (world.distance(tasks.start, tasks.goal) > 0).all()
    np.testing.assert_array_equal(world.pack(tasks.goal), world.pack(again.goal))
    assert (world.pack(tasks.start) != world.pack(other.start)).any()
    assert tasks.actions.shape == (50, 3) and tasks.horizon == 3
    replayed = run_policy(world, tasks, Replay(), 0)
    assert replayed.all() if world is PHYSICS else 0 < replayed.mean() < 1
    assert run_policy(world, tasks, Random(world, 0), 0).mean() < 0.5


def test_chance_is_the_same_for_every_policy_and_hidden_from_it():
    """The same policy twice reaches the same goals; the simulator's picture of what would happen is a draw of its own."""
    tasks = draw_tasks(CHEMISTRY, 200, 1, seed=7)
    first, second = (run_policy(CHEMISTRY, tasks, Replay(), 0) for _ in range(2))
    np.testing.assert_array_equal(first, second)

    class Mirror:
        device = torch.device("cpu")

        def encode(self, obs):
            return obs.float()

    seen = run_policy(CHEMISTRY, tasks, TrueFrames(Mirror(), CHEMISTRY, LatentDistance(), 0), 0).mean()
    assert seen < 0.95  # a peek at the dice would reach nearly all


def test_memory_is_carried_along_the_path_taken():
    """Closed loop: what is remembered at a step is what watching the true frames and the chosen actions leaves behind."""
    torch.manual_seed(0)
    model = WorldModel(torch.nn.Flatten(1), RecurrentTransition(LSTM(24, 20), 1, 15, 84)).eval()
    model.encode = lambda obs: obs.float().flatten(1)[:, None]
    tasks = draw_tasks(PHYSICS, 8, 4, seed=8)
    policy = LatentSearch(model, PHYSICS, LatentDistance(), width=2, depth=2)
    frames, chosen, boards = [], [], tasks.start
    policy.begin(PHYSICS.observe(tasks.goal))
    for t in range(4):
        frames.append(torch.from_numpy(PHYSICS.factors(boards)).float().flatten(1)[:, None])
        chosen.append(policy.act(PHYSICS.observe(boards), 4 - t))
        boards, _ = PHYSICS.step(boards, chosen[-1])
    actions = torch.nn.functional.one_hot(torch.from_numpy(np.stack(chosen, 1)), 15).float()
    with torch.no_grad():
        wanted = model.filter(torch.stack(frames, 1), actions)
    torch.testing.assert_close(policy.memory, wanted, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_search_is_exhaustive_where_nothing_is_dropped():
    """Against every sequence of three actions rolled out by hand, with a model that remembers."""
    torch.manual_seed(0)
    world = PhysicsWorld(2, observation="state")
    model = WorldModel(torch.nn.Identity(), RecurrentTransition(LSTM(24, 20), 2, 10, 27)).eval()
    model.encode = lambda obs: obs.float()
    tasks = draw_tasks(world, 6, 3, seed=9)
    policy = LatentSearch(model, world, LatentDistance(), width=100, depth=3)
    policy.begin(world.observe(tasks.goal))
    chosen = policy.act(world.observe(tasks.start), 3)
    every = torch.cartesian_prod(*[torch.arange(10)] * 3)
    for episode in range(6):
        start = torch.from_numpy(world.factors(tasks.start.take([episode]))).float()
        goal = torch.from_numpy(world.factors(tasks.goal.take([episode]))).float()
        ends = model.rollout(start.expand(1000, -1, -1), torch.nn.functional.one_hot(every, 10).float())[:, -1]
        assert chosen[episode] == every[LatentDistance()(ends, goal.expand(1000, -1, -1)).argmin(), 0]


def test_every_action_of_every_board():
    """Boards first, then actions; each board keeps its own chance whatever is done to it."""
    rng = np.random.default_rng(0)
    boards = CHEMISTRY.reset(4, rng)
    noise, choices = CHEMISTRY.noise(4, rng), CHEMISTRY.spec.action.size
    every = after_every_action(CHEMISTRY, boards, noise)
    for board in range(4):
        for action in range(choices):
            alone, _ = CHEMISTRY.step(boards.take([board]), np.array([action]), noise[[board]])
            np.testing.assert_array_equal(CHEMISTRY.pack(alone)[0], CHEMISTRY.pack(every)[board * choices + action])


def test_a_diverged_model_is_refused():
    """NaN would choose some action, and zeros look like a weak model."""
    tasks, model = draw_tasks(PHYSICS, 3, 1, seed=1), PerfectModel(PHYSICS)
    model.step = lambda latent, action, memory=None: (latent * torch.nan, None)
    with pytest.raises(Problem, match="diverged"):
        run_policy(PHYSICS, tasks, LatentSearch(model, PHYSICS, LatentDistance()), 0)


def test_distances():
    """Siamese: a metric whatever its weights; the published one is no such thing; latent: a plain squared distance."""
    torch.manual_seed(0)
    a, b, c = torch.randn(3, 6, 2, 4)
    siamese = SiameseDistance(8)
    assert not siamese(a, a).any() and torch.equal(siamese(a, b), siamese(b, a)) and (siamese(a, b) > 0).all()
    assert (siamese(a, c) <= siamese(a, b) + siamese(b, c) + 1e-6).all()
    assert FlatDistance(8)(a, b).shape == (6,) and FlatDistance(8)(a, a).any()
    torch.testing.assert_close(LatentDistance()(a, b), ((a - b) ** 2).sum((1, 2)))


def test_painting_by_number_reaches_every_goal_of_causal_numbers():
    """Two lines without a model 'planned by the graph', as objects were numbered in causal order; other numbers spoil it."""
    shares = {}
    for numbering in ("causal", "permuted"):
        world = ChemistryWorld(numbering=numbering)
        found, _ = reached(world, draw_tasks(world, 300, 5, seed=1), {}, 0)
        shares[numbering] = found["plan/floor/painter/h5"]
    assert shares["causal"] == 100 > shares["permuted"] + 10
    assert "plan/floor/painter/h2" not in reached(PHYSICS, draw_tasks(PHYSICS, 5, 2, seed=1), {}, 0)[0]
    assert BASELINES["floor/painter"] == "floor: paint the lowest wrong number"


def test_painting_by_number_by_hand():
    """The first wrong object takes its goal's colour; where none is wrong, the last one is painted as it is."""
    boards = CHEMISTRY.reset(2, np.random.default_rng(0))
    goal = boards.take(np.arange(2))
    boards.colors[:], goal.colors[:] = [[0, 1, 2], [0, 1, 2]], [[0, 3, 4], [0, 1, 2]]
    policy = LowestWrong(CHEMISTRY)
    policy.begin(Tasks(boards, goal, np.zeros((2, 1), int)))
    assert policy.act(boards, 1).tolist() == [1 * 5 + 3, 2 * 5 + 2]


def test_the_caption_says_of_goals_what_every_world_keeps():
    """It said that goals differ from the start; TriFinger keeps some that do not, after ten draws."""
    plan = {"mode": "train", "episodes": 5, "reward": "latent", "planners": []}
    told = {"model": "gnn", "loss": "infonce", "env": "trifinger_pushing", "seed": 0, "metrics": {}}
    for allowed, said in ((True, "goals may equal the start"), (False, "goals that the start solves are drawn anew")):
        results = {**told, "plan": {**plan, "goal_may_equal_start": allowed}}
        assert f"5 fresh episodes, {said}; reward latent" in caption(results)
