"""Which cause did the model get wrong? The same states and actions, with one cause set anew, from space A and from space B.

A state of the file is gone on from as it was, and with other values of one cause at a time; the true world says what follows.
A model that knows the cause predicts either as well. One that was not shown it, or was never taught values of space B, is as
far from the truth as the cause moved it. Causes that move nothing, as a goal or a colour, must not move predictions either.
"""

from typing import NamedTuple

import numpy as np
import torch

from envs.frames import frame_ids
from envs.protocols import SPACES, Blocks, Causes, State
from envs.streams import Stream
from eval.probes.block_error import millimetres
from eval.probes.block_readout import Places, places_of
from eval.probes.kept import kept
from eval.probes.probe import Row, bounds, no_forecast, probe
from eval.ranking import hits_at_k, ranks
from eval.rollouts import encode_frames, rollout

STATES = 300
AS_RECORDED = "nothing"


def cause_key(cause: str, space: str, kind: str, horizon: str = "") -> str:
    """The metric of a cause: hits@1, block_error, eyes or effect; the row of it without a horizon, h1."""
    return f"{_of(cause, space)}/{kind}/{horizon}"


def states_key(cause: str, space: str) -> str:
    """How many states took a value, the pool of hits@1."""
    return f"{_of(cause, space)}/states"


def _of(cause: str, space: str) -> str:
    return f"test/cause/{cause.replace(' ', '_')}/{space}"


def seen(world: Causes, state: State) -> tuple[np.ndarray, np.ndarray]:
    """What models are shown of states, and where their blocks are, (B, N, 3)."""
    table = world.observe(state, "objects")
    return table if world.shown.column == "objects" else world.observe(state), world.positions(table)


class Asked(NamedTuple):
    """What was asked of one cause.  which (B,): of the states, those that took a value.  states: with it, then what follows, by
    step, 0 the start."""

    which: np.ndarray
    states: dict[int, State]


def follow(world: Causes, state: State, action: np.ndarray, horizons: list[int]) -> dict[int, State]:
    """The states (B) themselves, and what follows from them under actions (B, T, ...), by step."""
    found = {0: state}
    for t in range(max(horizons)):
        state, _ = world.step(state, action[:, t], None)
        if t + 1 in horizons:
            found[t + 1] = state
    return found


def ask(world: Causes, state: State, action: np.ndarray, horizons: list[int]) -> dict[tuple[str, str], Asked]:
    """By cause and space; states as they were under (AS_RECORDED, "")."""
    rng, every = Stream.CAUSES.rng(), np.arange(len(state))
    found = {(AS_RECORDED, ""): Asked(every, follow(world, state, action, horizons))}
    for cause in world.causes():
        for space in SPACES:
            other, done = world.set_cause(state, cause, space, rng)
            which = np.flatnonzero(done)
            after = follow(world, other.take(which), action[which], horizons) if len(which) > 1 else {}
            found[cause, space] = Asked(which, after)
    return found


def _asked_before(world: Causes, data, rows: np.ndarray, action: np.ndarray) -> dict[tuple[str, str], Asked]:
    """`ask`, kept beside the data."""

    def make() -> dict[str, np.ndarray]:
        answer = {}
        for (cause, space), one in ask(world, world.unpack(rows), action, data.horizons).items():
            answer[f"{cause}/{space}/which"] = one.which
            answer |= {f"{cause}/{space}/{step}": world.pack(states) for step, states in one.states.items()}
        return answer

    found: dict = {}
    about = {"horizons": data.horizons, "causes": list(world.causes())}
    for key, array in kept(data.file, "causes", {"rows": rows, "action": action}, about, make).items():
        cause, space, part = key.split("/")
        one = found.setdefault((cause, space), Asked(np.empty(0, int), {}))
        if part == "which":
            found[cause, space] = one._replace(which=array)
        else:
            one.states[int(part)] = world.unpack(array)
    return found


def _rows(space: str) -> tuple[Row, ...]:
    hits, error, effect, eyes = (cause_key("{cause}", space, kind) for kind in ("hits@1", "block_error", "effect", "eyes"))
    of = f"with {{cause}} of space {space.upper()}"
    length = {"higher_is_better": False, "percent": False, "horizons": ()}
    return (
        Row(hits, f"H@1 {of}", horizons=()),
        Row(states_key("{cause}", space), "states in the pool", "comparison", hits, percent=False, digits=0, horizons=()),
        Row(error, f"block error, median, mm, {of}", **length),
        *bounds(error, (eyes, "read off true outcomes", "comparison")),
        Row(effect, f"the block elsewhere, median, mm, {of}", **length),
    )


@probe(needs=(Causes, Blocks), unless=no_forecast, by_name=True, rows=tuple(row for space in SPACES for row in _rows(space)))
def wrong_causes(run, data) -> dict[str, float]:
    """For every cause and space, and for states as they were: H@1 among all outcomes, percent; over blocks that move, the error
    of the position (see `places_of`) and how far the cause moved the outcome, medians, mm.

    Beside the error that of places read off the true outcomes (eyes): what seeing alone loses. Beside H@1 its pool: the states
    that took a value.

    Asked of windows in which something moves.
    """
    world, metrics = run.world, {}
    moved = data.events(max(data.horizons)).get("moved", np.ones(len(data.action), bool))
    chosen = np.flatnonzero(moved)
    chosen = chosen[Stream.ASKED.rng().permutation(len(chosen))[:STATES]]
    if len(chosen) < 2:
        return {}  # no pool to rank in
    rows, action = data.state[chosen, 0], data.action[chosen]
    asked = _asked_before(world, data, rows, action)
    data.protocol["causes"], taken = [AS_RECORDED, *world.causes()], {}
    places, usual = places_of(run, data.data_dir), asked[AS_RECORDED, ""]
    for (cause, space), one in asked.items():
        found = _judged(run, places, one, data.actions[chosen[one.which]], usual) if one.states else {}
        for named in SPACES if cause == AS_RECORDED else (space,):
            taken[f"{cause}, {named.upper()}"] = metrics[states_key(cause, named)] = len(one.which)
            metrics |= {cause_key(cause, named, kind, f"h{h}"): value for (kind, h), value in found.items()}
        data.say(f"cause: {cause}")
    data.arrays["causes"] = taken
    return metrics


def _judged(run, places: Places | None, one: Asked, actions: torch.Tensor, usual: Asked) -> dict[tuple[str, int], float]:
    """What the model foretells of one cause, by kind and horizon.  usual: what follows without the change."""
    world, found = run.world, {}
    shown, still = seen(world, one.states[0])
    latent = encode_frames(run.model, shown)
    for h, states in one.states.items():
        if h == 0:
            continue
        shown, there = seen(world, states)
        guess, groups = rollout(run.model, latent, actions[:, :h]), frame_ids(shown, world.shown.resolution)
        outcome = encode_frames(run.model, shown)
        found["hits@1", h] = hits_at_k(ranks(guess, outcome, groups=groups))
        moves = np.linalg.norm(there - still, axis=-1) > 1e-3
        unchanged = seen(world, usual.states[h].take(one.which))[1]
        found["effect", h] = millimetres(unchanged, there, moves).median
        if places is not None:
            found["block_error", h] = millimetres(places(guess), there, moves).median
            found["eyes", h] = millimetres(places(outcome), there, moves).median
    return found
