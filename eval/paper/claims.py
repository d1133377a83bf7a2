"""What Ke et al. say in words (arXiv 2107.00848, section 4), held against our runs: holds, does not hold, cannot be decided."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import mean

from eval.figures.charts import Point, rank_correlation
from eval.paper.table_specs import metrics_of, paper_tables, seeds_of
from eval.terminal import print_table

STRUCTURED, MONOLITHIC = ("GNN", "Modular"), "AE"
SETTINGS = ("", "_fixed_unobserved", "_unobserved")
GRAPHS = ("collider", "chain", "full")
PAPER_ROWS = tuple(paper_tables()["groups"]["paper"])
H1, CF1 = "test/hits@1/h10", "test/cf_hits@1/h1"
SUCCESS, RANDOM = "plan/success/model_closed/h10", "plan/floor/random/h10"
STRONG = 0.8  # a rank correlation above it is more than "some correlation"
HEADER = ("", "the paper says", "our runs")
FLOOR = 5.0  # percent: where all that is compared lies below, there is nothing to compare
FEWEST = 5  # models that have a rank correlation worth telling
SLIGHTLY = 5.0  # percentage points above random that are still "only slightly better"


@dataclass(frozen=True)
class Verdict:
    """claim: in the paper's sense, with its section; figures: what it is judged by.

    asked: settings; decided: those with runs above the floor; speaking: those of them that speak for it. It holds where all
    do, and cannot be decided where runs of most settings are missing or stand at the floor.
    """

    claim: str
    asked: int
    decided: int
    speaking: int
    figures: str

    @property
    def holds(self) -> bool | None:
        return None if 2 * self.decided < self.asked else self.speaking == self.decided

    @property
    def word(self) -> str:
        verdict = {True: "holds", False: "does not hold", None: "cannot be decided"}[self.holds]
        return f"{verdict}: in {self.speaking} of {self.decided} settings decided, {self.asked} asked"


Value = Callable[..., float | None]  # (row, env, key, file) -> mean over the finished seeds


def _reader(cfg) -> Value:
    def value(row: str, env: str, key: str, file: str = "results.json") -> float | None:
        every = (metrics_of(row, env, seed, cfg, file) for seed in seeds_of(cfg))
        found = [metrics[key] for metrics in every if metrics and key in metrics]
        return mean(found) if found else None

    return value


def _verdict(claim: str, parts: Iterator[tuple[str, list[float | None], Callable[..., bool]]]) -> Verdict:
    """parts: what is compared, its figures, and what they say: True, False, or None where they tell nothing.

    A part without all its figures is asked and not decided.
    """
    every = [(text, figures, None if None in figures else speaks(*figures)) for text, figures, speaks in parts]
    decided = [(text.format(*figures), says) for text, figures, says in every if says is not None]
    figures = "; ".join(f"{text} ({'yes' if says else 'no'})" for text, says in decided) or "no finished runs to judge by"
    return Verdict(claim, len(every), len(decided), sum(says for _, says in decided), figures)


def _above_floor(*figures: float) -> bool:
    """Whether there is anything to compare: the best of them is clearly more than nothing."""
    return max(figures) >= FLOOR


def _structure_wins(gnn: float, modular: float, ae: float) -> bool | None:
    return min(gnn, modular) > ae if _above_floor(gnn, modular, ae) else None


def _physics(objects=(3, 5)) -> list[str]:
    return [f"physics{n}{setting}" for setting in SETTINGS for n in objects]


def structure_helps(value: Value, key: str, name: str) -> Verdict:
    claim = f"models with structure beat the monolithic one under the contrastive loss, {name} (4.1)"
    envs = [*_physics(), *(f"chemistry_{graph}5" for graph in GRAPHS)]
    return _verdict(claim, (
        (f"{env}: GNN {{:.1f}}, Modular {{:.1f}}, AE {{:.1f}}",
         [value(f"{model} + contrastive", env, key) for model in (*STRUCTURED, MONOLITHIC)],
         _structure_wins) for env in envs
    ))  # fmt: skip


def modular_scales_best(value: Value) -> Verdict:
    """Shares of H@1 after 10 steps that are kept from 3 to 5 objects."""

    def speaks(*figures: float) -> bool | None:
        if min(figures[::2]) < FLOOR:
            return None  # nothing to keep
        ae, gnn, modular = (five / three for three, five in zip(figures[::2], figures[1::2]))
        return modular > max(ae, gnn)

    return _verdict("modular models scale best from 3 to 5 objects, H@1 after 10 steps (4.1)", (
        (f"{setting.strip('_') or 'observed'}: AE {{:.1f}} to {{:.1f}}, GNN {{:.1f}} to {{:.1f}}, Modular {{:.1f}} to {{:.1f}}",
         [value(f"{m} + contrastive", f"physics{n}{setting}", H1) for m in (MONOLITHIC, *STRUCTURED) for n in (3, 5)],
         speaks) for setting in SETTINGS
    ))  # fmt: skip


def collider_is_easiest(value: Value, ceiling: bool) -> Verdict:
    """ceiling: as a share of what can be had (exact Bayes), which differs between the graphs."""

    def of(row: str, graph: str) -> float | None:
        got, best = (value(row, f"chemistry_{graph}5", key) for key in (H1, "bayes/hits@1/h10"))
        if not ceiling or got is None:
            return got
        return None if best is None else 100 * got / best

    how = "as a share of the ceiling" if ceiling else "as it is"
    return _verdict(f"the collider is the easiest graph, H@1 after 10 steps {how} (4.2)", (
        (f"{row}: collider {{:.1f}}, chain {{:.1f}}, full {{:.1f}}", [of(row, graph) for graph in GRAPHS],
         lambda *figures: figures[0] > max(figures[1:]) if _above_floor(*figures) else None) for row in PAPER_ROWS
    ))  # fmt: skip


def contrastive_beats_likelihood(value: Value) -> Verdict:
    return _verdict("with structure the contrastive loss ranks better than NLL, H@1 after 10 steps (4.4)", (
        (f"{env}, {model}: {{:.1f}} against {{:.1f}}", [value(f"{model} + {loss}", env, H1) for loss in ("contrastive", "NLL")],
         lambda contrastive, nll: contrastive > nll if _above_floor(contrastive, nll) else None)
        for env in _physics() for model in STRUCTURED
    ))  # fmt: skip


def structure_transfers(value: Value) -> Verdict:
    """Other shades than in training."""
    return _verdict("on shades never trained, structure beats the monolithic model, contrastive, H@1 after 10 steps (4.1)", (
        (f"{env}: GNN {{:.1f}}, Modular {{:.1f}}, AE {{:.1f}}",
         [value(f"{model} + contrastive", env, H1, "results-zero-shot.json") for model in (*STRUCTURED, MONOLITHIC)],
         _structure_wins) for env in ("physics3", "physics5")
    ))  # fmt: skip


def barely_better_than_random(value: Value) -> Verdict:
    """Most: more than half of the paper's rows, all of which must be there."""
    parts = []
    for env in _physics(objects=(5,)):
        figures = [value(row, env, key) for row in PAPER_ROWS for key in (SUCCESS, RANDOM)]
        few = None if None in figures else sum(got <= floor + SLIGHTLY for got, floor in zip(figures[::2], figures[1::2]))
        text = f"{env}: {{}} of {len(PAPER_ROWS)} models within {SLIGHTLY:.0f} points of random"
        parts.append((text, [few], lambda few: few > len(PAPER_ROWS) / 2))
    claim = "with 5 objects most models reach goals only slightly better than a random policy, 10 steps (4.3)"
    return _verdict(claim, iter(parts))


