"""Without VoE's extra: a sentence that names VoE and its extra, wherever it is asked for, and everything else goes on."""

import subprocess
import sys

import pytest

HIDE = (  # from imports and from those that only look for it
    "import sys, importlib.util as u; find = u.find_spec; sys.modules.update(dict.fromkeys({0!r})); "
    "u.find_spec = lambda name, *rest: None if name in {0!r} else find(name, *rest); "
)
FIRST_USED = {  # package -> what needs it first
    "pybullet": "from envs.voe.source import VoeSource",
    "fast_simplification": "from envs.voe.render import Studio",
    "cv2": "from envs.voe.published_files import video; from pathlib import Path; video(Path('x.avi'))",
}


def without(packages, line, root):
    return subprocess.run([sys.executable, "-c", HIDE.format(packages) + line], capture_output=True, text=True, cwd=root)


@pytest.mark.parametrize("package", FIRST_USED)
def test_one_sentence(package, root):
    if package == "cv2":
        pytest.importorskip("pybullet")
    last = without([package], FIRST_USED[package], root).stderr.strip().splitlines()[-1]
    name = {"cv2": "opencv-python-headless"}.get(package, package)
    assert last == f"envs.problem.Problem: VoE needs the package '{name}'; install it with: pip install '.[voe]'"


def test_scores_know_their_subtypes(root):
    done = without(list(FIRST_USED), "from eval.probes.violation import pair_metrics", root)
    assert done.returncode == 0, done.stderr
