"""What benchmarks that train share: runs by their folder, commands of ours in one thread, seeds as words."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def numbers(text: str) -> list[int]:
    """'0-4' or '0,3,7' -> whole numbers."""
    parts = [part.split("-") for part in text.split(",")]
    return [n for part in parts for n in range(int(part[0]), int(part[-1]) + 1)]


def left_of(folder: Path, data: Path | str, *overrides: str) -> list[tuple[str, ...]]:
    """The command line that a run still lacks: none, the end of a training that was broken off, or all of it.

    folder: of the run, by which it is named.  overrides: of train/fit.py, without places.
    """
    if (folder / "results.json").exists():
        return []
    if (folder / "config.yaml").exists():
        return [("train/fit.py", f"resume={folder}")]
    return [("train/fit.py", *overrides, f"name={folder.name}", f"runs_dir={folder.parent}", f"data_dir={data}")]


def run_command(script: str, *overrides: str) -> None:
    """One of our commands, in one thread; what it says goes to the terminal only where it fails, and ends the benchmark."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "WANDB_MODE": "offline"}
    done = subprocess.run([sys.executable, str(ROOT / script), *overrides], env=env, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{script} {' '.join(overrides)} failed: {(done.stderr or done.stdout).strip()[-2000:]}")
