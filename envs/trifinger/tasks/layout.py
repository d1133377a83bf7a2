"""Starting positions of many blocks: on the floor or on one another, none inside another, off the goal where possible."""

import numpy as np

from envs.problem import Problem
from envs.trifinger.scene.simulation import WALL_RADIUS
from envs.trifinger.scene.variables import ARENA_HIGH

_SPACE = 0.005  # between neighbours


def in_columns(sizes: np.ndarray, footprint: tuple[np.ndarray, np.ndarray] | None = None) -> np.ndarray:
    """Positions (n, 3) of blocks (n, 3), all in columns of the widest block's width; a Problem where they do not fit.

    footprint: lowest and highest (x, y) of the goal; columns on it are used last.
    """
    sizes = np.asarray(sizes, float).reshape(-1, 3)
    pitch = sizes[:, :2].max(0) + _SPACE
    along_x, along_y = (np.arange(-np.floor(WALL_RADIUS / p), np.floor(WALL_RADIUS / p) + 1) * p for p in pitch)
    columns = np.array([(x, y) for y in along_y for x in along_x])
    columns = columns[np.hypot(*(np.abs(columns) + pitch / 2).T) <= WALL_RADIUS]
    columns = columns[np.argsort(np.hypot(*columns.T).round(6), kind="stable")]  # from the middle outwards
    if footprint is not None:
        low, high = np.asarray(footprint[0]) - pitch / 2, np.asarray(footprint[1]) + pitch / 2
        on_goal = ((columns > low) & (columns < high)).all(1)
        columns = np.concatenate([columns[~on_goal], columns[on_goal]])
        fresh = int((~on_goal).sum())
    else:
        fresh = len(columns)
    positions, tops = np.zeros((len(sizes), 3)), np.zeros(len(columns))
    for i, size in enumerate(sizes):
        for usable in (slice(0, fresh), slice(0, len(columns))):
            fits = np.flatnonzero(tops[usable] + size[2] <= ARENA_HIGH[2])
            if len(fits):
                break
        else:
            raise Problem(
                f"{len(sizes)} blocks up to {1000 * sizes.max():.0f} mm wide do not fit the arena; take fewer or smaller ones"
            )
        column = fits[np.argmin(tops[fits])]
        positions[i] = *columns[column], tops[column] + size[2] / 2
        tops[column] += size[2]
    return positions


def scattered(
    rng: np.random.Generator, sizes: np.ndarray, radius: float = 0.15, tries: int = 200
) -> tuple[np.ndarray, np.ndarray]:
    """Positions (n, 3) and yaw angles (n,) on the floor of a disc; in columns, all 0, where the draws find no room."""
    sizes = np.asarray(sizes, float).reshape(-1, 3)
    radii = np.hypot(sizes[:, 0], sizes[:, 1]) / 2
    positions = np.zeros((len(sizes), 3))
    for i, size in enumerate(sizes):
        for _ in range(tries):
            rho, phi = radius * np.sqrt(rng.random()), rng.uniform(-np.pi, np.pi)
            spot = np.array([rho * np.cos(phi), rho * np.sin(phi)])
            if (np.hypot(*(positions[:i, :2] - spot).T) > radii[:i] + radii[i]).all():
                positions[i] = *spot, size[2] / 2
                break
        else:
            return in_columns(sizes), np.zeros(len(sizes))
    return positions, rng.uniform(-np.pi, np.pi, len(sizes))
