"""Which cause did the model get wrong? The same states and actions, with one cause set anew, from space A and from space B.

A state of the file is gone on from as it was, and with other values of one cause at a time; the true world says what follows.
A model that knows the cause predicts either as well. One that was not shown it, or was never taught values of space B, is as
far from the truth as the cause moved it. Causes that move nothing, as a goal or a colour, must not move predictions either.
"""

import numpy as np
import torch

from envs.frames import frame_ids
from envs.protocols import SPACES, Blocks, Causes
from envs.streams import Stream
from eval.probes.block_error import millimetres
from eval.probes.probe import Row, no_forecast, probe
from eval.ranking import hits_at_k, ranks
from eval.rollouts import decode_frames, encode_frames, rollout

STATES = 300
AS_RECORDED = "nothing"


def cause_key(cause: str, space: str, kind: str, horizon: str = "") -> str:
    """The metric of a cause: hits@1, block_error or effect; the row of it without a horizon, h1."""
    return f"test/cause/{cause.replace(' ', '_')}/{space}/{kind}/{horizon}"


def seen(world: Causes, state) -> tuple[np.ndarray, np.ndarray]:
    """What models are shown of states, and their table."""
    table = world.observe(state, "objects")
    return table if world.shown.column == "objects" else world.observe(state), table


def outcomes(world: Causes, state, action: np.ndarray, horizons: list[int]) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """What follows from states (B) under actions (B, T, ...), as `seen`, by horizon."""
    found = {}
    for t in range(max(horizons)):
        state, _ = world.step(state, action[:, t], None)
        if t + 1 in horizons:
            found[t + 1] = seen(world, state)
    return found


@probe(needs=(Causes, Blocks), unless=no_forecast, by_name=True, rows=tuple(
    Row(cause_key("{cause}", space, name), f"{label} with {{cause}} of space {space.upper()}", higher_is_better=better,
        percent=better, horizons=())
    for space in SPACES for name, label, better in (
        ("hits@1", "H@1", True), ("block_error", "block error, median, mm,", False), ("effect", "the block elsewhere, median, mm,", False))
))  # fmt: skip
def wrong_causes(run, data) -> dict[str, float]:
    """For every cause and space, and for states as they were: H@1 among all outcomes, percent; over blocks that move, the error
    of the decoded position and how far the cause moved the outcome, medians, mm.

    Asked of windows in which something moves. `causes` of the results says how many states took a value.
    """
    world, metrics = run.world, {}
    moved = data.events(max(data.horizons)).get("moved", np.ones(len(data.action), bool))
    chosen = np.flatnonzero(moved)
    chosen = chosen[Stream.ASKED.rng().permutation(len(chosen))[:STATES]]
    if len(chosen) < 2:
        return {}  # no pool to rank in
    state, action, rng = world.unpack(data.state[chosen, 0]), data.action[chosen], Stream.CAUSES.rng()
    before = outcomes(world, state, action, data.horizons)
    unchanged = {h: table for h, (_, table) in before.items()}
    data.protocol["causes"], taken = [AS_RECORDED, *world.causes()], {}
    usual = _judged(run, state, data.actions[chosen], before, unchanged)
    for cause in data.protocol["causes"]:
        for space in SPACES:
            found, count = usual, len(chosen)
            if cause != AS_RECORDED:
                other, done = world.set_cause(state, cause, space, rng)
                kept = np.flatnonzero(done)
                other, count, found = other.take(kept), len(kept), {}
                if count > 1:
                    after, still = outcomes(world, other, action[kept], data.horizons), {h: one[kept] for h, one in unchanged.items()}
                    found = _judged(run, other, data.actions[chosen[kept]], after, still)
            taken[f"{cause}, {space.upper()}"] = count
            metrics |= {cause_key(cause, space, kind, f"h{h}"): value for (kind, h), value in found.items()}
        data.say(f"cause: {cause}")
    data.arrays["causes"] = taken
    return metrics


def _judged(run, start, actions: torch.Tensor, truth: dict, unchanged: dict[int, np.ndarray]) -> dict[tuple[str, int], float]:
    """What the model foretells from some states, by kind and horizon.  truth: as `outcomes`.  unchanged: tables (B, N, F) that
    follow without the change."""
    world, found = run.world, {}
    shown, table = seen(world, start)
    latent, still = encode_frames(run.model, shown), world.positions(table)
    for h, (shown, table) in truth.items():
        guess, groups = rollout(run.model, latent, actions[:, :h]), frame_ids(shown, world.shown.resolution)
        found["hits@1", h] = hits_at_k(ranks(guess, encode_frames(run.model, shown), groups=groups))
        there = world.positions(table)
        moves = np.linalg.norm(there - still, axis=-1) > 1e-3
        found["effect", h] = millimetres(world.positions(unchanged[h]), there, moves).median
        if run.model.decoder is not None and len(world.shown.shape) == 2:
            predicted = world.positions(decode_frames(run.model, guess).numpy())
            found["block_error", h] = millimetres(predicted, there, moves).median
    return found
