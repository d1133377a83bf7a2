"""Commands that the README names are there, know their overrides, and answer."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def readme_commands():
    path = ROOT / "README.md"
    text = path.read_text() if path.exists() else ""
    return sorted(set(re.findall(r"(?:^|`)[ $]*python (\S+\.py)([^`\n]*)", text, re.M)))


def is_command(script):
    """Started by configs.command or argparse, which answer --help."""
    text = (ROOT / script).read_text()
    return "configs.command" in text or "argparse" in text


def test_readme_commands_exist(compose):
    """Every `python x.py ...` line of the README names a script that is there and overrides that it knows."""
    from configs.command import check

    commands = readme_commands()
    if not commands:
        pytest.skip("no README, or no command in it")
    for script, arguments in commands:
        assert (ROOT / script).is_file(), script
        if (ROOT / "configs" / f"{Path(script).stem}.yaml").exists():
            check(Path(script).stem, [a for a in arguments.split("#")[0].split() if "..." not in a and "<" not in a and not a.endswith("=mine")])


def test_readme_scripts_help(command, tmp_path):
    """Every script the README names answers --help as a process of its own."""
    scripts = sorted({script for script, _ in readme_commands() if is_command(script)})
    if not scripts:
        pytest.skip("no README, or no command in it")
    for script in scripts:
        assert command(script, "--help", cwd=tmp_path).returncode == 0, script
