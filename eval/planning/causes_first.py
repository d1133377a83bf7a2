"""Which objects to put right first: those that more of the others answer to, by the model's own answers to commands."""

import numpy as np
import torch

from envs.boards import draw_goal
from envs.problem import Problem
from envs.streams import Stream
from eval.probes.cuts import MOVES
from eval.probes.structure import STATES, answers
from eval.rollouts import encode_frames
from models.goal_distance import OrderedDistance

WALK = 20  # random commands, after which every object was painted but for one in a hundred


def ordered_distance(model, world, seed: int) -> OrderedDistance:
    """A distance that weighs a slot by how many objects answer to commands on its object.

    The graph is the one that the model answers by (eval/probes/structure.py), never the true one. Raises Problem where nothing
    answers to commands, or where latents have no slot for each object.
    """
    if not hasattr(world, "parents"):
        raise Problem("planner 'causes_first' goes by what answers to commands, and no colour is commanded here; leave it out")
    rng = Stream.ORDER.rng(seed)
    # Boards on which everything was painted. Left alone, an object may have one colour nearly always: an effect that gives it
    # this very colour moves nothing, and no other colour is near on such a scale.
    painted = draw_goal(world, world.reset(STATES, rng, "train"), rng, WALK, may_equal_start=True)
    latent = encode_frames(model, world.observe(painted))
    if latent.shape[1] == 1:
        raise Problem("planner 'causes_first' needs a slot for each object, and this model has one latent; leave it out")
    found = answers(model, world, world.pack(painted))
    answering = ((found.moved > MOVES) & ~np.eye(len(found.moved), dtype=bool)).sum(0)  # to commands on each object
    order = found.slots[np.argsort(-answering, kind="stable")]
    scale = (latent - latent.roll(1, 0)).pow(2).sum(-1).mean(0)
    return OrderedDistance(torch.from_numpy(order), scale)
