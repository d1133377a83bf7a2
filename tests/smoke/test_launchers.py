"""Hydra's launchers: copies of a command share its runs, failures reach the exit code, and what is missing is told."""

import json
import shutil
import subprocess
import sys

import pytest
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins

from configs.command import main

FIT = """
import json, pathlib, sys, time
told = dict(a.split("=", 1) for a in sys.argv[1:])
folder = pathlib.Path(told["runs_dir"], told["name"])
folder.mkdir(parents=True, exist_ok=True)
open(folder / "starts", "a").write("x")
time.sleep(.2)
if told["seed"] == "1" and told["name"].startswith("ae"):
    sys.exit("error: no luck")
(folder / "results.json").write_text(json.dumps({"metrics": {"test/hits@1/h1": 50.0 + float(told["seed"])}}))
"""


@pytest.fixture
def copy(root, tmp_path):
    """The packages with a stand-in for train/fit.py: a launcher's processes start from files, no patch reaches them."""
    for package in ("configs", "envs", "eval", "models"):
        shutil.copytree(root / package, tmp_path / "code" / package)
    (tmp_path / "code" / "train").mkdir()
    (tmp_path / "code" / "train" / "fit.py").write_text(FIT)
    return tmp_path / "code"


def tables(code, *arguments):
    arguments = ["-m", "table=4", "seeds=2", "worker=0,1", "jobs=1", "runs_dir=r", *arguments]
    command = [sys.executable, str(code / "eval" / "tables.py"), *arguments]
    return subprocess.run(command, cwd=code.parent, capture_output=True, text=True, timeout=900)


def test_copies_share_the_runs(copy):
    """joblib: two copies, every run is trained once, both write whole tables."""
    done = tables(copy, "rows=['GNN + NLL','VAE + NLL']", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2")
    assert done.returncode == 0, done.stderr[-2000:]
    starts = [path.read_text() for path in (copy.parent / "r").glob("*/starts")]
    assert starts == ["x"] * 4 and "runs are missing; 1 at a time" in done.stdout
    assert "50.5 ± 0.7" in (copy.parent / "results" / "tables" / "2min" / "table4.md").read_text()


def test_a_failure_elsewhere_is_the_exit_code_here(copy):
    """submitit: one run fails in a process of its own; the others are done, the sentence and the exit code come back."""
    done = tables(copy, "rows=['GNN + NLL','AE + NLL']", "hydra/launcher=submitit_local")
    assert done.returncode == 1 and "error: a job of the sweep failed: 1 run failed, first ae-nll" in done.stderr, (
        done.stderr[-2000:]
    )
    assert "error: no luck" in done.stderr and "Traceback" not in done.stderr
    assert len(list((copy.parent / "r").glob("*/results.json"))) == 3
    assert json.loads(next((copy.parent / "r").glob("gnn*s1/results.json")).read_text())
    assert (copy.parent / "r" / ".submitit").is_dir() and (copy.parent / "results" / "tables" / "2min" / "table4.md").exists()


def test_fit_through_joblib(command_here, small, tmp_path):
    """The command a user types; a refused job there is a refusal here."""
    arguments = ["-m", *small, "model=vae", "seed=0,1", "runs_dir=r", "data_dir=d", "hydra/launcher=joblib"]
    done = command_here("train/fit.py", *arguments, "hydra.launcher.n_jobs=1", cwd=tmp_path)
    assert (
        done.returncode == 1
        and "failed: InfoNCE trains on latents that are vectors" in done.stderr
        and "Traceback" not in done.stderr
    )
    assert done.stderr.count("error: InfoNCE trains on latents") == 2, "every job was tried"


@pytest.mark.parametrize("name, package", [("joblib", "hydra-joblib-launcher"), ("submitit_slurm", "hydra-submitit-launcher")])
def test_a_launcher_that_is_not_installed(name, package, monkeypatch):
    """One sentence with the line that installs it."""
    Plugins.instance()  # those that are there are registered
    monkeypatch.delitem(ConfigStore.instance().repo["hydra"]["launcher"], f"{name}.yaml", raising=False)
    monkeypatch.setattr(sys, "argv", ["tables.py", "-m", "table=4", f"hydra/launcher={name}"])
    with pytest.raises(SystemExit, match=f"={name} comes with a package .* pip install {package}.$"):
        main("tables", lambda cfg: None, "")


def test_slurm_where_there_is_none(monkeypatch):
    """Told before anything is submitted."""
    monkeypatch.setattr(sys, "argv", ["tables.py", "-m", "table=4", "hydra/launcher=submitit_slurm"])
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match="needs Slurm and there is no srun here; use submitit_local or joblib"):
        main("tables", lambda cfg: None, "")


def test_an_unknown_launcher(monkeypatch):
    """The nearest name there is."""
    monkeypatch.setattr(sys, "argv", ["tables.py", "-m", "table=4", "hydra/launcher=joblb"])
    with pytest.raises(SystemExit, match="there is no hydra/launcher 'joblb': did you mean 'joblib'"):
        main("tables", lambda cfg: None, "")
