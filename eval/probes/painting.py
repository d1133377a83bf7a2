"""The floor of a model without causes: every action paints its object, and nothing follows."""

from envs.protocols import Painting, Simulator
from eval.probes.probe import Row, probe
from eval.probes.ranking_pool import H1, scores
from eval.probes.same_board import painted
from eval.rollouts import encode_frames


@probe(
    needs=(Simulator, Painting),
    rows=(Row("floor/paint/hits@1/", "copy the frame, paint the acted objects", "floor", H1),),
)
def painting(run, data) -> dict[str, float]:
    """H@1 and MRR of painting, percent."""
    metrics = {}
    for h in data.horizons:
        paint = run.world.observe(painted(run.world, data.state, data.action, h))
        metrics |= scores("floor/paint/", data, encode_frames(run.model, paint), h)
    return metrics
