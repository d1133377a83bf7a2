"""Commands that the README and docs/ name are there, know their overrides, and answer."""

import re
import shlex
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from configs.overrides import SWEEP, check, groups

ROOT = Path(__file__).resolve().parents[2]
OURS = [path.name for path in ROOT.iterdir() if any(path.glob("*.py"))]


def readme_commands():
    text = "".join(path.read_text() for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))))
    return sorted(set(re.findall(r"(?:^|`)[ $]*python (\S+\.py)([^`\n]*)", text, re.M)))


def is_command(script):
    """Started by configs.command or argparse, which answer --help."""
    text = (ROOT / script).read_text()
    return "configs.command" in text or "argparse" in text


def test_readme_commands_exist():
    """Every `python x.py ...` line of the README names a script that is there and overrides that it knows."""
    commands = readme_commands()
    assert len(commands) > 30
    told = defaultdict(list)  # what is composed alike is composed once
    for script, arguments in commands:
        assert (ROOT / script).is_file(), script
        if (ROOT / "configs" / f"{Path(script).stem}.yaml").exists():
            given = [
                a for a in shlex.split(arguments, comments=True) if "..." not in a and "<" not in a and not a.endswith("=mine")
            ]
            entries = {a for a in given if a.split("=")[0] in groups(Path(script).stem)} | SWEEP & set(given)
            told[Path(script).stem, *sorted(entries)] += [a for a in given if a not in entries]
    for (config, *entries), keys in told.items():
        check(config, [*entries, *keys])


ASK = """
import runpy, sys
ours = sys.argv.pop(1).split(",")
for script in sys.argv[1:]:
    sys.argv, sys.path[0] = [script, "--help"], script.rpartition("/")[0]
    for name in [name for name in sys.modules if name.partition(".")[0] in ours]:
        del sys.modules[name]  # each finds them itself; what is not ours is imported once
    try:
        runpy.run_path(script, run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code
    if code:
        sys.exit(f"{script} --help ends with {code}")
"""


def test_readme_scripts_help(tmp_path):
    """Every script the README names answers --help outside the repository; those with a config do in test_help.py."""
    named = sorted({script for script, _ in readme_commands() if is_command(script)})
    scripts = [str(ROOT / script) for script in named if not (ROOT / "configs" / f"{Path(script).stem}.yaml").exists()]
    assert len(scripts) > 5
    done = subprocess.run([sys.executable, "-c", ASK, ",".join(OURS), *scripts], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.count("usage") == len(scripts), done.stdout[-500:] + done.stderr[-2000:]
