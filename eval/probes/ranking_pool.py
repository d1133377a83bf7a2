"""Ranking: is what really happened nearest to the prediction, among what happened in all episodes? With two floors."""

import torch

from eval.probes.probe import Row, no_forecast, probe
from eval.ranking import hits_at_k, mrr, ranks
from eval.runs.answers import Answers

H1, MRR = "test/hits@1/", "test/mrr/"


def scores(name: str, data, guess: torch.Tensor, horizon: int, by_event: bool = True) -> dict[str, float]:
    """H@1 and MRR of one predictor (E, K, D), or (1, K, D) that answers all alike,
    over all episodes and over those with an event."""
    result = ranks(guess, data.target(horizon), groups=data.groups(horizon))
    data.keep_answers(f"{name}hits@1/h{horizon}", Answers.of(result < 1))
    metrics = {f"{name}hits@1/h{horizon}": hits_at_k(result), f"{name}mrr/h{horizon}": mrr(result)}
    for event, rows in data.events(horizon).items() if by_event else ():
        metrics[f"{name}hits@1/{event}/h{horizon}"] = hits_at_k(result[rows])
        metrics[f"{name}mrr/{event}/h{horizon}"] = mrr(result[rows])
    return metrics


@probe(unless=no_forecast, rows=(
    Row(H1, "H@1"),
    Row("floor/copy/hits@1/", "copy the start", "floor", H1, short="copy floor", horizons=("first",)),
    Row("floor/constant/hits@1/", "constant", "floor", H1),
    Row(MRR, "MRR"),
    Row("test/hits@1/{event}/", "H@1 where {event}", horizons=()),
))  # fmt: skip
def ranking_pool(run, data) -> dict[str, float]:
    """H@1 and MRR of the model, of copying the first observation, and of one answer for all, percent."""
    metrics = {}
    for h in data.horizons:
        target = data.target(h)
        metrics |= scores("test/", data, data.predicted(h), h)
        metrics |= scores("floor/copy/", data, data.start, h)
        metrics |= scores("floor/constant/", data, target.mean(0, keepdim=True), h, by_event=False)
        data.say(f"ranking after {h} step{'s' if h > 1 else ''}")
    return metrics
