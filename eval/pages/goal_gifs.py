"""Episode gifs of a table of equal effort: of two rows a goal that was reached, and one that was missed.

They need weights: they are drawn where a run is at hand, also among those of tables, and kept beside the ledger.
"""

from html import escape
from pathlib import Path

import numpy as np

from envs.whole_files import write_whole
from eval.effort import claims
from eval.effort.filled import Filled
from eval.pages.episode_gifs import as_gif, episode, gif_figure, plan_episodes
from eval.runs import Run
from eval.runs.ledger import weights_at_hand

BEYOND = 20.0  # percent by which H@1 is above what if, of a row that ranks and does not know


def goal_gifs(filled: list[Filled], ledger: Path, runs_dir: Path) -> str:
    """Of the row that knows most, and of the one that ranks furthest beyond what it knows, among those whose weights are at
    hand: a goal that was reached, and one that was missed."""
    h = filled[0].study.horizons[-1]
    known = {one.label: (one.estimate("H@1", h), one.estimate("what if", h), one) for one in filled}
    known = {label: (x.mean, y.mean, one) for label, (x, y, one) in known.items() if x and y}
    if not known:
        return ""
    best = sorted(known, key=lambda label: -known[label][1])
    beyond = {
        label: x - y for label, (x, y, one) in known.items()
        if label != best[0] and x - y > BEYOND and y < claims.KNOWS and one.above_floor("H@1", h) is not False
    }
    knowing = [best[0], *(label for label in best[1:] if known[label][1] > claims.KNOWS)]
    chosen = {"knows most": knowing, "ranks, and does not know": sorted(beyond, key=lambda label: -beyond[label])}
    parts, shown = [], set()
    for why, labels in chosen.items():
        for place, label in enumerate(label for label in labels if label not in shown):
            one = known[label][2]
            if gifs := _kept(one, ledger / "gifs" / one.env) or _drawn(one, ledger / "gifs" / one.env, runs_dir):
                figures = "".join(gif_figure(made, kind, f"{label}: a goal that was {kind}") for kind, made in gifs.items())
                among = f" (number {place + 1}; of those before nothing could be drawn)" if place else ""
                parts.append(f"<h3>{escape(label)}: {why}{among}</h3><p class=soft>One goal each, however often they are "
                             f"reached; planned by distances of latents, where the numbers above are by a learned distance.</p>"
                             f"<div class=gifs>{figures}</div>")  # fmt: skip
                shown.add(label)
                break
    return "".join(parts)


def _kept(one: Filled, folder: Path) -> dict[str, bytes]:
    paths = [(kind, folder / _name(entry, kind)) for entry in one.entries.values() for kind in ("reached", "missed")]
    return {kind: path.read_bytes() for kind, path in reversed(paths) if path.exists()}


def _name(entry: dict, kind: str) -> str:
    """Of weights: the same run may be trained again. Entries of before do not say theirs."""
    return "-".join([entry["run"], *([entry["weights"]] if "weights" in entry else []), f"{kind}.gif"])


def _drawn(one: Filled, folder: Path, runs_dir: Path) -> dict[str, bytes]:
    """Of the first seed whose weights are at hand; none otherwise. They are kept."""
    places = ((place / entry["run"], entry) for place in (runs_dir, runs_dir / "tables") for entry in one.entries.values())
    found = next(((path, entry) for path, entry in places if weights_at_hand(path, entry, entry["split"])), None)
    if found is None:
        return {}
    path, entry = found
    run = Run.open(path)
    planned = plan_episodes(run.model, run.world)
    reached = run.world.solved(planned.boards[-1], planned.goal)
    found, firsts = {}, {"reached": np.flatnonzero(reached), "missed": np.flatnonzero(~reached)}
    folder.mkdir(parents=True, exist_ok=True)
    for kind, numbers in firsts.items():
        if len(numbers):
            found[kind] = as_gif(episode(run.model, run.world, planned, int(numbers[0])))
    for kind, made in found.items():  # when both are drawn: one that a killed command left would stay alone
        write_whole(folder / _name(entry, kind), made)
    return found
