"""Worlds, their rendering, and the episode file."""

from envs.board_env import register as register_boards
from envs.trifinger import register as register_trifinger

register_boards()  # the ids exist once `envs` is imported, as Gymnasium's own plug-ins do it
register_trifinger()
