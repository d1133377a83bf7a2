"""Settings are chosen on `select`, and `final` is scored under one setting of a row."""

import json

import pytest
from ledger_runs import changed, copied, run  # noqa: F401  fixtures

from envs.problem import Problem
from eval.ledger import NOT_SCORED, collected, lines
from eval.runs import Run
from eval.runs.ledger import entries
from eval.score import score_run


def test_a_refused_command_freezes_nothing(copied, command_here):
    """Seen: a mistyped planner, and a horizon that is too long, froze a row that was never scored on `final`."""
    there = copied.parents[1]
    with pytest.raises(Problem, match=r"horizon 50 is longer than the episodes of split 'final' \(10 actions\)"):
        score_run(copied, split="final", ledger=there / "ledger", horizons=[50])
    done = command_here("eval/plan.py", f"run={copied}", "seed=31", "ledger=ledger", "planners=[beem]", cwd=there)
    assert done.returncode != 0 and "did you mean 'beam'" in done.stderr
    done = command_here("eval/plan.py", f"run={copied}", "seed=31", "ledger=ledger", "reward=blocks", cwd=there)
    assert done.returncode != 0 and "reward=blocks reads blocks off a table" in done.stderr
    assert not (there / "ledger" / "frozen").exists()


def test_final_is_scored_under_one_setting(copied, command_here):
    """Other seeds of the frozen setting are welcome, another setting is told which one was first, another row is its own."""
    there = copied.parents[1]
    score = "eval/score.py", "split=final", "ledger=ledger"
    done = command_here(*score, f"run={copied}", cwd=there)
    assert done.returncode == 0, done.stderr
    header, rows = lines(collected(list(entries(there / "ledger"))))
    assert header[:4] == ["env", "row", "split", "H@1 at 1"]
    assert [row[2] for row in rows] == ["select", "final", "select - final"]
    one, other, difference = (row[3].split()[0] for row in rows)
    assert float(difference) == pytest.approx(float(one) - float(other), abs=0.011)
    assert command_here(*score, f"run={changed(copied, 'seed1', seed=1)}", cwd=there).returncode == 0
    assert "(2)" in lines(collected(list(entries(there / "ledger"))))[1][1][3]
    tuned = changed(copied, "tuned", **{"loss.learning_rate": 0.5})
    done = command_here(*score, f"run={tuned}", cwd=there)
    assert (
        done.returncode != 0 and "row 'ae + contrastive' was scored on 'final' of physics3 under another setting" in done.stderr
    )
    assert "loss.learning_rate: " in done.stderr and not (tuned / "results-final.json").exists()
    assert command_here(*score, f"run={changed(copied, 'own', row='ae, tuned', **{'loss.learning_rate': 0.5})}",
                        cwd=there).returncode == 0  # fmt: skip
    done = command_here("eval/ledger.py", "ledger=ledger", cwd=there)
    assert done.returncode == 0 and "ae, tuned" in done.stdout and NOT_SCORED not in done.stdout


def test_final_stays_shut(copied, tmp_path, command_here, small):
    """Without a ledger, by another door, in training, and where the frozen setting cannot be read."""
    there = copied.parents[1]
    done = command_here("eval/score.py", "split=final", f"run={copied}", cwd=there)
    assert done.returncode != 0 and "which a ledger keeps; name it: ledger=results/ledger" in done.stderr
    with pytest.raises(Problem, match="split 'final' is kept for a frozen setting"):
        Run.open(copied).file("final")
    done = command_here("train/fit.py", "env=physics3", "score.split=final", *small, cwd=there)
    assert done.returncode != 0 and "set score.split=select" in done.stderr
    frozen = there / "ledger/frozen/physics3/ae_contrastive.json"
    frozen.parent.mkdir(parents=True, exist_ok=True)
    frozen.write_text("{")
    done = command_here("eval/score.py", "split=final", "ledger=ledger", f"run={copied}", cwd=there)
    assert done.returncode != 0 and "ae_contrastive.json says under which setting" in done.stderr and frozen.read_text() == "{"
    (there / "ledger/physics3/broken.json").write_text("[]")
    done = command_here("eval/ledger.py", "ledger=ledger", cwd=there)
    assert done.returncode != 0 and "broken.json is no entry of a ledger" in done.stderr
    done = command_here("eval/ledger.py", f"ledger={tmp_path / 'none'}", cwd=there)
    assert done.returncode != 0 and "holds no run; enter some with" in done.stderr


def test_goals_that_are_kept_are_asked_of_one_setting(copied, command_here, tmp_path):
    """They were not kept at all: goals of every table were on the tasks of development."""
    ask = "eval/plan.py", f"run={copied}", "seed=31", "episodes=20", "horizons=[1]", "reward_steps=20"
    done = command_here(*ask, cwd=copied.parents[1])
    assert (
        done.returncode != 0
        and "which a ledger keeps; name it: ledger=results/ledger, or set another seed=" in " ".join(done.stderr.split())
    )
    ledger = tmp_path / "ledger"
    frozen = ledger / "frozen/physics3/ae_contrastive.json"
    frozen.parent.mkdir(parents=True)
    frozen.write_text(json.dumps({"row": "ae + contrastive", "setting": {"loss": {"window": 99}}}))
    done = command_here(*ask, f"ledger={ledger}", cwd=copied.parents[1])
    assert done.returncode != 0 and "was scored on 'final' of physics3 under another setting" in " ".join(done.stderr.split())
    assert not list(copied.glob("plan-*seed31*.json"))
