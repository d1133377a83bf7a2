"""Controls are as large as what they stand beside: the strength of a lawful change is searched for."""

from collections.abc import Callable

import numpy as np

from envs.voe.clip import Clip, Version
from envs.voe.scenes import Simulated
from envs.voe.settings import Setting
from envs.voe.silhouettes import silhouettes, size

_FIRST = 4  # strengths tried in equal steps


def simulated(run: Callable[..., Simulated], setting: Setting, version: Version, strongest: float) -> Simulated:
    """A version of a trial, made by run(setting, version); that of a control by run(setting, version, strength)."""
    expected = run(setting, Version.EXPECTED)
    if version == Version.EXPECTED:
        return expected
    surprising = run(setting, Version.SURPRISING)
    if version == Version.SURPRISING:
        return surprising
    found = matched(lambda strength: run(setting, version, strength).clip, expected.clip, surprising.clip, 0.0, strongest)
    return Simulated(found, expected.moment)


def matched(make: Callable[[float], Clip], expected: Clip, surprising: Clip, low: float, high: float, rounds: int = 3) -> Clip:
    """The clip of the weakest strength found whose change is no smaller than that of the surprising clip.

    make(strength) -> clip, for low < strength <= high. The largest change is taken where none is large enough.
    """
    plain = silhouettes(expected)
    wanted = size(plain, silhouettes(surprising))
    tried: list[tuple[float, Clip]] = []
    for strength in np.linspace(low, high, _FIRST + 1)[1:].tolist():
        clip = make(strength)
        tried.append((size(plain, silhouettes(clip)), clip))
        if tried[-1][0] >= wanted:
            return _weaker(make, plain, wanted, strength - (high - low) / _FIRST, strength, clip, rounds)
    return max(tried, key=lambda pair: pair[0])[1]


def _weaker(make, plain: np.ndarray, wanted: float, low: float, high: float, found: Clip, rounds: int) -> Clip:
    """`found` has strength `high`: the weakest one between it and `low` that is as large as wanted."""
    for _ in range(rounds):
        middle = (low + high) / 2
        clip = make(middle)
        if size(plain, silhouettes(clip)) >= wanted:
            found, high = clip, middle
        else:
            low = middle
    return found
