"""An agent of a TriFinger task on the protocols: what results.json holds of it, and the table in the terminal."""

from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from eval.manipulation.episodes import METRICS, play, summary
from eval.manipulation.protocols import PROTOCOLS
from eval.terminal import print_table


def measure(cfg: DictConfig, asked: list[str], path: Path) -> dict[str, float]:
    """Fractional success on the protocols in percent, with the share of accepted starts.  path: of the agent's archive"""
    played = {**OmegaConf.to_container(cfg, resolve=True), "agent": str(path)}
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
        numbers = [f"{metrics[key]:.1f}" if (key := f"protocol/{name}/{part}") in metrics else "-" for part in ("last", "accepted")]
        lines.append([name, PROTOCOLS[name].caption, *numbers])
    told = f"{caption}: fractional success, percent, at the last step; accepted: share of the starts drawn"
    print_table(["protocol", "drawn anew", "last step", "accepted"], lines, told)
