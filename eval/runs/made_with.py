"""What a run was made with: versions of the packages, the commit, and the machine."""

import platform
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

from envs.workers import cores


def versions(*others: str) -> dict:
    """Of the packages that decide numbers, and the commit where the code lies in a git repository, `-dirty` where anything but
    results differs from it: a sweep that enters its runs changes no code. Files that the history does not know count for
    nothing.
    """
    names = ("torch", "pytorch-lightning", "numpy", "gymnasium", "h5py", *others)
    found = {"python": platform.python_version(), **{name: version(name) for name in names}}
    try:
        git = "git", "-C", str(Path(__file__).resolve().parents[2])
        # a copy that is installed below another repository is none of its files
        subprocess.run([*git, "ls-files", "--error-unmatch", __file__], capture_output=True, check=True)
        commit = subprocess.run([*git, "describe", "--always"], capture_output=True, text=True, check=True).stdout.strip()
        changed = subprocess.run(
            [*git, "diff", "--quiet", "HEAD", "--", ".", ":(exclude)results"], capture_output=True
        ).returncode
        found["commit"] = commit + "-dirty" * bool(changed)
    except (OSError, subprocess.CalledProcessError):
        pass  # an installed copy has no history
    return found


def machine(accelerator: str) -> dict:
    """What a training runs on: processor, cores that it may use, and the GPU where it takes one.

    accelerator: that of the trainer: auto, cpu or gpu.
    """
    import torch

    try:
        told = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        told = None
    found = {"processor": told[1].strip() if told else platform.processor() or platform.machine(), "cores": cores()}
    if accelerator in ("auto", "gpu") and torch.cuda.is_available():
        found["gpu"] = torch.cuda.get_device_name()
    return found
