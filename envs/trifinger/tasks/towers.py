"""Towers: a block of blocks, so many in each direction."""

import numpy as np

from envs.trifinger.scene.state import State
from envs.trifinger.scene.variables import variable
from envs.trifinger.tasks.family import Family, tools_and_goals
from envs.trifinger.tasks.layout import in_columns


class Towers(Family):
    """Reference section 9.6. Differs from CausalWorld: no block starts on the goal's ground where there is other room, so the
    start does not score .2, and counts are whole numbers for every sampler.
    """

    name = "towers"
    revision = 1  # before, columns went along x
    family = {
        "number_of_blocks_in_tower": ((1, 1, 5), variable("1", (3,), (1, 8), (1, 4), (4, 6), integer=True)),
        "tower_dims": ((0.035, 0.035, 0.175), variable("m", (3,), (0.02, 0.3), (0.08, 0.12), (0.12, 0.2))),
        "tower_center": ((0.0, 0.0), variable("m", (2,), (-0.15, 0.15), (-0.1, 0.05), (0.05, 0.1))),
        "blocks_mass": (0.08, variable("kg", (), (1e-3, 2), (0.02, 0.06), (0.06, 0.08))),
    }

    def build(self, values, rng) -> State:
        counts, dims, center = values["number_of_blocks_in_tower"].astype(int), values["tower_dims"], values["tower_center"]
        size = dims / counts
        # rows go along x, columns along y
        grid = [(level, col, row) for level in range(counts[2]) for col in range(counts[1]) for row in range(counts[0])]
        names = [f"level_{level}_col_{col}_row_{row}" for level, col, row in grid]
        corner = np.array([*(center - dims[:2] / 2), 0.0])
        goals = np.array([corner + size * (row + 0.5, col + 0.5, level + 0.5) for level, col, row in grid])
        sizes = np.tile(size, (len(grid), 1))
        tools = in_columns(sizes, (center - dims[:2] / 2, center + dims[:2] / 2))
        return tools_and_goals(names, sizes, tools, goals, float(values["blocks_mass"]))
