"""Search with drawn candidates, in a world whose actions are vectors: it reaches what greedy and random actions do not."""

import numpy as np
import pytest
import torch

from envs.problem import Problem
from envs.protocols import Goals
from envs.spec import Action, EnvSpec, Observation
from eval.planning.actions import Choices, Numbers
from eval.planning.latent_search import LatentSearch
from eval.planning.oracles import Random
from eval.planning.planners import make_planner, planners
from eval.planning.sampling import Sampling, TrueSampling
from eval.planning.search import Search
from eval.planning.tasks import draw_tasks, has_goals, play, run_policy


class Points:
    """States of `Cart`: rows (B, 4) float32."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def take(self, index):
        return Points(self.rows[index])


class Cart:
    """A body in the plane, pushed by a force of two numbers; solved within 0.1 of the goal's place, at any speed."""

    spec = EnvSpec({"state": Observation("objects", (1, 4), "real")}, Action(2, low=(-1.0, -1.0), high=(1.0, 1.0)), 1)
    turn = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0.5, 0, 0.9, 0], [0, 0.5, 0, 0.9]], np.float32)
    push = np.array([[0, 0, 1, 0], [0, 0, 0, 1]], np.float32)

    def reset(self, batch, rng, mode):
        return Points(rng.normal(0, 1, (batch, 4)).astype(np.float32))

    def pack(self, state):
        return state.rows

    def unpack(self, rows):
        return Points(rows)

    def noise(self, batch, rng): ...

    def step(self, state, action, noise=None):
        return Points(state.rows @ self.turn + action @ self.push), np.zeros(len(state), bool)

    def observe(self, state, column=None):
        return state.rows[:, None]

    def candidates(self, action, rng, count): ...

    def draw_goals(self, state, rng, steps, may_equal_start=False):
        actions = rng.uniform(-1, 1, (len(state), steps, 2)).astype(np.float32)
        for t in range(steps):
            state, _ = self.step(state, actions[:, t])
        return state, actions

    def distance(self, state, goal):
        return np.linalg.norm((state.rows - goal.rows)[:, :2], axis=1)

    def solved(self, state, goal):
        return self.distance(state, goal) < 0.1


class KnownDynamics:
    """The cart's own dynamics as a model, on any device."""

    device = torch.device("cpu")

    def encode(self, obs):
        return obs.float()

    def step(self, latent, action, memory=None):
        return latent @ torch.from_numpy(Cart.turn) + (action @ torch.from_numpy(Cart.push))[:, None], None


class Place(torch.nn.Module):
    def forward(self, latent, goal):
        return (latent - goal)[..., :2].pow(2).flatten(1).sum(-1)


CART = Cart()
FEW = {"candidates": 64, "iterations": 4}


def test_vectors_of_actions_are_searched():
    """CEM and MPPI reach nearly every goal four forces away; one look ahead and random forces do not."""
    assert isinstance(CART, Goals) and not has_goals(CART)
    tasks, model = draw_tasks(CART, 60, 4, seed=0), KnownDynamics()
    made = {name: make_planner(name, FEW, model, CART, Place(), 0) for name in ("cem", "mppi")}
    shares = {name: run_policy(CART, tasks, policy, 0).mean() for name, policy in made.items()}
    shares["shortsighted"] = run_policy(CART, tasks, Sampling(model, CART, Place(), depth=1, **FEW), 0).mean()
    shares["random"] = run_policy(CART, tasks, Random(CART, 0), 0).mean()
    assert min(shares["cem"], shares["mppi"]) > 0.9 and max(shares["shortsighted"], shares["random"]) < 0.5, shares


def test_equal_seeds_equal_actions():
    """And another seed draws other plans; a policy begins anew with every goal."""
    tasks, model = draw_tasks(CART, 5, 3, seed=1), KnownDynamics()

    def actions(policy):
        policy.begin(CART.observe(tasks.goal))
        return policy.act(CART.observe(tasks.start), 3)

    first, other = (Sampling(model, CART, Place(), seed=seed, **FEW) for seed in (0, 1))
    np.testing.assert_array_equal(actions(first), actions(first))
    assert (actions(first) != actions(other)).any() and actions(first).shape == (5, 2)


def test_a_sum_of_costs_hurries():
    """The goal stands already: with the cost at the end a plan may wander, with their sum it must not."""
    start = CART.reset(50, np.random.default_rng(0), "train")
    start.rows[:, 2:] = 0
    far = {}
    for cost in ("final", "sum"):
        policy = Sampling(KnownDynamics(), CART, Place(), depth=4, cost=cost, **FEW)
        policy.begin(CART.observe(start))
        after, _ = CART.step(start, policy.act(CART.observe(start), 4))
        after, _ = CART.step(after, np.zeros((50, 2), np.float32))
        far[cost] = CART.distance(after, start).mean()
    assert far["sum"] < 0.5 * far["final"]


