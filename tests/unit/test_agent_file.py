"""The archive of an agent in training: whole or as it was, also on a full disk."""

import numpy as np
import pytest

gym, sb3 = pytest.importorskip("gymnasium"), pytest.importorskip("stable_baselines3")
from train.agents.archive import read, save  # noqa: E402


class Env(gym.Env):
    observation_space, action_space = gym.spaces.Box(-1, 1, (2,)), gym.spaces.Box(-1, 1, (1,))

    def reset(self, seed=None, options=None):
        return np.zeros(2, np.float32), {}


def test_a_full_disk_leaves_the_agent_of_before(tmp_path, monkeypatch):
    """Seen: half an archive stayed beside the agent, and the sentence named no file."""
    agent, path = sb3.PPO("MlpPolicy", Env(), n_steps=2, batch_size=2, device="cpu"), tmp_path / "agent.zip"
    agent.num_timesteps = 7
    save(agent, path, {})
    before = path.read_bytes()
    assert read(path, "cpu").steps == 7 and "policy" in read(path, "cpu").parameters

    def full(self, content):
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="No space left on device: '.*agent.zip'"):
        save(agent, path, {})
    assert [p.name for p in tmp_path.iterdir()] == ["agent.zip"] and path.read_bytes() == before
