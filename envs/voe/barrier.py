"""E, barrier: an object slides towards a wall; an occluder hides the contact, and is lifted again.

Expected: it goes through a cloth (E1), a wall stops it (E2), it goes through an opening that is wider and higher than itself
and is stopped by any other (E3). Surprising: the opposite; a cloth stops it, a wall lets it through, an opening is as if
filled. Control: what passes is slowed down on its way through, what is stopped bounces off; both still end on the side on which
they are expected. Friction and bounce are lawful, and take energy away.

The cloth is no cloth of Bullet's: it is a curtain that hangs from two corners; an object lifts it, it slides over the object,
and swings to rest. It does not act on the object.
"""

from functools import lru_cache

import numpy as np

from envs.voe import dynamics, shapes
from envs.voe.clip import FRAMES, WALL, Body, Clip, Version
from envs.voe.controls import matched
from envs.voe.scenes import COLORS, RATE, Simulated, clip, occluder, ramp, thing, track
from envs.voe.settings import Setting

DEPTH, WIDTH, HEIGHT = 2.0, 8.0, 4.3  # of the wall along x, along y, and up
BEYOND = 0.8  # x from which on an object has passed
_START, _SPEED = -11.5, 10.0  # x, scene units a second
_TIGHT = 0.02  # an opening that is as wide as the object stops it
_BULGE = 0.5  # of a cloth that stops what comes
_BOUNCE = 0.7  # of its speed has what a wall throws back, at most
_STRAIGHT = ("cube", "side_cylinder")  # shapes that do not get wider behind their front, and so never stick in an opening
_SCREEN = np.array([4.6, 0.1, 3.2])
_SCREEN_AT, _ABOVE = np.array([-1.0, -5.5, 3.2]), 12.0
_ROWS, _COLUMNS = 12, 13  # of the cloth's points
_SWING, _REST = 0.45, 0.35  # seconds: a quarter of a swing; until it has lost most of it


def simulate(setting: Setting, version: Version) -> Simulated:
    passes = expected_to_pass(setting)
    moment = _contact(setting)
    expected = _clip(setting, passes)
    if version == Version.EXPECTED:
        return Simulated(expected, moment)
    surprising = _clip(setting, not passes)
    if version == Version.SURPRISING:
        return Simulated(surprising, moment)
    if passes:
        seconds = (FRAMES - 1 - moment) / RATE
        slowest = min((DEPTH + 2 * half_extents(setting)[0] + 0.5) / (_SPEED * seconds), 0.9)
        found = matched(lambda lost: _clip(setting, True, 1 - lost), expected, surprising, 0.0, 1 - slowest)
    else:
        found = matched(lambda back: _clip(setting, False, -back), expected, surprising, 0.0, _BOUNCE)
    return Simulated(found, moment)


def half_extents(setting: Setting) -> np.ndarray:
    """(3,): half of the object along x, y and z.

    A torus is turned so that it faces the wall, and made as wide as it is said to be.
    """
    width, height = setting.width, setting.height
    return np.array([0.2 * width if setting.shape == "torus" else width, width, height])


def expected_to_pass(setting: Setting) -> bool:
    if setting.barrier == "opening":
        return setting.width < setting.opening_width - 1e-9 and setting.height < setting.opening_height - 1e-9
    return setting.barrier == "soft"


def beyond(clip: Clip) -> float:
    """Scene units from the far side of the wall to the center of the object in the last frame."""
    return float(clip.place("object")[-1, 0] - BEYOND)


def _contact(setting: Setting) -> int:
    """The frame in which the object has come to the barrier."""
    front = _BULGE if setting.barrier == "soft" else -DEPTH / 2
    return int(np.ceil((front - half_extents(setting)[0] - _START) / _SPEED * RATE))


