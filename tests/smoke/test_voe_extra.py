"""Without VoE's extra: a sentence that names VoE and its extra, wherever it is asked for, and everything else goes on."""

import subprocess
import sys

import pytest

HIDE = (  # from imports and from those that only look for it
    "import sys, importlib.util as u; find = u.find_spec; sys.modules[{0!r}] = None; "
    "u.find_spec = lambda name, *rest: None if name == {0!r} else find(name, *rest); "
)


@pytest.mark.parametrize("package, line", [
    ("pybullet", "from envs.voe.source import VoeSource"),
    ("fast_simplification", "from envs.voe.render import Studio"),
    ("cv2", "from envs.voe.published_files import video; from pathlib import Path; video(Path('x.avi'))"),
])  # fmt: skip
def test_one_sentence(package, line, root):
    if package == "cv2":
        pytest.importorskip("pybullet")
    text = HIDE.format(package) + "from eval.probes import violation; " + line  # names of sub-types are there without it
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=root)
    name = {"cv2": "opencv-python-headless"}.get(package, package)
    last = done.stderr.strip().splitlines()[-1]
    assert last == f"envs.problem.Problem: VoE needs the package '{name}'; install it with: pip install '.[voe]'"
