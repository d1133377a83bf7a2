"""Commands that the README and docs/ name are there, know their overrides, and answer."""

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def readme_commands():
    text = "".join(path.read_text() for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))))
    return sorted(set(re.findall(r"(?:^|`)[ $]*python (\S+\.py)([^`\n]*)", text, re.M)))


def is_command(script):
    """Started by configs.command or argparse, which answer --help."""
    text = (ROOT / script).read_text()
    return "configs.command" in text or "argparse" in text


def test_readme_commands_exist(compose):
    """Every `python x.py ...` line of the README names a script that is there and overrides that it knows."""
    from configs.command import check

    commands = readme_commands()
    assert len(commands) > 30
    for script, arguments in commands:
        assert (ROOT / script).is_file(), script
        if (ROOT / "configs" / f"{Path(script).stem}.yaml").exists():
            check(Path(script).stem, [a for a in shlex.split(arguments, comments=True) if "..." not in a and "<" not in a and not a.endswith("=mine")])


def test_readme_scripts_help(command, tmp_path):
    """Every script the README names answers --help as a process of its own; those with a config do in test_help.py."""
    scripts = sorted({script for script, _ in readme_commands() if is_command(script)})
    for script in scripts:
        if (ROOT / "configs" / f"{Path(script).stem}.yaml").exists():
            continue
        assert command(script, "--help", cwd=tmp_path).returncode == 0, script
