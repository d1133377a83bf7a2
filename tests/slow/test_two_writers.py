"""Two real processes on one run folder, and a real SIGTERM: the second is refused, the first ends with 143."""

import subprocess
import sys
import time

import pytest
from omegaconf import OmegaConf

pytestmark = pytest.mark.slow
TINY = ["env=physics3", "model=edge", "runs_dir=r", "data_dir=d", "score.horizons=[1]"]


def test_two_processes_never_write_one_run(small, command_here, root, tmp_path):
    """Seen: a second command with overwrite=true mixed two seeds in one folder, and both ended with exit code 0."""
    command = [sys.executable, str(root / "train/fit.py"), *small, *TINY, "name=ow", "loss.epochs.smoke=100000"]
    said = tmp_path / "said.txt"
    with said.open("w") as file:
        first = subprocess.Popen(command, cwd=tmp_path, stdout=file, stderr=subprocess.STDOUT)
    try:
        limit = time.monotonic() + 600
        while "joint 2/" not in said.read_text() and first.poll() is None and time.monotonic() < limit:
            time.sleep(0.1)
        for more in (["overwrite=true", "seed=1"], ["loss.epochs.smoke=100000"], None):
            arguments = [*small, *TINY, "name=ow", *more] if more else ["resume=r/ow"]
            second = command_here("train/fit.py", *arguments, cwd=tmp_path)
            assert second.returncode == 1 and len(second.stderr.splitlines()) == 1, second.stderr
            assert f"r/ow is in use by another command (process {first.pid} on " in second.stderr
        config = OmegaConf.load(tmp_path / "r" / "ow" / "config.yaml")
        assert config.seed == 0 and first.poll() is None
        first.terminate()
        assert first.wait(600) == 143
    finally:
        first.kill()
        first.wait()
    assert said.read_text().splitlines()[-1] == "terminated; give the same command again to go on"
    third = command_here("train/fit.py", *small, *TINY, "name=ow", "overwrite=true", "seed=1", cwd=tmp_path)
    assert third.returncode == 0, third.stderr  # a lock ends with its holder, and overwriting keeps the file it lies on
    assert OmegaConf.load(tmp_path / "r" / "ow" / "config.yaml").seed == 1
