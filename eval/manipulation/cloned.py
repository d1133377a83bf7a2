"""A cloned policy: a perceptron from observations to joint positions, and the archive (.zip) that it is kept in.

The archive holds cloned.json (what it was cloned on) and cloned.pth (tensors alone, so that nothing in it runs when it is
read).
"""

import json
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from torch import nn

from envs.whole_files import write_whole

_HEADER, _WEIGHTS = "cloned.json", "cloned.pth"
_WAVES = 32  # of the time that is left: the expert's movements follow one another in time


class ClonedPolicy(nn.Module):
    """width: of an observation, whose first number is the time left, in [-1, 1].  hidden: of each of three layers."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        sizes = (width + 2 * _WAVES, hidden, hidden, hidden)
        layers = [layer for a, b in zip(sizes, sizes[1:]) for layer in (nn.Linear(a, b), nn.ELU())]
        self.layers = nn.Sequential(*layers, nn.Linear(hidden, 9))
        self.register_buffer("waves", torch.arange(1, _WAVES + 1) * torch.pi / 2)
        for name, size in (("mean", width), ("spread", width), ("action_mean", 9), ("action_spread", 9)):
            self.register_buffer(name, torch.ones(size) if name.endswith("spread") else torch.zeros(size))

    def normalise_by(self, observations: torch.Tensor, actions: torch.Tensor) -> None:
        """(n, width), (n, 9): what the network sees and gives is in units of their spread."""
        for name, values in (("", observations), ("action_", actions)):
            setattr(self, f"{name}mean", values.mean(0))
            spread = values.std(0)
            constant = spread < 1e-6  # nothing is known of its unit: as it is
            setattr(self, f"{name}spread", torch.where(constant, 1.0, spread.clamp_min(1e-3)))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """(n, width) -> (n, 9), in units of `action_spread` about `action_mean`"""
        time = (observations[:, :1] + 1) / 2 * self.waves
        return self.layers(torch.cat([(observations - self.mean) / self.spread, time.sin(), time.cos()], 1))

    @torch.no_grad()
    def act(self, observation: np.ndarray) -> np.ndarray:
        """(width,) -> (9,) in [-1, 1]"""
        given = self(torch.as_tensor(observation, dtype=torch.float32)[None])[0]
        return (given * self.action_spread + self.action_mean).clamp(-1, 1).numpy()


def write_policy(path: Path, policy: ClonedPolicy, header: dict) -> None:
    """header: what `layout` of trained_in.py gives, `hidden`, and whatever else is to be kept."""
    weights, content = BytesIO(), BytesIO()
    torch.save(policy.state_dict(), weights)
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(_HEADER, json.dumps(header))
        archive.writestr(_WEIGHTS, weights.getvalue())
    write_whole(path, content.getvalue())


def is_cloned(archive: zipfile.ZipFile) -> bool:
    return _HEADER in archive.namelist()


def read_policy(archive: zipfile.ZipFile) -> tuple[ClonedPolicy, dict]:
    """-> the policy, its header. Whatever zip, json and torch raise over a damaged one."""
    header = json.loads(archive.read(_HEADER))
    policy = ClonedPolicy(len(header["entries"]), int(header["hidden"]))
    policy.load_state_dict(torch.load(BytesIO(archive.read(_WEIGHTS)), map_location="cpu", weights_only=True))
    return policy.eval(), header
