"""Which cause did the model get wrong? The same states and actions, with one cause set anew, from space A and from space B.

A state of the file is gone on from as it was, and with other values of one cause at a time; the true world says what follows.
A model that knows the cause predicts either as well. One that was not shown it, or was never taught values of space B, is as
far from the truth as the cause moved it. Causes that move nothing, as a goal or a colour, must not move predictions either.
"""

import numpy as np
import torch

from envs.frames import frame_ids
from envs.protocols import Blocks, Causes
from envs.streams import Stream
from eval.probes.block_error import millimetres
from eval.probes.probe import Row, no_forecast, probe
from eval.ranking import hits_at_k, ranks
from eval.rollouts import decode_frames, encode_frames, rollout

STATES = 300
SPACES = ("a", "b")
AS_RECORDED = "nothing"
KEY = "test/cause/{cause}/"


def outcomes(world: Causes, state, action: np.ndarray, horizons: list[int]) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """What follows from states (B) under actions (B, T, ...), by horizon: what models are shown then, and the table."""
    found = {}
    for t in range(max(horizons)):
        state, _ = world.step(state, action[:, t], None)
        if t + 1 in horizons:
            found[t + 1] = world.observe(state), world.observe(state, "objects")
    return found


@probe(needs=(Causes, Blocks), unless=no_forecast, by_name=True, rows=tuple(
    Row(f"{KEY}{space}/{name}/", f"{label} with {{cause}} of space {space.upper()}", higher_is_better=better, percent=better,
        horizons=())
    for space in SPACES for name, label, better in (
        ("hits@1", "H@1", True), ("block_error", "block error, median, mm,", False), ("effect", "the block elsewhere, median, mm,", False))
))  # fmt: skip
def wrong_causes(run, data) -> dict[str, float]:
    """For every cause and space, and for states as they were: H@1 among all outcomes, percent; over blocks that move, the error
    of the decoded position and how far the cause moved the outcome, medians, mm.

    Asked of windows in which something moves. `causes` of the results says how many states took a value.
    """
    world, metrics, longest = run.world, {}, max(data.horizons)
    moved = data.events(longest).get("moved", np.ones(len(data.action), bool))
    chosen = np.flatnonzero(moved)
    chosen = chosen[Stream.ASKED.rng().permutation(len(chosen))[:STATES]]
    state, action, rng = world.unpack(data.state[chosen, 0]), data.action[chosen], Stream.CAUSES.rng()
    before = outcomes(world, state, action, data.horizons)
    data.protocol["causes"], taken = [AS_RECORDED, *world.causes()], {}
    for cause in data.protocol["causes"]:
        for space in SPACES:
            if cause == AS_RECORDED:
                other, done = state, np.ones(len(chosen), bool)
            else:
                other, done = world.set_cause(state, cause, space, rng)
            kept = np.flatnonzero(done)
            taken[f"{cause}, {space.upper()}"] = len(kept)
            if len(kept) > 1:
                of = before if cause == AS_RECORDED else outcomes(world, other.take(kept), action[kept], data.horizons)
                key = KEY.format(cause=cause.replace(" ", "_")) + space
                unchanged = {h: table[kept] for h, (_, table) in before.items()}
                metrics |= _judged(run, key, other.take(kept), data.actions[chosen[kept]], of, unchanged)
        data.say(f"cause: {cause}")
    data.arrays["causes"] = taken
    return metrics


def _judged(run, key: str, start, actions: torch.Tensor, truth: dict, unchanged: dict[int, np.ndarray]) -> dict[str, float]:
    """Metrics of one cause and space.  truth: as `outcomes`.  unchanged: tables (B, N, F) that follow without the change."""
    world, metrics = run.world, {}
    latent, still = encode_frames(run.model, world.observe(start)), world.positions(world.observe(start, "objects"))
    for h, (shown, table) in truth.items():
        guess, groups = rollout(run.model, latent, actions[:, :h]), frame_ids(shown, world.shown.resolution)
        metrics[f"{key}/hits@1/h{h}"] = hits_at_k(ranks(guess, encode_frames(run.model, shown), groups=groups))
        there = world.positions(table)
        moves = np.linalg.norm(there - still, axis=-1) > 1e-3
        metrics[f"{key}/effect/h{h}"] = millimetres(world.positions(unchanged[h]), there, moves).median
        if run.model.decoder is not None and len(world.shown.shape) == 2:
            predicted = world.positions(decode_frames(run.model, guess).numpy())
            metrics[f"{key}/block_error/h{h}"] = millimetres(predicted, there, moves).median
    return metrics
