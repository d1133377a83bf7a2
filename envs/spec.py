"""What a world promises to models: observation shape, kind of action, objects. One fact, one home."""

from dataclasses import dataclass


@dataclass(frozen=True)
class EnvSpec:
    """The outside of a world. Models size themselves from this and from nothing else.

    obs_shape: (H, W, 3) of a uint8 frame.  action_kind: "object" = one of num_objects x choices discrete actions, action
    = object * choices + choice; "continuous" = a vector; "none" = video without actions.
    action_size: width of the action as the transition sees it (one-hot width, vector width or 0).
    """

    obs_shape: tuple[int, int, int]
    action_kind: str
    action_size: int
    num_objects: int

    @property
    def choices(self) -> int:
        """Actions per object; 0 where actions do not belong to objects."""
        return self.action_size // self.num_objects if self.action_kind == "object" else 0
