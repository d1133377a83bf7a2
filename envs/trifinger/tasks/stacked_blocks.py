"""Stacked blocks: levels of blocks of all widths that stand on one another; creative: only the lowest and highest are shown."""

import numpy as np

from envs.trifinger.scene.state import State, obstacle
from envs.trifinger.scene.variables import ARENA_HIGH, ARENA_LOW, variable
from envs.trifinger.tasks.family import Family, tools_and_goals
from envs.trifinger.tasks.layout import in_columns, scattered

_SHIFT = 0.005  # metres by which levels of the default wall are off, left and right in turn
_SPLITS = 3  # times that wide blocks are offered to be halved
Row = list[tuple[float, float]]  # blocks of a level: middle and width along x


class StackedBlocks(Family):
    """Reference section 9.6. Differs from CausalWorld: blocks of the default scene start at rest, not in mid-air."""

    name = "stacked_blocks"
    family = {
        "stack_levels": (5, variable("1", (), (1, 8), (1, 5), (6, 8), integer=True)),
        "blocks_min_size": (0.035, variable("m", (), (0.02, 0.1), (0.035, 0.065), (0.065, 0.075))),
        "max_level_width": (0.25, variable("m", (), (0.02, 0.3), (0.035, 0.12), (0.12, 0.15))),
        "blocks_mass": (0.08, variable("kg", (), (1e-3, 2), (0.02, 0.06), (0.06, 0.08))),
    }

    def build(self, values, rng) -> State:
        levels, edge = int(values["stack_levels"]), float(values["blocks_min_size"])
        width = max(edge, float(values["max_level_width"]))
        rows, y = (self._wall(levels, edge, width), 0.0) if rng is None else self._structure(levels, edge, width, rng)
        found = [(level, i, x, w) for level, row in enumerate(rows) for i, (x, w) in enumerate(row)]
        names = [f"level_{level}_num_{i}" for level, i, _, _ in found]
        sizes = np.array([(w, edge, edge) for _, _, _, w in found])
        goals = np.array([(x, y, (level + 0.5) * edge) for level, _, x, _ in found])
        goals[[not self.shown(level, levels) for level, *_ in found]] = np.nan
        turns = np.zeros(len(names))
        if rng is not None:
            tools, turns = scattered(rng, sizes)
        elif (levels + 1) // 2 * edge <= ARENA_HIGH[2]:  # the wall's rows are piled in turn before and behind the goal
            tools = np.array([(x, 0.1 if level % 2 else -0.1, (level // 2 + 0.5) * edge) for level, _, x, _ in found])
        else:
            tools = in_columns(sizes)
        return tools_and_goals(names, sizes, tools, goals, float(values["blocks_mass"]), turns)

    def shown(self, level: int, levels: int) -> bool:
        """Whether the goal shows this level."""
        return True

    @staticmethod
    def _wall(levels: int, edge: float, width: float) -> list[Row]:
        """As many blocks side by side as the width holds, on every level."""
        count = max(1, int(width / edge + 1e-9))
        first = -(count - 1) * edge / 2
        return [
            [(first + i * edge + (_SHIFT if level % 2 else -_SHIFT), edge) for i in range(count)] for level in range(levels)
        ]

    @staticmethod
    def _structure(levels: int, edge: float, width: float, rng: np.random.Generator) -> tuple[list[Row], float]:
        """-> rows, y.  One block a level, its middle over the level below; then wide ones are halved where all still stands."""
        low, high = ARENA_LOW[0] + edge, ARENA_HIGH[0] - edge
        rows, y, under = [], float(rng.uniform(low, high)), (low, high)
        for _ in range(levels):
            x = float(np.clip(rng.uniform(*under), low, high))
            room = 2 * (ARENA_HIGH[0] - abs(x))
            w = float(rng.uniform(edge, max(edge, min(width, room))))
            rows.append([(x, w)])
            under = (x - w / 2, x + w / 2)
        for _ in range(_SPLITS):
            for level, row in enumerate(rows):
                for x, w in list(row):
                    if w > 2 * edge:
                        halves = [(x - w / 4, w / 2), (x + w / 4, w / 2)]
                        tried = sorted([b for b in row if b != (x, w)] + halves)
                        below, above = rows[level - 1] if level else None, rows[level + 1] if level + 1 < levels else []
                        if _stands(tried, below) and _stands(above, tried):
                            rows[level] = row = tried
        return rows, y


def _stands(row: Row, below: Row | None) -> bool:
    """Every block's middle lies over a block of the level below."""
    return below is None or all(any(abs(x - bx) <= bw / 2 for bx, bw in below) for x, _ in row)


class CreativeStackedBlocks(StackedBlocks):
    """Goals on the first and the last level alone; obstacles may stand about."""

    name = "creative_stacked_blocks"
    family = {
        **StackedBlocks.family,
        "stack_levels": (8, variable("1", (), (1, 8), (3, 5), (6, 8), integer=True)),
        "max_level_width": (0.12, StackedBlocks.family["max_level_width"][1]),
        "number_of_obstacles": (0, variable("1", (), (0, 5), (1, 5), (1, 5), integer=True)),
    }

    def shown(self, level: int, levels: int) -> bool:
        return level in (0, levels - 1)

    def build(self, values, rng) -> State:
        state = super().build(values, rng)
        source = np.random.default_rng(0) if rng is None else rng
        return self.with_obstacles(state, int(values["number_of_obstacles"]), source)

    def new_obstacle(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """A cube of one centimetre on the floor, beyond the blocks' disc."""
        angle = rng.uniform(-np.pi, np.pi)
        return obstacle((0.21 * np.cos(angle), 0.21 * np.sin(angle), 0.005), 0.01)
