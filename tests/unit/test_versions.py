"""What a result says of the code that made it."""

import subprocess

import pytest

import eval.runs.made_with
from eval.runs.made_with import versions


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A history of one commit that holds the file of `versions` and an entry of a ledger."""
    for name in ("eval/runs/made_with.py", "results/ledger/one.json"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("one\n")
    who = "-c", "user.name=a", "-c", "user.email=a@b.c"
    for command in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    monkeypatch.setattr(eval.runs.made_with, "__file__", str(tmp_path / "eval/runs/made_with.py"))
    return tmp_path


def test_a_sweep_that_enters_its_runs_changes_no_code(repository):
    """Runs of a table were said to be of changed code where what had changed was results/ledger, in which they were entered."""
    clean = versions()["commit"]
    (repository / "results/ledger/one.json").write_text("two\n")
    assert versions()["commit"] == clean and not clean.endswith("-dirty")
    (repository / "eval/runs/made_with.py").write_text("two\n")
    assert versions()["commit"] == f"{clean}-dirty"


def test_code_without_a_history_says_no_commit(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    (tmp_path / "eval/runs").mkdir(parents=True)
    monkeypatch.setattr(eval.runs.made_with, "__file__", str(tmp_path / "eval/runs/made_with.py"))
    assert "commit" not in versions()


def test_a_copy_installed_below_another_repository_says_no_commit(repository, monkeypatch):
    """It said the commit of whoever had installed it."""
    copy = repository / "site-packages/eval/runs/made_with.py"
    copy.parent.mkdir(parents=True)
    copy.write_text("one\n")
    monkeypatch.setattr(eval.runs.made_with, "__file__", str(copy))
    assert "commit" not in versions()
