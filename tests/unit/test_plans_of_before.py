"""Planners choose what they chose before policies were given observations: recorded from that code, on random weights."""

import zlib

import numpy as np
import pytest
import torch

from envs.chemistry import ChemistryWorld
from envs.physics import PhysicsWorld
from eval.planning.oracles import LowestWrong, Random, Replay, TrueGreedy
from eval.planning.planners import make_planner
from eval.planning.tasks import draw_tasks, play
from models.goal_distance import LatentDistance
from models.transitions.lstm import LSTM
from models.transitions.modular import ModularTransition
from models.transitions.recurrent import RecurrentTransition
from models.world_model import WorldModel

WORLDS = {
    "physics": PhysicsWorld(3, observation="state"),
    "chemistry": ChemistryWorld(num_objects=3, graph="chain3", observation="state", numbering="causal"),
}
BEFORE = {  # goals reached of 60, and a digest of all actions
    ("physics", "plain/model_closed"): (0, 3924597106),
    ("physics", "plain/model_open"): (1, 3061202673),
    ("physics", "plain/beam"): (1, 3013656878),
    ("physics", "plain/simulator"): (47, 1380354428),
    ("physics", "memory/model_closed"): (0, 516820866),
    ("physics", "memory/model_open"): (0, 1636548731),
    ("physics", "memory/beam"): (0, 3337462235),
    ("physics", "memory/simulator"): (47, 1380354428),
    ("physics", "greedy"): (60, 2681398604),
    ("physics", "random"): (1, 570487560),
    ("physics", "replay"): (60, 2573136014),
    ("chemistry", "plain/model_closed"): (1, 1824776771),
    ("chemistry", "plain/model_open"): (3, 1978605534),
    ("chemistry", "plain/beam"): (1, 3487284009),
    ("chemistry", "plain/simulator"): (49, 2280206847),
    ("chemistry", "plain/causes_first"): (0, 1458402878),
    ("chemistry", "memory/model_closed"): (5, 2231375274),
    ("chemistry", "memory/model_open"): (7, 83416352),
    ("chemistry", "memory/beam"): (3, 1667326542),
    ("chemistry", "memory/simulator"): (49, 2280206847),
    ("chemistry", "memory/causes_first"): (9, 100074644),
    ("chemistry", "greedy"): (56, 431872346),
    ("chemistry", "random"): (1, 570487560),
    ("chemistry", "replay"): (48, 345244847),
    ("chemistry", "painter"): (60, 2966882875),
}
ORACLES = {
    "greedy": lambda world: TrueGreedy(world, 0), "random": lambda world: Random(world, 0), "replay": lambda world: Replay(),
    "painter": LowestWrong,
}  # fmt: skip


def model_of(kind: str, world) -> WorldModel:
    """Random weights, on the factors themselves. The plain one is drawn first, as it was then."""
    size, width = world.spec.action.size, world.shown.shape[1]
    torch.manual_seed(0)
    made = {"plain": WorldModel(torch.nn.Identity(), ModularTransition(3, size, width))}
    made["memory"] = WorldModel(torch.nn.Identity(), RecurrentTransition(LSTM(24, 20), 3, size, width))
    made[kind].encode = lambda obs: obs.float()
    return made[kind].eval()


@pytest.mark.parametrize("env, name", [pytest.param(*key, id=" ".join(key)) for key in BEFORE])
def test_the_same_actions_bit_for_bit(env, name):
    world = WORLDS[env]
    if name in ORACLES:
        policy = ORACLES[name](world)
    else:
        kind, planner = name.split("/")
        own = {"width": 3, "depth": 2} if planner == "beam" else {}
        policy = make_planner(planner, own, model_of(kind, world), world, LatentDistance(), 0)
    tasks = draw_tasks(world, 60, 4, seed=1)
    steps = list(play(world, tasks, policy, 0))
    reached = int(world.solved(steps[-1].state, tasks.goal).sum())
    actions = np.stack([step.action.astype(np.int64) for step in steps])
    assert (reached, zlib.crc32(actions.tobytes())) == BEFORE[env, name]
