"""What Ke et al. say in words (arXiv 2107.00848, section 4), held against our runs: each holds, does not hold, or cannot be told."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from scipy.stats import spearmanr

from eval.panels import read, run_name
from eval.terminal import print_table

STRUCTURED, MONOLITHIC = ("GNN", "Modular"), "AE"
SETTINGS = ("", "_fixed_unobserved", "_unobserved")
GRAPHS = ("collider", "chain", "full")
PAPER_ROWS = ("AE + contrastive", "GNN + contrastive", "Modular + contrastive", "AE + NLL", "VAE + NLL", "GNN + NLL", "Modular + NLL")
H1, CF1 = "test/hits@1/h10", "test/cf_hits@1/h1"
SUCCESS, RANDOM = "plan/success/model_closed/h10", "plan/floor/random/h10"
STRONG = 0.8  # a rank correlation above it is more than "some correlation"
HEADER = ("", "the paper says", "our runs")
SLIGHTLY = 5.0  # percentage points above random that are still "only slightly better"


@dataclass(frozen=True)
class Verdict:
    """claim: in the paper's sense, with its section; holds: none where runs are missing; figures: what it is judged by."""

    claim: str
    holds: bool | None
    figures: str

    @property
    def word(self) -> str:
        return {True: "holds", False: "does not hold", None: "cannot be told"}[self.holds]


Value = Callable[..., float | None]  # (row, env, key, file) -> mean over the seeds that are there


def _reader(cfg) -> Value:
    def value(row: str, env: str, key: str, file: str = "results.json") -> float | None:
        folders = (Path(cfg["runs_dir"]) / run_name(row, env, cfg["budget"], seed) for seed in range(cfg["seeds"]))
        found = [metrics[key] for metrics in (read(folder, file) for folder in folders) if metrics and key in metrics]
        return mean(found) if found else None

    return value


def _verdict(claim: str, parts: Iterator[tuple[str, list[float | None], Callable[..., bool]]]) -> Verdict:
    """parts: what is compared, its figures, and whether they speak for the claim; a part without all figures is left out."""
    told = [(text.format(*figures), speaks(*figures)) for text, figures, speaks in parts if None not in figures]
    if not told:
        return Verdict(claim, None, "no finished runs to judge by")
    return Verdict(claim, all(yes for _, yes in told), "; ".join(f"{text} ({'yes' if yes else 'no'})" for text, yes in told))


def _physics(objects=(3, 5)) -> list[str]:
    return [f"physics{n}{setting}" for setting in SETTINGS for n in objects]


def structure_helps(value: Value, key: str, name: str) -> Verdict:
    claim = f"models with structure beat the monolithic one under the contrastive loss, {name} (4.1)"
    envs = [*_physics(), *(f"chemistry_{graph}5" for graph in GRAPHS)]
    return _verdict(claim, (
        (f"{env}: GNN {{:.1f}}, Modular {{:.1f}}, AE {{:.1f}}",
         [value(f"{model} + contrastive", env, key) for model in (*STRUCTURED, MONOLITHIC)],
         lambda gnn, modular, ae: min(gnn, modular) > ae) for env in envs
    ))  # fmt: skip


def modular_scales_best(value: Value) -> Verdict:
    """Shares of H@1 after 10 steps that are kept from 3 to 5 objects."""

    def speaks(*figures: float) -> bool:
        ae, gnn, modular = (five / max(three, 0.01) for three, five in zip(figures[::2], figures[1::2]))
        return modular >= max(ae, gnn)

    return _verdict("modular models scale best from 3 to 5 objects, H@1 after 10 steps (4.1)", (
        (f"{setting.strip('_') or 'observed'}: AE {{:.1f}} to {{:.1f}}, GNN {{:.1f}} to {{:.1f}}, Modular {{:.1f}} to {{:.1f}}",
         [value(f"{m} + contrastive", f"physics{n}{setting}", H1) for m in (MONOLITHIC, *STRUCTURED) for n in (3, 5)],
         speaks) for setting in SETTINGS
    ))  # fmt: skip


