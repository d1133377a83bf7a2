"""Which objects to put right first: those that more of the others answer to, by the model's own answers to commands."""

import numpy as np
import torch

from envs.problem import Problem
from envs.protocols import Painting
from envs.streams import Stream
from eval.planning.latent_search import LatentSearch
from eval.probes.cuts import MOVES
from eval.probes.structure import STATES, answers
from eval.rollouts import encode_frames
from models.goal_distance import OrderedDistance

WALK = 20  # random commands, after which every object was painted but for one in a hundred


def _check(model, world) -> None:
    """Raises Problem where nothing answers to commands, or where latents have no slot for each object."""
    if not isinstance(world, Painting):
        raise Problem("planner 'causes_first' goes by what answers to commands, and no colour is commanded here; leave it out")
    start = world.reset(1, Stream.ORDER.rng(), "train")
    if encode_frames(model, world.observe(start)).shape[1] == 1:
        raise Problem("planner 'causes_first' needs a slot for each object, and this model has one latent; leave it out")


def ordered_distance(model, world, seed: int) -> OrderedDistance:
    """A distance that weighs a slot by how many objects answer to commands on its object. Raises Problem as `_check` does.

    The graph is the one that the model answers by (eval/probes/structure.py), never the true one. Boards that it is asked on
    are drawn from the world as those of training are.
    """
    _check(model, world)
    rng = Stream.ORDER.rng(seed)
    # Boards on which everything was painted. Left alone, an object may have one colour nearly always: an effect that gives it
    # this very colour moves nothing, and no other colour is near on such a scale.
    painted, _ = world.draw_goals(world.reset(STATES, rng, "train"), rng, WALK, may_equal_start=True)
    found = answers(model, world, world.pack(painted))
    answering = ((found.moved > MOVES) & ~np.eye(len(found.moved), dtype=bool)).sum(0)  # to commands on each object
    order = found.slots[np.argsort(-answering, kind="stable")]
    latent = encode_frames(model, world.observe(painted))
    scale = (latent - latent.roll(1, 0)).pow(2).sum(-1).mean(0)
    return OrderedDistance(torch.from_numpy(order), scale)


class CausesFirst(LatentSearch):
    """Greedy, but causes are put right before effects, whatever those do meanwhile; the last action is plainly greedy.

    ordered: a distance in which a cause outweighs all it may upset; none: the one of the model's own answers. One action for
    each object then reaches any goal.
    """

    def __init__(self, model, world, distance, seed: int = 0, ordered: OrderedDistance | None = None) -> None:
        super().__init__(model, world, distance)
        self.plain = self.distance
        self.ordered = (ordered_distance(model, world, seed) if ordered is None else ordered).to(model.device)

    @staticmethod
    def check(model, world) -> None:
        _check(model, world)

    def act(self, obs: np.ndarray, remaining: int) -> np.ndarray:
        self.distance = self.plain if remaining == 1 else self.ordered
        return super().act(obs, remaining)
