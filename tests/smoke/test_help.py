"""--help of every command: at once, with its keys and the names it knows."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from configs.help import keys_of
from eval.manipulation.protocols import PROTOCOLS, ROLES
from eval.planning.planners import planners

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {p.stem: p for folder in ("envs", "train", "eval") for p in (ROOT / folder).glob("*.py")
            if (ROOT / "configs" / f"{p.stem}.yaml").exists()}  # fmt: skip
ALONE = """
import runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as end:
    assert not {"torch", "pytorch_lightning", "matplotlib", "h5py", "pybullet", "stable_baselines3"} & sys.modules.keys()
    raise
"""


def alone(script, *arguments, cwd):
    """A command in a process of its own, in which it must not have imported what its work needs."""
    return subprocess.run([sys.executable, "-c", ALONE, str(script), *arguments], cwd=cwd, capture_output=True, text=True,
                          timeout=600)  # fmt: skip


def test_every_command_has_a_config():
    """And the other way round."""
    assert COMMANDS.keys() == {p.stem for p in (ROOT / "configs").glob("*.yaml")}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_light_and_whole(name, tmp_path):
    """It cost seven seconds of imports and showed no key. An example and all keys are there, and nothing heavy is imported."""
    done = alone(COMMANDS[name], "--help", cwd=tmp_path)
    assert done.returncode == 0 and f"python {COMMANDS[name].relative_to(ROOT)}" in done.stdout, done.stderr
    keys = list(keys_of(ROOT / "configs" / f"{name}.yaml"))
    assert keys
    for key, value, comment in keys:
        assert not value or f"  {key}={value}" in done.stdout, key
        assert comment in done.stdout, key
    assert str(ROOT / "configs" / f"{name}.yaml") in done.stdout and not list(tmp_path.iterdir())


def leaves(node, above=()):
    """Keys with dots of everything that is no section."""
    for key, value in node.items():
        yield from leaves(value, (*above, key)) if isinstance(value, dict) else [".".join((*above, key))]


def test_keys_are_those_of_the_config():
    """What --help reads line by line is what yaml reads."""
    for name in COMMANDS:
        path = ROOT / "configs" / f"{name}.yaml"
        told = [key for key, value, _ in keys_of(path) if value]
        own = {key: value for key, value in yaml.safe_load(path.read_text()).items() if key not in ("defaults", "hydra")}
        for key in leaves(own):
            assert key.endswith("_target_") or any(key == other or key.startswith(f"{other}.") for other in told), (name, key)


def test_a_typo_is_answered_without_the_work(tmp_path):
    """The nearest name, before anything heavy is imported."""
    done = alone(COMMANDS["plan"], "run=r", "planers=[beam]", cwd=tmp_path)
    assert done.returncode == 1 and "did you mean 'planners'" in done.stderr


@pytest.mark.parametrize("name, known", [
    ("plan", planners()), ("manipulation", [*ROLES, *PROTOCOLS]), ("protocols", [*ROLES, *PROTOCOLS, "random", "still"]),
])  # fmt: skip
def test_names_are_told(name, known, command_here, tmp_path):
    """Names that are no config group are there too, every one."""
    words = re.findall(r"\w+", command_here(COMMANDS[name], "--help", cwd=tmp_path).stdout)
    assert set(known) <= set(words)
