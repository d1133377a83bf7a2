"""TriFinger as a world of which models are learned. Needs the extra: pip install '.[trifinger]'."""

from envs.trifinger.source.world import TriFingerSource

__all__ = ["TriFingerSource"]
