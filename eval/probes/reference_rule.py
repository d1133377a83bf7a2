"""Ranking by the rule of the authors' code, for parity: predictions are ranked for each target, and ties win."""

from eval.probes.probe import Row, no_forecast, probe
from eval.ranking import hits_at_k, mrr, ranks


@probe(unless=no_forecast, rows=(
    Row("test/reference/hits@1/", "authors' rule H@1 (ties win)", horizons=()),
    Row("test/reference/mrr/", "authors' rule MRR", horizons=()),
))  # fmt: skip
def reference_rule(run, data) -> dict[str, float]:
    """H@1 and MRR, percent."""
    metrics = {}
    for h in data.horizons:
        result = ranks(data.predicted(h), data.target(h), rule="reference")
        metrics |= {f"test/reference/hits@1/h{h}": hits_at_k(result), f"test/reference/mrr/h{h}": mrr(result)}
    return metrics
