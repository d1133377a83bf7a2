"""Planning on true frames: the world says what every action would show, and a learned distance chooses. No transition acts."""

import numpy as np
import torch

from envs.protocols import Simulator, State
from envs.streams import Stream
from eval.planning.actions import every_action
from eval.planning.oracles import after_every_action
from eval.planning.tasks import Oracle, Tasks
from eval.rollouts import encode_frames, finite


class TrueFrames(Oracle):
    """One step ahead: the action whose true next frame is nearest to the goal. Chance is a draw of its own."""

    def __init__(self, model, world: Simulator, distance, seed: int = 0) -> None:
        self.model, self.world, self.distance, self.seed = model, world, distance.to(model.device), seed

    @staticmethod
    def check(model, world) -> None:
        """Raises Problem where it cannot plan."""
        every_action(world.spec.action)

    def begin(self, tasks: Tasks) -> None:
        self.goal, self.rng = self._encode(tasks.goal), Stream.SIMULATOR.rng(self.seed)

    def _encode(self, state: State) -> torch.Tensor:
        return encode_frames(self.model, self.world.observe(state)).to(self.model.device)

    @torch.no_grad()
    def act(self, state: State, remaining: int) -> np.ndarray:
        after = after_every_action(self.world, state, self.world.noise(len(state), self.rng))
        rows = self.world.pack(after).reshape(len(after), -1)
        _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)  # many actions do the same
        latent = self._encode(after.take(first))[which.ravel()]
        far = finite(self.distance(latent, self.goal.repeat_interleave(len(after) // len(state), 0)), "distances to the goal")
        return far.view(len(state), -1).argmin(1).cpu().numpy()
