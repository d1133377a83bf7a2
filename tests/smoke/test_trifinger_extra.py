"""Without the TriFinger's extra: one sentence wherever it is asked for, and everything else goes on."""

import subprocess
import sys

import pytest

HIDE = (  # from imports and from those that only look for it
    "import sys, importlib.util as u; find = u.find_spec; sys.modules[{0!r}] = None; "
    "u.find_spec = lambda name, *rest: None if name == {0!r} else find(name, *rest); "
)


def python(text, root):
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=root)


@pytest.mark.parametrize("package", ["pybullet", "pinocchio", "robot_properties_fingers"])
@pytest.mark.parametrize("line", ["from envs.trifinger import make; make()", "import gymnasium, envs; gymnasium.make('{id}')"])
def test_one_sentence(package, line, root):
    done = python(HIDE.format(package) + line.format(id="causalwm/TriFingerPushing-v0"), root)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1 and f"needs the package '{package}'; install it with: pip install '.[trifinger]'" in last


@pytest.mark.parametrize("script, arguments", [("eval/protocols.py", ["episodes=2"]), ("train/manipulation.py", ["steps=10"])])
def test_commands(script, arguments, root, tmp_path):
    """The sentence alone, nothing written, and --help answers."""
    run = f"import runpy; sys.argv = [{script!r}, *{{!r}}]; runpy.run_path({script!r}, run_name='__main__')"
    start = HIDE.format("pybullet") + run
    done = python(start.format([*arguments, f"hydra.run.dir={tmp_path}"]), root)
    assert done.returncode == 1 and done.stderr.startswith("error: the TriFinger needs the package 'pybullet'"), done.stderr
    assert python(start.format(["--help"]), root).returncode == 0 and not list(tmp_path.iterdir())


def test_the_rest_goes_on(root):
    made = python(HIDE.format("pybullet") + "import gymnasium, envs; gymnasium.make('causalwm/Physics-v0')", root)
    assert made.returncode == 0
