"""Where data is born: worlds, rendering and the episode file."""

from envs.board_env import register

register()  # the ids exist once `envs` is imported, as Gymnasium's own plug-ins do it
