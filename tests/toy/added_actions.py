"""A model whose latents are the observations and whose transition adds the action, for losses worked out by hand."""

import torch

from models.interfaces import Batch
from models.world_model import WorldModel


class Table:
    """A fake model: obs holds the latent itself, the transition adds the action."""

    def __init__(self):
        self.encoded = 0
        self.training = True

    def encode(self, obs):
        self.encoded += len(obs)
        return obs

    predict_windows = WorldModel.predict_windows

    def transition(self, latent, action):
        return latent + action[:, None]


def windows(frames, actions, ids=None):
    """frames (B, T+1, K, D) as observations; ids default to all different."""
    frames, actions = torch.tensor(frames).float(), torch.tensor(actions).float()
    ids = torch.arange(frames.shape[0] * frames.shape[1]).view(frames.shape[:2]) if ids is None else torch.tensor(ids)
    return Batch(frames, actions, ids)
