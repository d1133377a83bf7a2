"""A, support: an object is dropped onto the edge of a box.

Expected: it falls where its center of mass is beyond the edge (A1), and stays where it is not (A2). Surprising: from the moment
it lands A1 stays as it landed, hovering; A2 falls, because its center of mass is moved beyond the edge.
Control: from the moment it lands the support goes down like a lift, less fast than things fall. What stood on it still stands
on it, what tips still tips; forces and the cause of the outcome are those of the expected version.
"""

from functools import lru_cache

import numpy as np

from envs.voe import dynamics, shapes
from envs.voe.clip import FRAMES, SUPPORT, Body, Clip, Version
from envs.voe.controls import simulated
from envs.voe.scenes import COLORS, GRAVITY, RATE, STEPS, Simulated, clip, thing, track
from envs.voe.settings import Setting

EDGE, TOP = -2.0, 4.05
_HALF, _MIDDLE = np.array([2.5, 2.0, TOP / 2]), np.array([-4.5, -6.9, TOP / 2])
_DROP = 1.0  # of its lowest point above the support
_BEYOND = 0.25  # half widths beyond the edge is the center of mass of a surprising A2
_LIFT = 1.5  # at most; what has fallen then still lies lower than the support
_HAIR = 0.05  # of the width

# Half of the width over the edge is undecided, in the world and in the published set, where about 43 % of these trials fall. A
# hair decides here, and its side follows from shape and height. The table is fitted: to the counts of the supplement, and to
# what is known of the published labels, that trees learn them from the features. It says nothing about the world.
_TIPS = {"torus": (0.0, 9.0), "sphere": (0.0, 1.15), "side_cylinder": (0.0, 1.15), "cube": (1.15, 9.0)}  # heights that lean out


def simulate(setting: Setting, version: Version) -> Simulated:
    return simulated(_run, setting, version, _LIFT)


def overhang(setting: Setting) -> float:
    """Share of the width beyond the edge as it is released: `contact`, and a hair aside where that is a half."""
    if abs(setting.contact - 0.5) > 1e-6:
        return setting.contact
    low, high = _TIPS.get(setting.shape, (0.0, 0.0))
    return 0.5 + (_HAIR if low < setting.height < high else -_HAIR)


@lru_cache(maxsize=2)  # the control is measured against the two others
def _run(setting: Setting, version: Version, depth: float = 0.0) -> Simulated:
    """depth: how far the support of a control goes down."""
    scale = np.array([setting.width, 1.0, setting.height])
    half = shapes.half_extents(setting.shape) * scale
    start = np.array([EDGE + (overhang(setting) - 0.5) * 2 * half[0], _MIDDLE[1], TOP + _DROP + half[2]])
    client = dynamics.bullet()
    support = dynamics.fixed(client, [shapes.pieces("cube")[0] * _HALF], _MIDDLE)
    world = _Landing(client, support[0], dynamics.Free(client, setting.shape, scale, start), version, depth)
    found = dynamics.frames(client, world.read, world.after)
    drops = np.zeros((FRAMES, 3))
    drops[:, 2] = found[:, 10]
    tracks = [
        track(Body("support", SUPPORT, "cube", tuple(_HALF), COLORS["support"]), _MIDDLE + drops),
        track(thing(setting, setting.shape, scale), found[:, :3], found[:, 3:7], found[:, 7:10]),
    ]
    return Simulated(clip(tracks), world.landed // STEPS + 1)


class _Landing:
    """What happens once the object touches the support."""

    def __init__(self, client, support: int, body: dynamics.Free, version: Version, depth: float) -> None:
        self.client, self.support, self.body, self.version, self.depth = client, support, body, version, depth
        self.landed, self.held, self.drop = -1, None, 0.0

    def read(self) -> np.ndarray:
        """(11,): pose, velocity, how far the support is from its place."""
        moving = np.concatenate([self.body.pose(), self.body.velocity()]) if self.held is None else self.held
        return np.append(moving, self.drop)

    def after(self, step: int) -> None:
        if self.landed < 0:
            if not self.body.touches([self.support]):
                return
            self.landed = step
            self.client.resetBaseVelocity(self.body.id, [0.0] * 3, [0.0] * 3)  # it lands without a bounce and does not turn yet
            if self.version == Version.SURPRISING:
                self._defy()
        if self.version == Version.CONTROL:
            seconds = np.sqrt(self.depth * np.pi**2 / (2 * 0.7 * GRAVITY))  # it never goes down faster than 0.7 g
            phase = min((step - self.landed) / (RATE * STEPS) / seconds, 1.0)
            self.drop = -self.depth * (1 - np.cos(np.pi * phase)) / 2
            self.client.resetBasePositionAndOrientation(self.support, (_MIDDLE + [0, 0, self.drop]).tolist(), [0, 0, 0, 1])

    def _defy(self) -> None:
        """A1 is held where it is. The center of mass of A2 is moved."""
        pose = self.body.pose()
        if pose[0] > EDGE:
            self.held = np.concatenate([pose, np.zeros(3)])
            return
        shape, scale = self.body.shape, self.body.scale
        self.client.removeBody(self.body.id)
        center = shapes.center_of_mass(shape) * scale + [EDGE - pose[0] + _BEYOND * scale[0], 0.0, 0.0]
        self.body = dynamics.Free(self.client, shape, scale, pose[:3], center=center)


def moved(clip: Clip) -> float:
    """Scene units by which the center of the object has moved on the support, from its landing to the last frame."""
    place = clip.place("object") - clip.place("support")
    fall = clip.velocities[:, [body.name for body in clip.bodies].index("object"), 2]
    landed = np.argmax(fall > -GRAVITY / RATE * np.arange(FRAMES) + 0.5)
    return float(np.linalg.norm(place[-1] - place[landed]))
