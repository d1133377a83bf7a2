"""Causes of what a scene does: kinds of variables that can be set together, whatever objects they belong to."""

from collections.abc import Iterable

_KINDS = {  # cause -> how the paths of its variables begin, and how they end
    "block mass": ("tool_", "/mass"),
    "block size": ("tool_", "/size"),
    "block position": ("tool_", "/cylindrical_position"),
    "block orientation": ("tool_", "/euler_orientation"),
    "friction of floor and stage": ("", ("floor_friction", "stage_friction")),
    "masses of the links": ("robot_", "/mass"),
    "joint positions": ("joint_positions", ""),
    "goal": ("goal_", ("/cylindrical_position", "/euler_orientation")),
    "colours": ("", "color"),
}


def causes(paths: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Cause -> its variables among these paths; causes without any are left out."""
    found = {
        cause: tuple(path for path in paths if path.startswith(begins) and path.endswith(ends))
        for cause, (begins, ends) in _KINDS.items()
    }
    return {cause: variables for cause, variables in found.items() if variables}
