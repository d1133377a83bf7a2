"""Gymnasium ids of the tasks: causalwm/TriFingerPushing-v0 and so on. Imports nothing heavy: the extra may be missing."""

import gymnasium as gym

NAMES = ("reaching", "pushing", "picking", "pick_and_place", "stacking2", "towers", "stacked_blocks",
         "creative_stacked_blocks", "general")  # fmt: skip


def gym_id(name: str) -> str:
    """pick_and_place -> causalwm/TriFingerPickAndPlace-v0"""
    return f"causalwm/TriFinger{''.join(part.capitalize() for part in name.split('_'))}-v0"


def register() -> None:
    """Add every task; making one without the extra says what to install."""
    for name in NAMES:
        gym.register(gym_id(name), entry_point="envs.trifinger.env:TriFingerEnv", kwargs={"task": name})
