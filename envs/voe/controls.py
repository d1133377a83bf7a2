"""Controls are as large as what they stand beside: the strength of a lawful change is searched for."""

from collections.abc import Callable

from envs.voe.clip import Clip
from envs.voe.silhouettes import silhouettes, size


def matched(make: Callable[[float], Clip], expected: Clip, surprising: Clip, low: float, high: float, rounds: int = 4) -> Clip:
    """The clip of the weakest strength found whose change is no smaller than that of the surprising clip.

    make(strength) -> clip, for low <= strength <= high; the strongest is taken where none is large enough.
    """
    plain = silhouettes(expected)
    wanted = size(plain, silhouettes(surprising))
    found = make(high)
    if size(plain, silhouettes(found)) < wanted:
        return found
    for _ in range(rounds):
        middle = (low + high) / 2
        clip = make(middle)
        if size(plain, silhouettes(clip)) >= wanted:
            found, high = clip, middle
        else:
            low = middle
    return found
