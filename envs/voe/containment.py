"""C, containment: an object is dropped into a box or a mug; an occluder before its rim is lowered afterwards.

Expected: it lies wholly inside (C1), or sticks out of the top (C2), because it is tall or too wide to enter. Surprising: C1 is
not contained, as if the container were solid; a C2 that entered is not contained either or sinks in until nothing sticks out,
one that did not enter sinks in.
Control: from the moment the violation would show, the occluder stands higher than expected, as if it were lifted and, in the
end, stopped early. The occluder is moved from outside in every trial; the object and the container do what was expected.
"""

from functools import lru_cache

import numpy as np

from envs.bodies.rotations import rotation
from envs.voe import dynamics, geometry, shapes
from envs.voe.clip import CONTAINER, FRAMES, Body, Clip, Version
from envs.voe.controls import matched
from envs.voe.scenes import COLORS, GRAVITY, RATE, STEPS, Simulated, clip, occluder, ramp, thing, track
from envs.voe.settings import Setting
from envs.voe.silhouettes import shows, silhouettes

PLACE = np.array([-2.0, -6.9])
_DROP = 6.25  # z of the object's middle
_BOUNCE = 0.8
_MESH = {"box": "open_box", "mug": "mug"}
_SCREEN = np.array([2.0, 0.05, 1.0])
_LOWERED = 6.0


def simulate(setting: Setting, version: Version) -> Simulated:
    expected = _drop(setting, "")
    if version == Version.EXPECTED:
        return Simulated(expected.clip, _moment(setting, expected))
    surprising = _drop(setting, _way(setting, expected.clip))
    moment = _moment(setting, expected)
    if version == Version.SURPRISING:
        return Simulated(surprising.clip, moment)
    first = min(shows(silhouettes(expected.clip), silhouettes(surprising.clip)), FRAMES - 4)
    level = ramp(first - 1, first + 3)
    lifted = matched(lambda up: _clip(setting, expected.clip, up * level), expected.clip, surprising.clip, 0.0, 3.0)
    return Simulated(lifted, moment)


def _moment(setting: Setting, expected: Simulated) -> int:
    """The frame in which the object comes to what stops it, in the expected or in the surprising version."""
    if _way(setting, expected.clip) == "no_protrude":
        return expected.moment
    fall = _DROP - (shapes.half_extents(setting.shape) * _object_scale(setting))[2] - 2 * scale(setting)[2]
    return int(RATE * np.sqrt(2 * fall / GRAVITY))


def scale(setting: Setting) -> np.ndarray:
    """(3,): of the container."""
    return geometry.container_scale(setting.container, setting.container_width, setting.container_height)


def rests(setting: Setting, clip: Clip) -> tuple[float, float, float]:
    """Last frame, scene units: object's center above the rim, its top above the rim, its center beside the container's."""
    place = clip.poses[-1, 0]
    points = (shapes.pieces(setting.shape)[0] * _object_scale(setting)) @ rotation(place[3:]).T + place[:3]
    rim = 2 * scale(setting)[2]
    return float(place[2] - rim), float(points[:, 2].max() - rim), float(np.abs(place[:2] - PLACE).max())


def fits(setting: Setting, clip: Clip) -> bool:
    center, _, aside = rests(setting, clip)
    return bool(center < 0 and aside < geometry.opening(setting.container, setting.container_width))


def _way(setting: Setting, expected: Clip) -> str:
    """How the surprise is made: only one way is a surprise where the object is hidden, or did not enter."""
    if not fits(setting, expected):
        return "no_protrude"
    return setting.way if rests(setting, expected)[1] > 0 else "no_contain"


def _object_scale(setting: Setting) -> np.ndarray:
    return np.array([setting.width, setting.width, setting.height])


@lru_cache(maxsize=2)  # the control is measured against the two others
def _drop(setting: Setting, way: str) -> Simulated:
    size, kind = scale(setting), _MESH[setting.container]
    client = dynamics.bullet(ground=True)
    at = (*PLACE, size[2])
    solid: list[int] = []
    if way == "no_contain":
        solid = dynamics.fixed(client, [np.concatenate(shapes.pieces(kind)) * size], at, restitution=1.0)
    elif way == "":
        solid = dynamics.fixed(client, [piece * size for piece in shapes.pieces(kind)], at)
    else:
        client.removeBody(0)
    body = dynamics.Free(client, setting.shape, _object_scale(setting), (*PLACE, _DROP), restitution=_BOUNCE)
    met = [-1]

    def after(step: int) -> None:
        if met[0] < 0 and solid and body.touches(solid):
            met[0] = step

    found = dynamics.frames(client, lambda: np.concatenate([body.pose(), body.velocity()]), after)
    return Simulated(_clip(setting, found), met[0] // STEPS + 1)


def _clip(setting: Setting, found: np.ndarray | Clip, raised: np.ndarray | float = 0.0) -> Clip:
    """found (FRAMES, 10): pose and velocity of the object, or a clip that has them.  raised (FRAMES,): of the occluder."""
    if isinstance(found, Clip):
        found = np.concatenate([found.poses[:, 0], found.velocities[:, 0]], 1)
    size = scale(setting)
    screen = np.zeros((FRAMES, 3))
    screen[:, 2] = raised - _LOWERED * ramp(34, 49)
    front = np.array([PLACE[0], PLACE[1] - size[0] - 0.5, 2 * size[2] + 0.2])
    tracks = [
        track(thing(setting, setting.shape, _object_scale(setting)), found[:, :3], found[:, 3:7], found[:, 7:]),
        track(Body("container", CONTAINER, _MESH[setting.container], tuple(size), COLORS["container"]), (*PLACE, size[2])),
        track(occluder(_SCREEN), front + screen),
    ]
    return clip(tracks)
