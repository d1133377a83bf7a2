"""B, occlusion: an object slides behind a U-shaped occluder whose middle is low.

Expected: its top is seen over the middle where it is high enough (B2), else nothing is (B1). Surprising: B1 is raised so that
it shows there; B2 is below the ground as long as it would be seen. The object's path is the same in all other frames.
Control: as long as the violation would show, the middle of the occluder stands higher or lower than before, and the object is
where it was expected. The occluder is moved from outside in every trial; what it hides follows from where it is.
"""

import numpy as np

from envs.voe import shapes
from envs.voe.clip import FRAMES, Clip, Version
from envs.voe.controls import matched
from envs.voe.geometry import HEIGHT, PLANE, on_occluder, visible_top
from envs.voe.scenes import CAMERA, Simulated, clip, occluder, ramp, thing, track
from envs.voe.settings import Setting

WIDTH, MIDDLE, DEPTH = 13.0, 3.0, 0.2  # of the occluder and of its middle segment
_START, _STEP, _SET_OFF = -12.5, 0.9, 14  # x, scene units a frame, frame
_ABOVE = 12.0  # where the occluder comes from
_TOP = 4.9  # as seen on the occluder: a raised object must not show over its sides
_BELOW = -10.0
_AROUND = np.stack([np.cos(np.arange(64) * np.pi / 32), np.sin(np.arange(64) * np.pi / 32)])
_STAYS = 0.15  # of a B2 is still seen over a risen middle


def simulate(setting: Setting, version: Version) -> Simulated:
    expected, path = _clip(setting), _path(setting)
    moved = path.copy()
    seen = visible_top(setting.shape, setting.height, setting.middle) > 0
    moved[:, 2] += _BELOW if seen else _raise(setting)
    now = _in_window(setting, path) | _in_window(setting, moved)
    moment = int(np.argmax(now))
    if version == Version.EXPECTED:
        return Simulated(expected, moment)
    surprising = _clip(setting, np.where(now[:, None], moved, path))
    if version == Version.SURPRISING:
        return Simulated(surprising, moment)
    first, last = np.flatnonzero(now)[[0, -1]]
    level = ramp(first - 1, first + 1) - ramp(last, last + 2)

    def lifted(height: float) -> Clip:
        return _clip(setting, middle=height * level)

    if not seen:
        return Simulated(matched(lifted, expected, surprising, 0.0, 2.0, 5), moment)
    room = visible_top(setting.shape, setting.height, setting.middle) - _STAYS
    down = HEIGHT * setting.middle - 0.05
    best = max((-down, room), key=abs)
    return Simulated(matched(lambda part: lifted(part * best), expected, surprising, 0.0, 1.0, 5), moment)


def seen_in_middle(setting: Setting, clip: Clip) -> int:
    """In how many frames some of the object is seen over the middle segment, between the sides."""
    edges = clip.place("middle")[:, 2] + HEIGHT * setting.middle / 2
    return int(_in_window(setting, clip.place("object"), edges).sum())


def _path(setting: Setting) -> np.ndarray:
    """(FRAMES, 3)"""
    half = _half(setting)
    x = _START + _STEP * (np.arange(FRAMES) - _SET_OFF)
    return np.stack([x, np.zeros(FRAMES), np.full(FRAMES, half[2])], 1)


def _scale(setting: Setting) -> np.ndarray:
    return np.array([setting.width, setting.height, setting.height])


def _half(setting: Setting) -> np.ndarray:
    return shapes.half_extents(setting.shape) * _scale(setting)


def _raise(setting: Setting) -> float:
    """By how much a hidden object is raised: half of it shows, less where it would show over the sides."""
    show = min(_half(setting)[2], _TOP - HEIGHT * setting.middle)
    nearer = (CAMERA[1] - PLANE) / CAMERA[1]  # what is at y = 0 is smaller on the occluder by this
    return (show - visible_top(setting.shape, setting.height, setting.middle)) / nearer


def _in_window(setting: Setting, places: np.ndarray, edges: np.ndarray | None = None) -> np.ndarray:
    """(FRAMES,) bool: whether the object at places (FRAMES, 3) shows over the middle segment.

    edges (FRAMES,): height of the middle segment's upper edge.
    """
    edges = np.full(FRAMES, HEIGHT * setting.middle) if edges is None else edges
    points = shapes.pieces(setting.shape)[0] * _scale(setting)
    found = np.zeros(FRAMES, bool)
    for frame in np.flatnonzero(np.abs(places[:, 0] - 0.5) < 2 * MIDDLE + 2):
        outline = _outline(on_occluder(points + places[frame]))
        for normal, limit in (([0, -1], -edges[frame]), ([1, 0], MIDDLE / 2), ([-1, 0], MIDDLE / 2)):
            outline = _cut(outline, np.array(normal, float), limit)
        found[frame] = len(outline) > 2
    return found


def _outline(points: np.ndarray) -> np.ndarray:
    """Corners of the convex hull of points (n, 2), counter-clockwise: those that are farthest in one of 64 directions."""
    return points[(points @ _AROUND).argmax(0)]


def _cut(outline: np.ndarray, normal: np.ndarray, limit: float) -> np.ndarray:
    """The part of a convex outline where normal . point < limit."""
    kept: list[np.ndarray] = []
    out = outline @ normal - limit if len(outline) else np.zeros(0)
    for i in range(len(outline)):
        here, there = out[i - 1], out[i]
        if here * there < 0:
            kept.append(outline[i - 1] + (outline[i] - outline[i - 1]) * here / (here - there))
        if there < 0:
            kept.append(outline[i])
    return np.array(kept)


def _clip(setting: Setting, path: np.ndarray | None = None, middle: np.ndarray | None = None) -> Clip:
    """middle (FRAMES,): how much higher than its place the middle segment is."""
    path = _path(setting) if path is None else path
    fall = np.zeros((FRAMES, 3))
    fall[:, 2] = _ABOVE * (1 - ramp(0, 19))
    half = HEIGHT * setting.middle / 2
    lift = fall.copy()
    lift[:, 2] += half + (0 if middle is None else middle)
    mesh = {"sides": shapes.occluder_sides(WIDTH, HEIGHT, MIDDLE, DEPTH)}
    tracks = [
        track(thing(setting, setting.shape, _scale(setting)), path),
        track(occluder((1, 1, 1), mesh="sides"), fall + [0, PLANE, 0]),
        track(occluder((MIDDLE / 2, DEPTH / 2, half), "middle"), lift + [0, PLANE, 0]),
    ]
    return clip(tracks, mesh)
