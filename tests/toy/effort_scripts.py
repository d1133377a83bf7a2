"""train/fit.py, eval/score.py and eval/plan.py that only write what the real ones enter into the ledger,
and how tests run tables with them."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from omegaconf import OmegaConf

import eval.effort.command
import eval.paper.sweep
from eval.effort.command import run_study
from eval.effort.settings import drawn, rows_of
from eval.paper.sweep import missing, run_jobs
from eval.tables import expected_minutes

ENV = "physics3"
BEST = sorted(range(8), key=lambda n: (-drawn(n)["learning_rate"], n))  # draws, by their scores


class Scripts:
    """Scores grow with the learning rate, and a little with the seed; floors do not.

    diverges: what is in the names of the runs that diverge; worse: in those whose scores are less by 60.
    """

    diverges = worse = None

    def start(self, command: list[str], stdout, **_) -> "Ended":
        """As subprocess.Popen, of one of the three in this process: a start would take longer than all that it does."""
        script, told = command[1].removeprefix(f"{eval.paper.sweep.ROOT}/"), dict(a.split("=", 1) for a in command[2:])
        try:
            {"train/fit.py": self.fit, "eval/score.py": self.score, "eval/plan.py": self.plan}[script](told)
        except SystemExit as end:
            stdout.write(f"{end.code}\n")
            return Ended(1)
        return Ended(0)

    def fit(self, told: dict) -> None:
        name = told["name"]
        folder = Path(told["runs_dir"]) / name
        (folder / "checkpoints").mkdir(parents=True)
        for kept in ("model", "round-1", "round-2", "round-5"):
            (folder / f"checkpoints/{kept}.ckpt").touch()
        facts = dict.fromkeys(["run", "model", "loss", "env", "setting_hash"], "x") | {"seed": 0, "metrics": {}, "timing": {}}
        facts["weights"] = name
        facts["protocol"] = {"split": "select", "budget": "minutes", "pool": 1, "distinct": {"h1": 1}}
        (folder / "results.json").write_text(json.dumps(facts))
        value = 1e4 * float(told["loss.learning_rate"]) + int(told["seed"]) % 90
        if self.worse is not None and self.worse in name:
            value -= 60
        entry = {
            "run": name, "row": told["row"].strip('"'), "env": ENV, "seed": int(told["seed"]), "weights": name,
            "rounds": [{"round": n, "stage": "joint", "cpu_s": 60.0 * n, "updates": n, "scores": {}} for n in range(1, 11)],
            "scores": {told["score.split"]: {"metrics": _metrics(value)}},
        }  # fmt: skip
        diverged = self.diverges is not None and self.diverges in name
        if diverged:
            entry |= {"scores": {}, "diverged": "train loss is not finite"}
        place = Path(told["ledger"]) / ENV
        place.mkdir(parents=True, exist_ok=True)
        _enter(entry, place / f"{name}-abc.json")
        if diverged:
            raise SystemExit("error: train loss is not finite")

    def score(self, told: dict) -> None:
        path, entry = _entry(told)
        value = entry["scores"]["select"]["metrics"]["test/hits@1/h1"]
        if "round" in told:
            for n in json.loads(told["round"]):
                entry["rounds"][n - 1]["scores"]["final"] = {"metrics": _metrics(value - 10 + n)}
        else:
            entry["scores"]["final"] = {"metrics": _metrics(value - 1)}
        _enter(entry, path)

    def plan(self, told: dict) -> None:
        path, entry = _entry(told)
        (h,) = json.loads(told["horizons"])
        reached = entry["scores"]["select"]["metrics"][f"plan/success/h{h}"] - 2
        if "round" in told:
            for n in json.loads(told["round"]):
                entry["rounds"][n - 1]["plan"] = {"metrics": {f"plan/success/h{h}": reached - 20 + n}, "protocol": {}}
        else:
            found = {"metrics": {f"plan/success/h{h}": reached}, "protocol": {"seed": int(told["seed"])}}
            entry["plans"] = {"final": found}
        _enter(entry, path)


class Ended:
    """What Popen gives of a child that has ended."""

    def __init__(self, code: int) -> None:
        self.code = code

    def wait(self) -> int:
        return self.code

    def terminate(self) -> None: ...


def _entry(told: dict) -> tuple[Path, dict]:
    path = Path(told["ledger"]) / ENV / f"{Path(told['run']).name}-abc.json"
    return path, json.loads(path.read_text())


def _enter(entry: dict, path: Path) -> None:
    """Whole or not at all: the other worker looks at all of a ledger."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(entry))
    part.replace(path)


def _scores(kind: str, value: float) -> dict:
    return {f"{kind}/{key}/h{h}": value for key in ("hits@1", "cf_hits@1/mean", "cf_hits@1/several") for h in (1, 5, 10)}


def _metrics(value: float) -> dict:
    return _scores("test", value) | _scores("floor/copy", 15.0) | {f"plan/success/h{h}": value for h in (1, 5, 10)}


@pytest.fixture
def cfg(tmp_path, compose):
    found = OmegaConf.to_container(compose("tables"))
    return found | {"table": "causes", "envs": [ENV], "seeds": 2, "ledger": str(tmp_path / "ledger"),
                    "runs_dir": str(tmp_path / "runs"), "out": str(tmp_path / "out"),
                    "data_dir": str(tmp_path / "data")}  # fmt: skip


@pytest.fixture
def scripts(monkeypatch):
    """Commands that enter scores in a moment."""
    toys = Scripts()
    monkeypatch.setattr(eval.paper.sweep, "subprocess", SimpleNamespace(Popen=toys.start, STDOUT=None))
    return toys


@pytest.fixture
def no_charts(monkeypatch):
    """They take most of a table's time."""
    monkeypatch.setattr(eval.effort.command, "replace_chart", lambda figure, path: None)


def tuned_and_run(cfg) -> tuple:
    """One seed of a row in the main table.  -> the row, the file of its entry, and what that holds."""
    cfg |= {"rows": ["edge + InfoNCE"], "seeds": 1}
    run_study("causes", cfg | {"tune": True}, run_missing)
    run_study("causes", cfg, run_missing)
    (path,) = (Path(cfg["ledger"]) / ENV).glob("*.json")
    return *rows_of(cfg["rows"]), path, json.loads(path.read_text())


def run_missing(jobs, minutes, cfg, on_gpu):
    assert expected_minutes(jobs, minutes, 2) >= 0
    return run_jobs(missing(jobs), 2, Path(cfg["runs_dir"]) / "logs", lambda _: None)