@pytest.mark.parametrize("cost", ["final", "sum"])
def test_the_true_world_searches_as_a_model_that_knows_it(cost):
    """The same candidates, costs and distance: a perfect model and the simulator take the same actions."""
    tasks, asked = draw_tasks(CART, 7, 5, seed=2), {"cost": cost, "depth": 2, "hold": 2, "elites": 8, **FEW}
    model = Sampling(KnownDynamics(), CART, Place(), **asked)
    true = TrueSampling(KnownDynamics(), CART, Place(), **asked)
    taken = [[played.action for played in play(CART, tasks, policy, 0)] for policy in (model, true)]
    np.testing.assert_array_equal(*taken)
    assert len(taken[0]) == 5


def test_an_action_is_held_and_then_planned_anew():
    """Of plans of three actions, two steps each, over five steps: what is asked, and what is done."""
    asked = []

    def costs(plans):
        asked.append(plans.shape)
        assert (plans[:, :, 0] == plans[:, :, 1]).all()
        return np.abs(plans - 0.5).sum((2, 3))

    search = Search(Action(2, low=(-1.0, -1.0), high=(1.0, 1.0)), np.random.default_rng(0), 3, 16, 2, elites=4, hold=2)
    done = [search.act(4, remaining, costs if remaining % 2 else None) for remaining in (5, 4, 3, 2)]
    assert asked == [(4, 16, 5, 2)] * 2 + [(4, 16, 3, 2)] * 2  # never past the last step
    assert (done[0] == done[1]).all() and (done[2] == done[3]).all() and (done[0] != done[2]).any()


def test_distributions_follow_what_they_fit():
    """Weights and smoothing by hand; draws stay within their bounds."""
    choices = Choices(Action(3, discrete=True), 1, 1)
    choices.fit(np.array([[[2], [0]]]), np.array([[0.75, 0.25]]), smoothing=0.4)
    np.testing.assert_allclose(choices.share[0, 0], 0.4 / 3 + 0.6 * np.array([0.25, 0, 0.75]))
    assert choices.mode() == 2
    drawn = choices.draw(np.random.default_rng(0), 20_000)
    np.testing.assert_allclose(np.bincount(drawn.ravel()) / 20_000, choices.share[0, 0], atol=0.02)
    numbers = Numbers(Action(1, low=(-2.0,), high=(4.0,)), 1, 1)
    assert numbers.mode() == 1 and (abs(numbers.draw(np.random.default_rng(0), 500) - 1) <= 3).all()
    numbers.fit(np.array([[[[0.0]], [[2.0]]]]), np.array([[0.5, 0.5]]), smoothing=0.5)
    assert numbers.mean == 1 and numbers.std == 0.5 * 3 + 0.5 * 1


def test_what_cannot_be_searched_is_told():
    """Every action of a torque, draws without bounds, a cost and a number of candidates that do not exist."""
    unbounded = type("Unbounded", (Cart,), {"spec": EnvSpec(Cart.spec.observations, Action(2), 1)})()
    for made, said in (
        (lambda: LatentSearch(KnownDynamics(), CART, Place()), r"vectors of 2 numbers; use planners=\[cem\]"),
        (lambda: Sampling(KnownDynamics(), unbounded, Place()), "of 2 numbers have none; set low= and high="),
        (lambda: Sampling(KnownDynamics(), CART, Place(), cost="som"), "no cost 'som' of a plan: did you mean 'sum'"),
        (lambda: Sampling(KnownDynamics(), CART, Place(), candidates=1), "at least 2 candidates, got 1"),
        (lambda: TrueSampling(KnownDynamics(), CART, Place(), candidates=1), "at least 2 candidates, got 1"),
        (lambda: TrueSampling(KnownDynamics(), CART, Place(), cost="som"), "no cost 'som' of a plan: did you mean 'sum'"),
        (lambda: TrueSampling(KnownDynamics(), unbounded, Place()), "of 2 numbers have none; set low= and high="),
        (lambda: Sampling(KnownDynamics(), CART, Place(), hold=0), "held for at least 1 step, got 0"),
        (lambda: Sampling(KnownDynamics(), CART, Place(), depth=0), "depth of a search is at least 1, got 0; set depth="),
        (lambda: Sampling(KnownDynamics(), CART, Place(), iterations=0), "iterations of a search is at least 1, got 0"),
        (lambda: Sampling(KnownDynamics(), CART, Place(), elites=0), "elites of a search is at least 1, got 0"),
        (lambda: Sampling(KnownDynamics(), CART, Place(), elites=500), "elites are of the 128 candidates of a search, got 500"),
        (lambda: Sampling(KnownDynamics(), CART, Place(), temperature=0.0), "temperature of a search is above 0, .* got 0.0"),
        (lambda: Sampling(KnownDynamics(), CART, Place(), smoothing=1.5), "smoothing of a search is from 0 to 1, got 1.5"),
        (lambda: LatentSearch(KnownDynamics(), CART, Place(), depth=0), "depth of a beam search is at least 1, got 0"),
        (lambda: LatentSearch(KnownDynamics(), CART, Place(), width=0), "width of a beam search is at least 1, got 0"),
    ):
        with pytest.raises(Problem, match=said):
            made()


def test_every_planner_has_its_place(root):
    """A file in configs/planner that configs/plan.yaml does not name would never be found."""
    assert planners().keys() == {path.stem for path in (root / "configs" / "planner").glob("*.yaml")}
    assert all(planner["label"] for planner in planners().values())