def partly_correlated(value: Value, key: str, name: str) -> Verdict:
    """Over the paper's rows on one env; fewer rows than FEWEST tell nothing."""
    parts = []
    for env in [*_physics(), *(f"chemistry_{graph}5" for graph in GRAPHS)]:
        pairs = {row: (value(row, env, key), value(row, env, SUCCESS)) for row in PAPER_ROWS}
        pairs = {row: pair for row, pair in pairs.items() if None not in pair}
        rho = rank_correlation([Point(row, "", "", *pair) for row, pair in pairs.items()]) if len(pairs) >= FEWEST else None
        parts.append((f"{env}: {{:.2f}} over {len(pairs)} models", [rho], lambda rho: rho < STRONG))
    claim = f"{name} and RL success correlate only partly (Spearman below {STRONG}), 10 steps (4.3)"
    return _verdict(claim, iter(parts))


def check_claims(cfg) -> list[Verdict]:
    """All claims, by the runs of one budget."""
    value = _reader(cfg)
    return [
        structure_helps(value, H1, "H@1 after 10 steps"),
        structure_helps(value, CF1, "counterfactual H@1 after 1 step (ours to ask)"),
        structure_helps(value, SUCCESS, "RL success in 10 steps"),
        modular_scales_best(value),
        collider_is_easiest(value, ceiling=False),
        collider_is_easiest(value, ceiling=True),
        contrastive_beats_likelihood(value),
        structure_transfers(value),
        barely_better_than_random(value),
        partly_correlated(value, H1, "H@1"),
        partly_correlated(value, CF1, "counterfactual H@1 (ours to ask)"),
    ]


def print_claims(verdicts: list[Verdict], cfg) -> None:
    """On the terminal."""
    rows = [[verdict.word, verdict.claim, verdict.figures] for verdict in verdicts]
    print_table(HEADER, rows, claims_caption(cfg), title="claims", width=160, show_lines=True)


def claims_caption(cfg) -> str:
    seeds = f"means over the finished seeds (of {len(seeds_of(cfg))})"
    return f"Runs of budget {cfg['budget']}, {seeds}; a claim holds where every setting decided speaks for it."


def claims_markdown(verdicts: list[Verdict], cfg) -> str:
    rows = "\n".join(f"| {v.word} | {v.claim} | {v.figures} |" for v in verdicts)
    return f"### claims\n\n| {' | '.join(HEADER)} |\n|---|---|---|\n{rows}\n\n{claims_caption(cfg)}\n"
