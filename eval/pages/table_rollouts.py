"""Rollouts of models that are shown a table of bodies: their paths from above, and a GIF where the world can draw a table."""

from typing import NamedTuple

import numpy as np
import torch

from envs.protocols import Blocks, DrawsTables
from eval.figures.svg import calm, inline_svg
from eval.pages.html import gif, gif_image
from eval.rollouts import decode_frames

SHARES = (0.5, 0.75, 0.9, 1.0)  # the windows shown: the median error, and worse ones
MOVED = 0.01  # metres that a body goes in a window that is worth showing
STEP_MS, END_MS = 250, 1500
VIEW_CM = 9.0  # drawn to every side of the blocks' start
_TRUE, _PREDICTED, _SOFT = "#23303b", "#d6903f", "#6b7a87"


class TableRollouts(NamedTuple):
    """Ready HTML; windows it was chosen from; median error at the end, millimetres; whether blocks were counted, or tips."""

    html: str
    pool: int
    error: float
    blocks: bool


def can_show(model, world) -> bool:
    """Whether positions can be read off what models are shown and what they decode."""
    return isinstance(world, Blocks) and len(world.shown.shape) == 2 and model.decoder is not None


@torch.no_grad()
def table_rollouts(model, world, data, horizon: int) -> TableRollouts:
    """Open-loop rollouts of held-out windows in which something moves.  data: `Data` whose only horizon it is."""
    true, actions = data.obs[:, : horizon + 1], data.actions[:, :horizon]
    blocks = bool(world.blocks(true[:, 0]).shape[1])
    read = world.positions if blocks else world.tips
    rows = np.flatnonzero(np.linalg.norm(read(true[:, -1]) - read(true[:, 0]), axis=-1).max(1) > MOVED)
    rows = rows if len(rows) else np.arange(len(true))
    ends = decode_frames(model, data.predicted(horizon)[rows]).numpy()
    errors = 1000 * np.linalg.norm(read(ends) - read(true[rows, -1]), axis=-1).mean(1)
    order = errors.argsort(kind="stable")
    chosen = rows[order[[round(share * (len(rows) - 1)) for share in SHARES]]]
    path = model.rollout(data.start[chosen].to(model.device), actions[chosen].to(model.device)).cpu()
    decoded = decode_frames(model, path.flatten(0, 1)).unflatten(0, path.shape[:2]).numpy()
    predicted = np.concatenate([true[chosen, :1], decoded], 1)
    drawn = isinstance(world, DrawsTables) and "state" in data.file.columns
    figures = []
    for i, (row, share) in enumerate(zip(chosen, SHARES)):
        error = errors[rows == row].item()
        which = {0.5: "median error", 1.0: "largest error"}.get(share, f"worse than {100 * share:.0f} %")
        film = _gif(world, data.state[row, : horizon + 1], true[row], predicted[i], int(row)) if drawn else ""
        figures.append(
            f"<figure><figcaption>Window {row}, {which}: {error:.1f} mm after {horizon} steps</figcaption>"
            f'<div class="pair">{film}{_from_above(world, true[row], predicted[i], int(row))}</div></figure>'
        )
    return TableRollouts("\n".join(figures), len(rows), float(np.median(errors)), blocks)


def _gif(world, state, true, predicted, row: int) -> str:
    """The true bodies and the predicted ones side by side.  state (T+1, S); true, predicted (T+1, N, F)."""
    states = world.unpack(state)
    sides = [world.draw(states, table) for table in (true, predicted)]
    frames = np.concatenate([sides[0], np.full_like(sides[0][:, :, :6], 255), sides[1]], 2)
    image = gif_image(gif(list(frames), STEP_MS, END_MS), f"Window {row}: true bodies and predicted ones, step by step")
    return f'<div><div class="heads soft"><span>true</span><span>predicted</span></div>{image}</div>'


def _from_above(world, true, predicted, row: int) -> str:
    """Paths of block centres and fingertips, centimetres, as an inline SVG; blocks are outlined at the start and the end."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.6, 3.4), layout="constrained")
    axes = figure.subplots()
    for table, color, style, label in ((true, _TRUE, "-", "true"), (predicted, _PREDICTED, "--", "predicted")):
        for path in world.tips(table).transpose(1, 0, 2):
            axes.plot(*100 * path[:, :2].T, color=color, ls=style, lw=1)
            axes.plot(*100 * path[-1, :2], color=color, marker="o", ms=3)
        for path, pose in zip(world.positions(table).transpose(1, 0, 2), world.poses(table)[-1]):
            axes.plot(*100 * path[:, :2].T, color=color, ls=style, lw=1.8)
            axes.plot(*100 * _outline(pose).T, color=color, ls=style, lw=1.4)
        axes.plot([], [], color=color, ls=style, label=label)
    for pose in world.poses(true)[0]:
        axes.plot(*100 * _outline(pose).T, color=_SOFT, lw=0.8, ls=":")
    axes.set_aspect("equal", adjustable="box" if len(world.positions(true)[0]) else "datalim")
    if len(centers := 100 * world.positions(true)[0][:, :2]):  # one scale for all figures of a block, around its start
        middle, half = (centers.min(0) + centers.max(0)) / 2, VIEW_CM + np.ptp(centers, 0).max() / 2
        ends = 100 * np.concatenate([world.positions(table)[-1][:, :2] for table in (true, predicted)])
        half = max(half, np.abs(ends - middle).max() + VIEW_CM / 2)
        axes.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half))
    axes.set_xlabel("x, cm", color=_SOFT)
    axes.set_ylabel("y, cm", color=_SOFT)
    calm(axes)
    axes.legend(
        frameon=False, labelcolor=_TRUE, fontsize=8, loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0.2
    )
    return inline_svg(figure, f"above{row}")


def _outline(pose: np.ndarray) -> np.ndarray:
    """What a block covers seen from above.  pose (9,) as of `Blocks.poses`  ->  (corners + 1, 2), closed."""
    from scipy.spatial import ConvexHull

    center, first, second = pose.reshape(3, 3).astype(float)
    third = np.cross(first, second) / max(np.linalg.norm(first), 1e-9)  # as long as the second
    corners = np.array([center + a * first + b * second + c * third for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)])[:, :2]
    hull = ConvexHull(corners + 1e-7 * np.arange(8)[:, None]).vertices
    return corners[[*hull, hull[0]]]
