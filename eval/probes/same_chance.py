"""What another action would have done under the same chance, from pixels: codes, the graph that they show, and counted tables.

A model with codes is asked as a scientist would: the encoder reads the training episodes, the direct edges that it shows
(direct_edges.py) and how often each colour follows its parents give mechanisms, and these are asked for the twin of an observed
outcome (twins.py). Beside it the true mechanisms, which no one beats on average, and floors.
"""

from dataclasses import replace

import numpy as np

from envs.graphs import ancestors
from envs.protocols import CausalTables, Simulator
from envs.streams import Stream
from eval.probes.bayes import enumerable
from eval.probes.cuts import NEEDED, SEEN
from eval.probes.direct_edges import changes, direct_edges
from eval.probes.probe import Row, bounds, probe
from eval.probes.structure import answers, codes_of
from eval.probes.twins import Mechanisms, Queries, guesses, respond_gumbel

QUERIES, EPISODES = 2000, 400  # EPISODES: of training, from which edges and tables are counted
SAME, SHARE = "same_chance/exact", "same_chance/of_ceiling"


def _why_not(run) -> str | None:
    if not getattr(run.model.transition, "categories", 0):
        return "reads mechanisms off codes, and the model has none: train model=categorical loss=inverse_action"
    return None if enumerable(run.world) else "holds the belief over all states, and this world has too many, or delays"


def found_graph(codes: np.ndarray, acted: np.ndarray, categories: int) -> np.ndarray:
    """Direct edges [child, parent] that the codes show.  codes (E, T+1, N), acted (E, T)."""
    before, after = (part.reshape(-1, codes.shape[2]) for part in (codes[:, :-1], codes[:, 1:]))
    seen = changes(before, after, acted.ravel()) > SEEN
    parents = direct_edges(after, acted.ravel(), seen & ~seen.T, categories) > NEEDED
    return parents if not ancestors(parents).diagonal().any() else np.zeros_like(parents)


def learned(run, data) -> tuple[Mechanisms, np.ndarray]:
    """Mechanisms by the run's own codes, and the slot of every object."""
    model, world = run.model, run.world
    file = run.file("train", data.data_dir)
    action, state = (part[:EPISODES] for part in file.episodes("action", "state"))
    slots, categories = answers(model, world, state[:, -1]).slots, model.transition.categories
    codes, acted = codes_of(model, world, state)[:, :, slots], action[:, :-1] // world.spec.action.choices
    parents = found_graph(codes, acted, categories)
    return Mechanisms.counted(parents, codes[:, 1:].reshape(-1, codes.shape[2]), acted.ravel(), categories), slots


@probe(needs=(Simulator, CausalTables), unless=_why_not, by_name=True, rows=(
    Row(SAME, "outcomes of another action under the same chance, exact", horizons=()),
    *bounds(SAME, ("ceiling/same_chance", "true mechanisms", "ceiling"),
            ("floor/same_chance/blind", "without what happened", "floor"),
            ("floor/same_chance/copy", "copy what happened", "floor")),
    Row(SHARE, "the same, of the ceiling", horizons=()),
    Row("same_chance/gumbel", "the same where chance couples otherwise (Gumbel-max)", horizons=()),
))  # fmt: skip
def same_chance(run, data) -> dict[str, float]:
    """Percent of queries (s, a, s', a') whose every object is right; a' is not a, both meet the same noise.

    blind: the true mechanisms without s', the second rung.  gumbel: our answer where truth was made by the other coupling,
    which has the same law of every single action: what no data can tell.
    """
    world, model, rng = run.world, run.world.model, Stream.COUNTERFACTUAL.rng(0)
    boards = world.unpack(data.state[:QUERIES, 0])
    before, count, size = boards.colors.astype(np.int64), len(boards.colors), world.spec.action.size
    first = rng.integers(0, size, count)
    other = (first + rng.integers(1, size, count)) % size
    c = model.num_colors
    chance, gumbel = rng.random(before.shape), rng.gumbel(size=(*before.shape, c))
    made = [[model.respond(before, a // c, a % c, chance).astype(np.int64) for a in (first, other)],
            [respond_gumbel(model, before, a, gumbel) for a in (first, other)]]  # fmt: skip
    true, (told, slots) = Mechanisms.of(model), learned(run, data)

    def seen(colors: np.ndarray) -> np.ndarray:
        state = world.pack(replace(boards, colors=colors.astype(boards.colors.dtype)))
        return codes_of(run.model, world, state[:, None])[:, 0, slots]

    def right(guess: np.ndarray, truth: np.ndarray) -> float:
        return 100 * float((guess == truth).all(1).mean())

    start, found = seen(before), {}
    for name, (after, truth) in zip((SAME, "same_chance/gumbel"), made):
        found[name] = right(guesses(told, Queries(start, first, other, seen(after)))[0], truth)
    after, truth = made[0]
    exact = Queries(before, first, other, after)
    ceiling = right(guesses(true, exact)[0], truth)
    data.say("twins")
    return found | {"ceiling/same_chance": ceiling, SHARE: 100 * found[SAME] / max(ceiling, 1e-9),
                    "floor/same_chance/blind": right(guesses(true, exact._replace(after=None))[0], truth),
                    "floor/same_chance/copy": right(after, truth)}  # fmt: skip