def collider_is_easiest(value: Value, ceiling: bool) -> Verdict:
    """ceiling: as a share of what the true causal model scores, which differs between the graphs."""

    def of(row: str, graph: str) -> float | None:
        got, best = (value(row, f"chemistry_{graph}5", key) for key in (H1, "ceiling/hits@1/h10"))
        return got if not ceiling or got is None or best is None else 100 * got / best

    how = "as a share of the true model's" if ceiling else "as it is"
    return _verdict(f"the collider is the easiest graph, H@1 after 10 steps {how} (4.2)", (
        (f"{row}: collider {{:.1f}}, chain {{:.1f}}, full {{:.1f}}", [of(row, graph) for graph in GRAPHS],
         lambda collider, chain, full: collider > max(chain, full)) for row in PAPER_ROWS
    ))  # fmt: skip


def contrastive_beats_likelihood(value: Value) -> Verdict:
    return _verdict("with structure the contrastive loss ranks better than NLL, H@1 after 10 steps (4.4)", (
        (f"{env}, {model}: {{:.1f}} against {{:.1f}}", [value(f"{model} + {loss}", env, H1) for loss in ("contrastive", "NLL")],
         lambda contrastive, nll: contrastive >= nll) for env in _physics() for model in STRUCTURED
    ))  # fmt: skip


def structure_transfers(value: Value) -> Verdict:
    """Other shades than in training, counterfactuals: there ranking between episodes cannot hide the causes."""
    return _verdict("on boards never trained, structure beats the monolithic model, contrastive, H@1 after 10 steps, any shades (4.1)", (
        (f"{env}: GNN {{:.1f}}, Modular {{:.1f}}, AE {{:.1f}}",
         [value(f"{model} + contrastive", env, H1, "results-zero-shot.json") for model in (*STRUCTURED, MONOLITHIC)],
         lambda gnn, modular, ae: min(gnn, modular) > ae) for env in ("physics3", "physics5")
    ))  # fmt: skip


def barely_better_than_random(value: Value) -> Verdict:
    """Most: more than half of the paper's rows."""
    parts = []
    for env in _physics(objects=(5,)):
        rows = {row: value(row, env, SUCCESS) for row in PAPER_ROWS}
        chance = [value(row, env, RANDOM) for row in PAPER_ROWS]
        told = {row: got for row, got in rows.items() if got is not None}
        floor = next((f for f in chance if f is not None), None)
        few = sum(got <= floor + SLIGHTLY for got in told.values()) if told else None
        text = f"{env}: {{:.0f}} of {len(told)} models within {SLIGHTLY:.0f} points of random"
        parts.append((text, [few], lambda few, count=len(told): few > count / 2))
    return _verdict("with 5 objects most models reach goals only slightly better than a random policy, 10 steps (4.3)", iter(parts))


def partly_correlated(value: Value, key: str, name: str) -> Verdict:
    """Over the paper's rows on one env; fewer than five rows tell nothing."""
    parts = []
    for env in [*_physics(), *(f"chemistry_{graph}5" for graph in GRAPHS)]:
        pairs = [(value(row, env, key), value(row, env, SUCCESS)) for row in PAPER_ROWS]
        pairs = [pair for pair in pairs if None not in pair]
        rho = spearmanr(*zip(*pairs)).statistic if len(pairs) >= 5 else None
        rho = None if rho != rho else rho  # constant columns have no rank
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
    return f"Runs of budget {cfg['budget']}, means over the seeds that are there (of {cfg['seeds']}); a claim holds if every part does."


def claims_markdown(verdicts: list[Verdict], cfg) -> str:
    rows = "\n".join(f"| {v.word} | {v.claim} | {v.figures} |" for v in verdicts)
    return f"### claims\n\n| {' | '.join(HEADER)} |\n|---|---|---|\n{rows}\n\n{claims_caption(cfg)}\n"
