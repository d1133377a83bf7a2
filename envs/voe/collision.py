"""D, collision: two objects slide towards each other and meet head-on. Their masses are their sizes cubed.

Expected: they meet without a bounce and go on together; the smaller (D1) or the slower one (D3) is driven back, equal ones stop
(D2). Surprising: D1, the masses are exchanged; D3, the slower one acts as if a hundred times heavier; D2, one side stops dead
and drives the other back.
Control: they meet in the same frame and graze, so that they part sideways. Along their way they move as expected, together they
have the momentum they had, and no energy is added: a smooth contact at an angle a with a bounce of tan(a) squared does that.
Where this is too little to be as large as the surprise, both are also pushed aside alike, from outside; along their way that
changes nothing.
"""

from functools import lru_cache

import numpy as np

from envs.voe import dynamics, shapes
from envs.voe.clip import FRAMES, Clip, Version
from envs.voe.controls import simulated
from envs.voe.scenes import RATE, STEPS, Simulated, clip, thing, track
from envs.voe.settings import Setting

SPEED = 5.4  # scene units a second of a speed of 1: the slowest two still meet before the clip ends
_START = 5.0
_HEAVY = 100.0
_BACK = 0.9  # of its speed has what is driven back by an equal
_STRONGEST = 2.0  # control: an angle of 45 degrees, and a push aside
_NAMES = ("left", "right")


def subtype(setting: Setting) -> str:
    sizes, speeds = setting.left_size == setting.right_size, setting.left_speed == setting.right_speed
    return "D2" if sizes and speeds else "D3" if sizes else "D1"


def simulate(setting: Setting, version: Version) -> Simulated:
    return simulated(_run, setting, version, _STRONGEST)


@lru_cache(maxsize=2)  # the control is measured against the two others
def _run(setting: Setting, version: Version, strength: float = 0.0) -> Simulated:
    """strength of a control: up to 1 the tangent of the contact's angle, the rest is the push from outside."""
    sizes = np.array([setting.left_size, setting.right_size])
    speeds = np.array([setting.left_speed, -setting.right_speed]) * SPEED
    masses = sizes**3
    kind, surprising = subtype(setting), version == Version.SURPRISING
    acting = masses.copy()
    if surprising and kind == "D1":
        acting = masses[::-1]
    elif surprising and kind == "D3":
        acting[np.argmin(np.abs(speeds))] *= _HEAVY

    client = dynamics.bullet(ground=False)
    bodies = [
        dynamics.Sliding(client, shapes.pieces(shape)[0] * size, (x, 0.0, size), mass, speed)
        for shape, size, x, mass, speed in zip(
            (setting.left_shape, setting.right_shape), sizes, (-_START, _START), acting.tolist(), speeds.tolist()
        )
    ]
    met = [-1]

    def after(step: int) -> None:
        if met[0] < 0 and bodies[0].touches([bodies[1].id]):
            met[0] = step
            if surprising and kind == "D2":
                driven = _NAMES.index("left") if setting.way == "right" else _NAMES.index("right")
                bodies[driven].push(-_BACK * speeds[driven])
                bodies[1 - driven].push(0.0)

    found = dynamics.frames(client, lambda: np.array([body.state() for body in bodies]), after)
    seconds = np.maximum(np.arange(FRAMES) * STEPS - met[0], 0) / (RATE * STEPS) if met[0] >= 0 else np.zeros(FRAMES)
    closing = speeds[0] - speeds[1]
    aside = closing * (min(strength, 1.0) * masses[::-1] / masses.sum() * [1, -1] + max(strength - 1.0, 0.0))
    aside = aside * (1 if setting.rng(2).random() < 0.5 else -1)
    tracks = []
    for i, name in enumerate(_NAMES):
        places, velocities = np.zeros((FRAMES, 3)), np.zeros((FRAMES, 3))
        places[:, 0], velocities[:, 0] = found[:, i].T
        places[:, 1], velocities[:, 1] = aside[i] * seconds, aside[i] * (seconds > 0)
        places[:, 2] = sizes[i]
        shape = setting.left_shape if name == "left" else setting.right_shape
        tracks.append(track(thing(setting, shape, np.full(3, sizes[i]), name), places, None, velocities))
    return Simulated(clip(tracks), met[0] // STEPS + 1 if met[0] >= 0 else FRAMES)


def speeds(clip: Clip, name: str) -> tuple[float, float]:
    """Velocity along x in the first and in the last frame, in the paper's unit."""
    along = clip.velocities[:, [body.name for body in clip.bodies].index(name), 0] / SPEED
    return round(float(along[0]), 6), round(float(along[-1]), 6)