@lru_cache(maxsize=2)  # the control is measured against the two others
def _clip(setting: Setting, passes: bool, change: float = 1.0) -> Clip:
    """change: what the velocity is multiplied with at the barrier."""
    half = half_extents(setting)
    torus = setting.shape == "torus"
    scale = np.array([setting.width, setting.width, setting.height]) / (1.25 if torus else 1.0)
    turn = np.array([0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]) if torus else None
    points = shapes.pieces(setting.shape)[0] * scale
    points = points[:, [1, 0, 2]] if torus else points
    front = _BULGE if setting.barrier == "soft" else -DEPTH / 2
    opening = (2 * setting.opening_width - _TIGHT, 2 * setting.opening_height - _TIGHT)
    if setting.barrier != "opening":
        opening = (0.0, 0.0)

    client = dynamics.bullet(ground=False)
    body = dynamics.Sliding(client, points, (_START, 0.0, half[2]), 1.0, _SPEED)
    walls = []
    if setting.barrier != "soft" and not passes:
        stopping = expected_to_pass(setting) or setting.barrier == "solid"
        walls = dynamics.fixed(client, shapes.wall_pieces(DEPTH, WIDTH, HEIGHT, *((0, 0) if stopping else opening)), (0, 0, 0))
    state = {"met": False}

    def after(step: int) -> None:
        if state["met"]:
            if walls and change == 1.0 and setting.shape in _STRAIGHT and body.state()[1] > 0.9 * _SPEED:
                body.push(0.0)  # it only grazed the sides of an opening as wide or as high as itself
            return
        x = body.state()[0]
        state["met"] = x + half[0] >= front if passes or not walls else body.touches(walls)
        if state["met"] and (change != 1.0 or not walls):
            body.push(_SPEED * change if passes or change != 1.0 else 0.0)

    found = dynamics.frames(client, lambda: np.array(body.state()), after)
    places, velocities = np.zeros((FRAMES, 3)), np.zeros((FRAMES, 3))
    places[:, 0], places[:, 2], velocities[:, 0] = found[:, 0], half[2], found[:, 1]
    screen = np.zeros((FRAMES, 3))
    screen[:, 2] = _ABOVE * (1 - ramp(9, 19) + ramp(39, 49))
    if setting.barrier == "soft":
        wall, cloth, mesh = "cube", {"wall": _cloth(places[:, 0], half)}, {}
    else:
        wall, cloth, mesh = "wall", {}, {"wall": shapes.wall_with_opening(DEPTH, WIDTH, HEIGHT, *opening)}
    tracks = [
        track(thing(setting, setting.shape, scale), places, turn, velocities),
        track(Body("wall", WALL, wall, (1.0, 1.0, 1.0), COLORS["wall"]), np.zeros(3)),
        track(occluder(_SCREEN), _SCREEN_AT + screen),
    ]
    return clip(tracks, mesh, cloth)


def _cloth(x: np.ndarray, half: np.ndarray) -> np.ndarray:
    """(FRAMES, n, 3, 3): the curtain while the object (its x in every frame) goes through."""
    room = HEIGHT - 2 * half[2]  # between its rod and the top of the object
    widest = np.arccos(min(room / HEIGHT, 1.0))  # its lower edge lies on top of the object
    angles, rest, swung = np.zeros(FRAMES), -1.0, 0.0
    for i in range(FRAMES):
        front, rear = x[i] + half[0], x[i] - half[0]
        if front > 0 and rear < HEIGHT * np.sin(widest):
            angles[i] = swung = min(np.arctan2(front, room), widest)
            rest = i
        elif rest >= 0:
            seconds = (i - rest) / RATE
            angles[i] = swung * np.exp(-seconds / _REST) * np.cos(seconds * np.pi / 2 / _SWING)
    y = np.linspace(-WIDTH / 2, WIDTH / 2, _COLUMNS)
    length = np.linspace(0.0, HEIGHT - 0.03, _ROWS)
    near = np.exp(-((np.maximum(np.abs(y) - half[1], 0.0) / 1.5) ** 2))
    angle = angles[:, None, None] * near
    sag = 0.15 * (1 - (2 * y / WIDTH) ** 2) * (1 - length / HEIGHT)[:, None]
    points = np.stack(np.broadcast_arrays(
        length[:, None] * np.sin(angle), y, HEIGHT - length[:, None] * np.cos(angle) - sag
    ), -1)  # fmt: skip
    return np.stack([shapes.sheet(frame) for frame in points])
