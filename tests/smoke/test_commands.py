"""The commands a user types, by subprocess, from another directory."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import eval.runs
from envs.problem import Problem
from eval.runs import load_config, load_run

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory, command, small):
    """One finished small run, started from an empty directory, with relative folders."""
    here = tmp_path_factory.mktemp("elsewhere")
    done = command("train/fit.py", *small, "name=run", "data_dir=d", "runs_dir=r", cwd=here)
    assert done.returncode == 0, done.stderr[-2000:]
    return here / "r" / "run", done


@pytest.fixture
def copy(fitted, tmp_path):
    shutil.copytree(fitted[0], tmp_path / "run")
    return tmp_path / "run"


def test_fit_prints_the_table_and_writes_where_told(fitted):
    """The table stands on the terminal; data and run lie under the directory the command was given in."""
    folder, done = fitted
    for line in ("H@1", "MRR", "counterfactual H@1", "floor: copy the start H@1", "rule grouped, ties against us"):
        assert line in " ".join(done.stdout.split())
    assert len(list((folder.parents[1] / "d").glob("physics5-*.h5"))) == 3
    for name in ("config.yaml", "metrics.csv", "results.json", "checkpoints/model.ckpt"):
        assert (folder / name).is_file()
    assert not list(folder.rglob("*.part"))


def test_results_have_the_promised_names(fitted):
    """metrics, protocol, timing, config_hash, versions; percentages are percentages and the pool is named."""
    results = json.loads((fitted[0] / "results.json").read_text())
    assert {"metrics", "protocol", "timing", "config_hash", "versions"} <= results.keys()
    for h in (1, 5, 10):
        for name in ("hits@1", "mrr", "cf_hits@1", "cf_mrr"):
            assert 0 <= results["metrics"][f"test/{name}/h{h}"] <= 100
    assert {"pool", "ties", "direction", "episodes", "seeds"} <= results["protocol"].keys()
    assert results["protocol"]["pool"] == 200 and results["protocol"]["counterfactual_states"] == 20
    assert {"data_s", "fit_s", "score_s", "samples_per_s"} <= results["timing"].keys()
    assert re.fullmatch("[0-9a-f]{12}", results["config_hash"]) and "torch" in results["versions"]


def test_score_repeats_the_numbers(fitted, command):
    """eval/score.py on the run gives the metrics that fit gave."""
    folder = fitted[0]
    before = json.loads((folder / "results.json").read_text())["metrics"]
    done = command("eval/score.py", f"run={folder}", cwd=folder.parents[1])
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads((folder / "results.json").read_text())["metrics"] == before


def test_score_refuses_a_horizon_too_long(fitted, command):
    """A sentence, no traceback, exit code 1."""
    done = command("eval/score.py", f"run={fitted[0]}", "horizons=[1,11]", cwd=fitted[0].parents[1])
    assert done.returncode == 1 and "horizon 11 is longer than the episodes" in done.stderr
    assert "Traceback" not in done.stderr


REFUSED = {
    "unknown model": ("train/fit.py", ["model=modulr"], "there is no model 'modulr': did you mean 'modular'?"),
    "unknown env": ("train/fit.py", ["env=physics6"], "there is no env 'physics6': did you mean 'physics"),
    "unknown key": ("train/fit.py", ["sed=1"], "has no key 'sed': did you mean 'seed'?"),
    "unknown nested key": ("train/fit.py", ["score.episods=1"], "score has no key 'episods': did you mean 'episodes'?"),
    "no override": ("train/fit.py", ["physics5"], "'physics5' is not an override; write key=value"),
    "NaN": ("train/fit.py", ["loss.stages.0.learning_rate=1e30"], "loss is not finite: "),
    "illegal pair": ("train/fit.py", ["model=vae", "loss=infonce"], "use loss=nll (got loss=infonce)"),
    "no GPU": ("train/fit.py", ["trainer=gpu"], "trainer=gpu needs a GPU and none is visible; use trainer=quick"),
    "horizon": ("train/fit.py", ["score.horizons=[1,11]"], "shorten the horizons or set env.splits.test.length="),
    "no run": ("eval/score.py", [], "no run given"),
    "not a run": ("eval/score.py", ["run=nowhere"], "nowhere is not a run folder"),
    "unknown split": ("envs/collect.py", ["split=tset"], "has no split 'tset': did you mean 'test'?"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_sentence(case, command, small, tmp_path):
    """Exit code 1 and one line that names the remedy, no traceback."""
    script, arguments, sentence = REFUSED[case]
    if script == "train/fit.py":
        keep = small if not any(a.startswith("trainer=") for a in arguments) else small[1:]
        arguments = [*keep, *arguments]
    done = command(script, *arguments, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert sentence in " ".join(done.stderr.split()) and "Traceback" not in done.stderr


@pytest.mark.parametrize("script", ["train/fit.py", "eval/score.py", "envs/collect.py"])
def test_help(script, command, tmp_path):
    """--help shows examples and leaves nothing behind."""
    done = command(script, "--help", cwd=tmp_path)
    assert done.returncode == 0 and f"python {script}" in done.stdout
    assert not list(tmp_path.iterdir())


def test_help_may_be_cut_short(tmp_path):
    """`--help | head -1` prints its line and no traceback."""
    script = f"{sys.executable} {ROOT / 'train/fit.py'} --help | head -1"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert "Train a world model" in done.stdout and not done.stderr


def test_readme_python(fitted):
    """The README's Python snippets run, on this run's folder."""
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert snippets
    for snippet in snippets:
        names = {}
        exec(re.sub(r'"runs/[^"]+"', repr(str(fitted[0])), snippet), names)
        assert names["config"].name == "run"


def test_load_run(fitted):
    """A folder is enough: eval mode, and twice the same prediction."""
    model, config = load_run(fitted[0])
    assert not model.training and config.name == "run"
    obs = torch.randint(0, 256, (2, 3, 50, 50), dtype=torch.uint8)
    assert torch.equal(model.encode(obs), load_run(fitted[0]).model.encode(obs))


def test_load_run_survives_changed_defaults(fitted, monkeypatch):
    """The folder spells every argument out, so another default in the code changes nothing."""
    from models.transitions.modular import ModularTransition

    before = load_run(fitted[0]).model.transition.state_dict()
    monkeypatch.setattr(ModularTransition.__init__, "__defaults__", (7, 8, 9))  # width, hidden, multiplier
    after = load_run(fitted[0]).model.transition.state_dict()
    assert all(torch.equal(before[k], after[k]) for k in before)


def test_load_run_refuses_another_architecture(copy):
    """The first weight that differs is named with both shapes."""
    config = load_config(copy)
    config.model.module.transition.hidden = 100
    (copy / "config.yaml").write_text(eval.runs.OmegaConf.to_yaml(config))
    with pytest.raises(Problem, match="another architecture: .* first transition.*config expects .* checkpoint has"):
        load_run(copy)


def test_load_run_refuses_damage(copy):
    """No checkpoint, or half of one."""
    path = copy / "checkpoints" / "model.ckpt"
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(Problem, match="not a readable checkpoint"):
        load_run(copy)
    path.unlink()
    with pytest.raises(Problem, match="does not exist; finish the run"):
        load_run(copy)


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
            check(Path(script).stem, [a for a in arguments.split("#")[0].split() if "..." not in a and "<" not in a and not a.endswith("=mine") and a != "-m"])


def test_readme_scripts_help(command, tmp_path):
    """Every script the README names answers --help."""
    scripts = sorted({script for script, _ in readme_commands() if is_command(script)})
    if not scripts:
        pytest.skip("no README, or no command in it")
    for script in scripts:
        assert command(script, "--help", cwd=tmp_path).returncode == 0, script
