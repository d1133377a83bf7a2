"""VoeSource: trials of one event category as episodes that `envs/collect.py` records, one version a split.

world = VoeSource("collision")
columns, lengths = world.record({"segment": "test", "version": "surprising", "length": 49}, None, 5)
"""

import multiprocessing
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import lru_cache, partial
from importlib.metadata import version as installed

import numpy as np

import envs.voe.extra  # noqa: F401  first
from envs.bodies.rendering.open import RENDERERS
from envs.problem import Problem, nearest
from envs.protocols import Source
from envs.spec import Action, EnvSpec, Observation
from envs.voe.clip import CATEGORIES, SUBTYPES, Version
from envs.voe.counts import exact
from envs.voe.recording import Look, record_trial, rows_of, studio
from envs.voe.settings import COLORS, PRESETS, SEGMENTS, Setting, published, sample, trials
from envs.voe.table import ENTITIES, WIDTH
from envs.workers import cores, die_with_parent

LETTERS = {name: letter for letter, name in CATEGORIES.items()}
RESOLUTION = 1e-2  # scene units, to which outcomes are rounded
COUNTS = ("natural", "exact")
_GENERATOR = {"A": 2, "C": 2}  # of other categories 1; in files of 1 velocities of A and C are of the center of mass
_FRESH = 500  # clips after which processes start anew: Bullet keeps the memory of every shape it has made
_WORTH = 8  # clips below which processes cost more than they save


