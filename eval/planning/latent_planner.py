"""What planners with a learned model share: where they are in latent space, and what the model remembers."""

import numpy as np
import torch

from eval.rollouts import actions_of, encode_frames

ROWS = 16384  # latents that are searched at a time
ROWS_OF_CPU = 1024  # of them stepped at a time on a CPU: as many as its caches hold


class LatentPlanner:
    """A `Policy` whose subclasses say how actions are searched, `_search`, and for how many episodes at a time, `at_once`.

    closed: every step begins at the encoded true frame; else the start is encoded once and the predicted latent of the
    chosen action is carried on (the authors' planner). What a model remembers is carried either way.
    world: asked for its spec, and for nothing else.  seed: of what a subclass draws.
    """

    at_once: int

    def __init__(self, model, world, distance, seed: int = 0, closed: bool = True) -> None:
        self.model, self.spec, self.distance, self.closed = model, world.spec, distance.to(model.device), closed
        self.seed = seed

    @staticmethod
    def check(model, world) -> None:
        """Raises Problem where such a planner cannot plan."""

    def begin(self, goal_obs: np.ndarray) -> None:
        self.goal = self._encode(goal_obs)
        self.latent = self.memory = self.action = None

    @torch.no_grad()
    def act(self, obs: np.ndarray, remaining: int) -> np.ndarray:
        if self.latent is None:
            self.latent = self._encode(obs)
        else:
            action = actions_of(self.action, self.spec).to(self.model.device)
            predicted, self.memory = self.model.step(self.latent, action, self.memory)
            self.latent = self._encode(obs) if self.closed else predicted
        parts = torch.arange(len(obs)).split(max(1, self.at_once))
        self.action = np.concatenate([self._search(rows, remaining) for rows in parts])
        return self.action

    def _encode(self, obs: np.ndarray) -> torch.Tensor:
        return encode_frames(self.model, obs).to(self.model.device)

    def _memory(self, rows: torch.Tensor) -> torch.Tensor | None:
        return None if self.memory is None else self.memory[rows]

    def _rows_at_once(self) -> int:
        """How many latents are stepped at a time."""
        return ROWS_OF_CPU if torch.device(self.model.device).type == "cpu" else ROWS

    def _search(self, rows: torch.Tensor, remaining: int) -> np.ndarray:
        """Recorded actions (E, ...) for the episodes `rows` (E,)."""
        raise NotImplementedError
