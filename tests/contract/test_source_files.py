"""Every source file says in its first line what it is for, is as narrow as the formatter is told, and has 300 lines or less."""

import ast
import re

FOLDERS = ("benchmarks", "configs", "docs", "envs", "eval", "losses", "models", "tests", "train")
LONGEST = 300  # lines of one file, which has one idea


def faults(path, width):
    """What a reader would stumble over in a file, each with its place."""
    text = path.read_text()
    lines = text.splitlines()
    yield from (f"{path}:{n} has {len(line)} characters, {width} fit" for n, line in enumerate(lines, 1) if len(line) > width)
    if len(lines) > LONGEST:
        yield f"{path} has {len(lines)} lines, {LONGEST} are one idea; ask what second one moved in"
    if text.strip() and not ast.get_docstring(ast.parse(text)):
        yield f"{path} does not say what it is for"


def test_source_files_are_pleasant_to_read(root):
    """924 lines were wider."""
    width = int(re.search(r"^line-length = (\d+)", (root / "pyproject.toml").read_text(), re.M)[1])
    files = [root / "setup.py", *(path for folder in FOLDERS for path in sorted((root / folder).rglob("*.py")))]
    found = [fault for path in files for fault in faults(path, width)]
    assert len(files) > 400 and not found, "\n".join(found)


def test_a_fault_is_found(tmp_path):
    (tmp_path / "wide.py").write_text("x = 1  # wider than ten\n" * 301)
    assert [len(list(faults(tmp_path / "wide.py", width))) for width in (10, 128)] == [303, 2]
