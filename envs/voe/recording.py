"""One trial in one version as columns: simulated, drawn, labelled. It runs in worker processes."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from envs.problem import Problem
from envs.voe.clip import FRAMES, SUBTYPES, Clip, Version
from envs.voe.labels import label, subtype
from envs.voe.render import Film, Studio
from envs.voe.scenes import first_difference
from envs.voe.settings import Setting
from envs.voe.simulate import simulate
from envs.voe.table import table

DEPTH_STEP = 1 / 512  # scene units that a depth of 1 stands for: whole numbers are packed well
_SEEN = 8  # of 255: smaller changes of a color, at the faint rim of a shadow, are not to be seen


def rows_of(plan: Mapping, segments: Iterable[str], versions: Iterable[Version]) -> int:
    """Rows of every clip of a split, at most FRAMES. Raises Problem on a segment, a version or a length that is not there."""
    for key, known in (("segment", list(segments)), ("version", [version.value for version in versions])):
        if plan.get(key) not in known:
            raise Problem(
                f"a split of VoE has {key}= one of {', '.join(known)}, got {plan.get(key)!r}; set it in the env's splits"
            )
    if plan["length"] + 1 > FRAMES:
        raise Problem(f"clips have {FRAMES} frames, got length={plan['length']}; set length={FRAMES - 1} of the split")
    return plan["length"] + 1


@dataclass(frozen=True)
class Look:
    """What is drawn: size of pictures, pixels; whether with depth and masks; by which renderer."""

    size: int = 112
    depth: bool = True
    mask: bool = True
    renderer: str = "auto"


@lru_cache(2)
def studio(renderer: str, process: int) -> Studio:
    """A process's own; process: its number."""
    return Studio(renderer)


def record_trial(setting: Setting, version: str, look: Look, rows: int) -> dict[str, np.ndarray]:
    """Columns (rows, ...) of the first frames of a clip."""
    artist, version = studio(look.renderer, os.getpid()), Version(version)
    clip = simulate(setting, version).clip
    film = artist.draw(clip, look.size, look.size, range(rows))
    expected = clip if version == Version.EXPECTED else simulate(setting, Version.EXPECTED).clip
    labels = label(setting, clip)
    columns = {"pixels": film.rgb, "objects": table(setting, clip, film.masks, rows)}
    if look.depth:
        columns["depth"] = np.minimum(np.rint(film.depth / DEPTH_STEP), 65535).astype(np.uint16)
    if look.mask:
        columns["mask"] = film.masks
    alike = {
        "trial": np.int32(setting.trial),
        "version": np.uint8(list(Version).index(version)),
        "subtype": np.uint8(SUBTYPES.index(subtype(setting, expected))),
        "violation": np.int16(first_seen(artist, expected, clip, film)),
        "features": labels["features"].astype(np.float32),
        "prior": labels["prior"].astype(np.int8),
        "posterior": labels["posterior"].astype(np.int8),
    }
    return columns | {f"label_{name}": np.repeat(value[None], rows, 0) for name, value in alike.items()}


def first_seen(artist: Studio, expected: Clip, clip: Clip, film: Film) -> int:
    """The first drawn frame that is seen to differ from the expected one; -1 where none is."""
    height, width = film.rgb.shape[1:3]
    for frame in range(first_difference(expected, clip), min(FRAMES, len(film.rgb))):
        before = artist.draw(expected, height, width, [frame])
        if (np.abs(before.rgb[0].astype(int) - film.rgb[frame]) > _SEEN).any() or (before.masks[0] != film.masks[frame]).any():
            return frame
    return -1
