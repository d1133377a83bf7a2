"""An agent of a TriFinger task on the protocols: what results.json holds of it, and the table in the terminal."""

from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from eval.manipulation.episodes import METRICS, play, summary
from eval.manipulation.protocols import PROTOCOLS
from eval.terminal import print_table

_APART = 1_000_000  # number of the first episode of evaluations: no score is reported on these


def evaluate(cfg: DictConfig, path: Path) -> dict[str, tuple[float, float, float]]:
    """Protocol -> fractional success at the last step with its 95 %, percent, on the same starts every time."""
    played, asked = _playing(cfg, path), range(_APART, _APART + cfg.evaluate.episodes)
    found = summary([row for name in cfg.evaluate.protocols for row in play(played, name, list(asked))])
    return {name: tuple(100 * part for part in entry.get("last", (0.0,) * 3)) for name, entry in found.items()}


def _playing(cfg: DictConfig, path: Path) -> dict:
    return {**OmegaConf.to_container(cfg, resolve=True), "agent": str(path)}


def measure(cfg: DictConfig, asked: list[str], path: Path) -> dict[str, float]:
    """Fractional success on the protocols in percent, with the share of accepted starts.  path: of the agent's archive"""
    played = _playing(cfg, path)
    rows = [row for name in asked for row in play(played, name, list(range(cfg.episodes)))]
    metrics = {}
    for name, entry in summary(rows).items():
        metrics |= {f"protocol/{name}/{key}": round(100 * entry[key][0], 4) for key in METRICS if key in entry}
        metrics[f"protocol/{name}/accepted"] = round(100 * entry["acceptance"], 4)
    return metrics


def print_scores(metrics: dict[str, float], caption: str) -> None:
    """caption: what was trained how; the rest follows."""
    lines = []
    for name in [name for name in PROTOCOLS if f"protocol/{name}/accepted" in metrics]:
        numbers = [
            f"{metrics[key]:.1f}" if (key := f"protocol/{name}/{part}") in metrics else "-" for part in ("last", "accepted")
        ]
        lines.append([name, PROTOCOLS[name].caption, *numbers])
    told = f"{caption}: fractional success, percent, at the last step; accepted: share of the starts drawn"
    print_table(["protocol", "drawn anew", "last step", "accepted"], lines, told)
