"""Policies that collect data: smooth random targets near the blocks, or pushes in a straight line.

A policy is made for one episode and keeps its own targets: act(state, tips) -> target joints (9,), radians. All randomness
comes from the given generator.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np

from envs.trifinger.robot.robot import JOINTS_HIGH, JOINTS_LOW
from envs.trifinger.scene.state import CUBE, State, of_type

JointsFor = Callable[[np.ndarray, np.ndarray], np.ndarray]  # wanted tips (3, 3), joints to search from (9,) -> joints (9,)
LOWEST, HIGHEST = 0.015, 0.15  # metres of the tips' targets
_HELD = 8  # steps that a target stays
_NEAR_BLOCK, _SPREAD = 0.6, 0.05  # chance; metres
_BEHIND, _BEYOND, _ABOVE = 0.03, 0.06, 0.05  # metres of a scripted push
_MIDDLE = 0.11  # metres from the middle, within which a push may end


class Policy(Protocol):
    """One episode's way to act."""

    def act(self, state: State, tips: np.ndarray) -> np.ndarray: ...


def joints_of(policy: Policy, env, kinematics) -> Callable[[], np.ndarray]:
    """Where a policy wants the joints of an environment now: () -> (9,) radians."""

    def wanted() -> np.ndarray:
        state = env.state
        return policy.act(state, kinematics.tips(state["joint_positions"]))

    return wanted


class Drive:
    """What the nine numbers of an action in [-1, 1] mean.

    speed: an action is where the joints are to go, from where they are, in units of this many radians. None: joint positions,
    -1 and 1 the ends of their range, as `action_mode=joint_positions` has them; the robot then goes as fast as it can.
    """

    def __init__(self, speed: float | None) -> None:
        self.speed = speed
        self.noise = 0.05 if speed is None else 0.3  # standard deviation of what explores, in units of an action

    def action(self, joints: np.ndarray, now: np.ndarray) -> np.ndarray:
        """The action nearest to sending the joints from `now` to `joints`. All (9,)."""
        if self.speed is None:
            return np.clip(2 * (joints - JOINTS_LOW) / (JOINTS_HIGH - JOINTS_LOW) - 1, -1, 1)
        return np.clip((joints - now) / self.speed, -1, 1)

    def joints(self, action: np.ndarray, now: np.ndarray) -> np.ndarray:
        """Where an action sends the joints, (9,) radians; the environment cuts what lies outside their range."""
        action = np.clip(np.asarray(action, float), -1, 1)
        if self.speed is None:
            return JOINTS_LOW + (action + 1) / 2 * (JOINTS_HIGH - JOINTS_LOW)
        return now + self.speed * action


class RandomTouch:
    """Every 8 steps each finger is sent near a block or near its own position; without blocks anywhere in the arena."""

    def __init__(self, rng: np.random.Generator, joints_for: JointsFor) -> None:
        self._rng, self._joints_for = rng, joints_for
        self._left, self._joints = 0, np.zeros(9)

    def act(self, state: State, tips: np.ndarray) -> np.ndarray:
        if not self._left:
            self._left = _HELD
            self._joints = self._joints_for(self._targets(state, tips), state["joint_positions"])
        self._left -= 1
        return self._joints

    def _targets(self, state: State, tips: np.ndarray) -> np.ndarray:
        """Where the tips are to go, (3, 3)."""
        rng, blocks = self._rng, of_type(state, CUBE)
        to_block, flat = rng.random(3) < _NEAR_BLOCK, rng.normal(0, _SPREAD, (3, 3))
        chosen, height, anywhere = rng.random(3), rng.uniform(-0.02, 0.04, 3), rng.uniform(-0.12, 0.12, (3, 3))
        targets = tips + flat
        for finger in np.flatnonzero(to_block):
            if not blocks:
                targets[finger] = anywhere[finger] + (0, 0, 0.12)
                continue
            position = state[blocks[int(chosen[finger] * len(blocks))]]["cartesian_position"]
            targets[finger] = position + (*flat[finger, :2], height[finger])
        targets[:, 2] = np.clip(targets[:, 2], LOWEST, HIGHEST)
        return targets


class ScriptedPush:
    """One finger goes behind a block, comes down and pushes it in a straight line; then another push begins.

    The finger and the direction are drawn; near the edge the direction is towards the middle. The other fingers stay where
    they are. Where there is no block, nothing is pushed.
    """

    _PHASES = (("above", 6), ("behind", 4), ("through", 8))  # and how many steps each lasts

    def __init__(self, rng: np.random.Generator, joints_for: JointsFor) -> None:
        self._rng, self._joints_for = rng, joints_for
        self._plan: list[tuple[int, np.ndarray]] = []  # finger and target of each step to come

    def act(self, state: State, tips: np.ndarray) -> np.ndarray:
        blocks = of_type(state, CUBE)
        if not blocks:
            return state["joint_positions"]
        if not self._plan:
            self._plan = self._push(state[blocks[self._rng.integers(len(blocks))]], tips)
        finger, target = self._plan.pop(0)
        wanted = tips.copy()
        wanted[finger] = target
        return self._joints_for(wanted, state["joint_positions"])

    def _push(self, block: State, tips: np.ndarray) -> list[tuple[int, np.ndarray]]:
        rng, position = self._rng, block["cartesian_position"]
        angle = rng.uniform(-np.pi, np.pi)
        if np.hypot(*position[:2]) > _MIDDLE:
            angle = np.arctan2(-position[1], -position[0]) + rng.normal(0, 0.4)
        way = np.array([np.cos(angle), np.sin(angle), 0.0])
        half = float(np.max(block["size"][:2])) / 2
        behind, beyond = position - way * (half + _BEHIND), position + way * (_BEYOND - half)
        behind[2] = beyond[2] = np.clip(position[2], LOWEST, HIGHEST)
        points = {"above": behind + (0, 0, half + _ABOVE), "behind": behind, "through": beyond}
        finger = int(np.argmin(np.linalg.norm(tips - behind, axis=1)))
        return [(finger, points[phase]) for phase, steps in self._PHASES for _ in range(steps)]


def identity_of(policy: str | Callable) -> str | dict:
    """What identifies a policy in a header: its name; of a partial function also its arguments, files by their digest."""
    if not callable(policy):
        return policy
    function = getattr(policy, "func", policy)
    arguments = {name: _digest(value) for name, value in getattr(policy, "keywords", {}).items()}
    if positional := getattr(policy, "args", ()):
        arguments["_args_"] = [_digest(value) for value in positional]  # as a config calls them
    return {"function": f"{function.__module__}.{function.__qualname__}", **arguments}


def _digest(value):
    path = Path(value) if isinstance(value, str) else None
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path is not None and path.is_file() else value