class VoeSource(Source):
    """Clips of one category of the violation-of-expectation benchmark.

    category: support, occlusion, containment, collision or barrier.  observation: pixels (size, size, 3), or objects, a table
    of entities (`envs/voe/table.py`).  record_depth, record_mask: whether these columns are there.  preset: supplement |
    released, the ranges of settings; published: the 5,000 settings of the published set.  counts: natural, or exact, the
    numbers of each sub-type in the supplement.  colors: by_shape | random.  seed: of the settings.  renderer: auto | moderngl |
    bullet.  workers: processes; none: one a core. They change no byte.
    A split is {segment: train | valid | test, version: expected | surprising | control}; the i-th episode is the i-th trial of
    the segment in every version.  Raises Problem on other names.
    """

    subtypes = SUBTYPES

    def __init__(
        self, category: str, observation: str = "pixels", size: int = 112, record_depth: bool = True, record_mask: bool = True,
        preset: str = "supplement", counts: str = "natural", colors: str = "by_shape", seed: int = 0, renderer: str = "auto",
        workers: int | None = None,
    ) -> None:  # fmt: skip
        for value, known, key in ((category, LETTERS, "category"), (observation, ("pixels", "objects"), "observation"),
                                  (preset, (*PRESETS, "published"), "preset"), (counts, COUNTS, "counts"),
                                  (colors, COLORS, "colors"), (renderer, RENDERERS, "renderer")):  # fmt: skip
            if value not in known:
                raise Problem(f"VoE has no {key} '{value}': {nearest(str(value), known)}; set env.world.{key}=")
        for value, key, least in ((size, "size", 8), (workers, "workers", 1), (seed, "seed", 0)):
            if not (key == "workers" and value is None) and (not isinstance(value, int) or value < least):
                raise Problem(f"{key} of VoE is a whole number >= {least}, got {value!r}; set env.world.{key}=")
        if (preset, counts) == ("published", "exact"):
            raise Problem(
                "the published settings have the counts that they have, got counts=exact; set env.world.counts=natural"
            )
        self._letter, self.observation, self._look = (
            LETTERS[category],
            observation,
            Look(size, record_depth, record_mask, renderer),
        )
        self._asked = {"preset": preset, "counts": counts, "colors": colors, "seed": seed}
        self._workers, self._pool, self._recorded = workers or cores(), None, 0
        objects = len(ENTITIES[self._letter])
        self.spec = EnvSpec({
            "pixels": Observation("pixels", (size, size, 3)),
            "objects": Observation("objects", (objects, WIDTH), values="real", resolution=RESOLUTION),
        }, Action(0), objects)  # fmt: skip

    @property
    def row_bytes(self) -> int:
        """Most of a frame is that of the frame before."""
        return 400 + self._look.size**2 * (3 + 2 * self._look.depth + self._look.mask) // 12

    def header(self) -> dict:
        """All that decides a byte: settings, the engine, and the renderer.

        settings_seed: of the settings, where it is not 0. In the header of a file `seed` is that of the split.
        """
        seed = {"settings_seed": self._asked["seed"]} if self._asked["seed"] else {}  # files of before are those of seed 0
        if seed and self._asked["preset"] == "published":
            seed["open"] = "drawn by the seed"  # in files of before it was 0
        return {"world": type(self).__name__, "category": self._letter, **self._asked, **seed, "size": self._look.size,
                "depth": self._look.depth, "mask": self._look.mask, "pybullet": installed("pybullet"),
                "generator": _GENERATOR.get(self._letter, 1),
                "renderer": studio(self._look.renderer, os.getpid()).drawn_by}  # fmt: skip

    def save_beside(self, path) -> None:
        """The header names everything."""

    def versions(self, split: str) -> dict[str, str]:
        """Version -> the split that holds the trials of an expected split in it; {} of a split that holds another version."""
        if split.rpartition("-")[2] in set(Version) - {Version.EXPECTED}:
            return {}
        return {version.value: split if version is Version.EXPECTED else f"{split}-{version}" for version in Version}

    def settings(self, segment: str, first: int, count: int) -> list[Setting]:
        """Those of `count` trials from the `first` one (0: the very first) of a segment on."""
        numbers = trials(segment, full=True)
        if first + count > len(numbers):
            raise Problem(f"segment '{segment}' has {len(numbers)} trials, got {first + count} episodes; set episodes= of the "
                          f"split to {len(numbers)} or less")  # fmt: skip
        every = _settings(self._letter, **self._asked)
        return [every[number - 1] for number in numbers[first : first + count]]

    def record(self, plan: Mapping, rng, episodes: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Columns (rows, ...) of `episodes` trials from number `start` of the segment on; chance is that of the trial alone.

        pixels; depth, uint16 in steps of 1/512 scene unit along the camera's axis; mask, segment numbers of `envs/voe/clip.py`;
        objects; and of the clip, the same in each of its rows: label_trial, label_version (0 expected, 1 surprising, 2
        control), label_subtype (index in `subtypes`), label_violation (the first row that is seen to differ from the expected
        version; -1 where there is none), label_features (24,), label_prior (13,), label_posterior (9,).
        """
        rows = rows_of(plan, SEGMENTS, Version)
        start = plan.get("start", 0)
        self.settings(plan["segment"], 0, max(plan.get("episodes", 0), start + episodes))  # told before the first is drawn
        settings = self.settings(plan["segment"], start, episodes)
        look = replace(self._look, renderer=studio(self._look.renderer, os.getpid()).drawn_by)  # of no worker its own
        work = partial(record_trial, version=plan["version"], look=look, rows=rows)
        columns: dict[str, np.ndarray] = {}
        for number, clip in enumerate(self._map(work, settings)):
            for name, part in clip.items():  # into their places at once: a block of pictures is large
                if name not in columns:
                    columns[name] = np.empty((episodes * rows, *part.shape[1:]), part.dtype)
                columns[name][number * rows : (number + 1) * rows] = part
        return columns, np.full(episodes, rows)

    def _map(self, work, settings: list[Setting]) -> Iterator[dict]:
        """In worker processes where there is enough to do; they start anew, since OpenGL does not survive a fork, and stay."""
        if min(self._workers, len(settings)) < 2 or len(settings) < _WORTH:
            yield from map(work, settings)
            return
        if self._recorded > _FRESH:
            self._pool, self._recorded = self._pool.shutdown(), 0  # it gives back nothing
        self._recorded += len(settings)
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._workers, context, initializer=die_with_parent)
        try:
            yield from self._pool.map(work, settings)
        except BrokenProcessPool as error:
            self._pool, self._recorded = None, 0
            raise Problem("a process that draws VoE died, perhaps for lack of memory; give the same command again, with a "
                          "smaller env.world.workers=") from error  # fmt: skip


@lru_cache(8)
def _settings(category: str, preset: str, counts: str, colors: str, seed: int) -> tuple[Setting, ...]:
    """5,000, in the order of their trials."""
    if preset == "published":
        return tuple(published(category, colors, seed))
    return tuple((exact if counts == "exact" else sample)(category, preset, seed, colors))
