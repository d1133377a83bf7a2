"""The commands a user types, from another directory."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf

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
    for line in ("H@1", "MRR", "counterfactual H@1", "floor: copy the start", "rule grouped, ties against us"):
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
    assert 0 < results["metrics"]["test/weakest_slot"] <= 100
    assert {"pool", "ties", "direction", "episodes", "seeds"} <= results["protocol"].keys()
    assert results["protocol"]["pool"] == 20 and results["protocol"]["counterfactual_states"] == 10
    assert {"data_s", "fit_s", "score_s", "samples_per_s"} <= results["timing"].keys()
    assert 0.1 < results["timing"]["peak_gb"] < 100  # torch alone is more than the first
    assert re.fullmatch("[0-9a-f]{12}", results["config_hash"]) and "torch" in results["versions"]


def test_score_repeats_the_numbers(fitted, command_here):
    """eval/score.py on the run gives the metrics that fit gave."""
    folder = fitted[0]
    before = json.loads((folder / "results.json").read_text())["metrics"]
    done = command_here("eval/score.py", f"run={folder}", cwd=folder.parents[1])
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads((folder / "results.json").read_text())["metrics"] == before


def test_states_in_place_of_frames(command_here, small, tmp_path):
    """fit, score and the page of a run that is shown factors; its name and its caption say so, and noisy nodes are asked."""
    few = ["env=chemistry_chain5", "env.observation=state", "loss=nll", "data_dir=d", "runs_dir=r"]
    done = command_here("train/fit.py", *small, *few, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    run = tmp_path / "r" / "modular-nll-chemistry_chain5-state-smoke-s0"
    assert "state input" in " ".join(done.stdout.split()) and (run / "report.html").is_file()
    assert json.loads((run / "results.json").read_text())["protocol"]["observation"] == "state"
    done = command_here("eval/noisy.py", f"run={run}", "episodes=20", "nodes=[0,2]", cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "not comparable" in " ".join(done.stdout.split()) and (run / "noisy.json").is_file()


def test_chemistry_from_pixels(command_here, small, tmp_path):
    """fit on a chemistry board: ceilings and floors beside the scores, the graph in the results and on the page."""
    few = ["env=chemistry_chain5_dynamic", "model=categorical", "loss=inverse_action", "data_dir=d", "runs_dir=r", "name=run"]
    done = command_here("train/fit.py", *small, *few, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    results = json.loads((tmp_path / "r" / "run" / "results.json").read_text())
    for name in ("bayes/hits@1/h10", "bayes/board_hits@1/h5", "ceiling/success/greedy/h1", "floor/paint/hits@1/h1",
                 "test/accuracy/h1", "test/smallest_gap", "structure/reach/shd", "structure/direct/shd"):  # fmt: skip
        assert name in results["metrics"], name
    assert "Causal graph" in (tmp_path / "r" / "run" / "report.html").read_text()
    assert list((tmp_path / "d").glob("scm-*.npz")) and list((tmp_path / "d").glob("*.ceilings.json"))
    assert "ceiling: exact Bayes" in " ".join(done.stdout.split())


def test_the_control_runs(command_here, small, tmp_path):
    """An untrained encoder, whitened: a run like any other."""
    few = ["env=chemistry_chain5", "model=random", "loss=whitened", "score.structure=false", "data_dir=d", "runs_dir=r"]
    done = command_here("train/fit.py", *small, *few, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]


def test_score_refuses_a_horizon_too_long(fitted, command_here):
    """A sentence, no traceback, exit code 1."""
    done = command_here("eval/score.py", f"run={fitted[0]}", "horizons=[1,11]", cwd=fitted[0].parents[1])
    assert done.returncode == 1 and "horizon 11 is longer than the episodes" in done.stderr
    assert "Traceback" not in done.stderr


REFUSED = {
    "unknown model": ("train/fit.py", ["model=modulr"], "there is no model 'modulr': did you mean 'modular'?"),
    "unknown env": ("train/fit.py", ["env=physics6"], "there is no env 'physics6': did you mean 'physics"),
    "unknown key": ("train/fit.py", ["sed=1"], "has no key 'sed': did you mean 'seed'?"),
    "added key": ("train/fit.py", ["+sed=1"], "has no key 'sed': did you mean 'seed'?"),
    "unknown nested key": ("train/fit.py", ["score.episods=1"], "score has no key 'episods': did you mean 'episodes'?"),
    "no override": ("train/fit.py", ["physics5"], "'physics5' is not an override; write key=value"),
    "NaN": ("train/fit.py", ["loss.stages.0.learning_rate=1e30"], "loss is not finite: "),
    "bad world": ("envs/collect.py", ["env.world.setting=observd"], "no setting 'observd': did you mean 'observed'?"),
    "bad size": ("train/fit.py", ["model.size=huge"], "model.size must be one of patch, "),
    "bad seed": ("train/fit.py", ["seed=-1"], "seed must be a whole number from 0"),
    "long window": ("train/fit.py", ["loss.stages.0.window=200"], "window=200 is longer than the episodes of split"),
    "bad anchor": ("train/fit.py", ["loss=contrastive", "loss.stages.0.objective.anchor=nxt"],
                   "anchor is current or next, got 'nxt'"),
    "hard without transition": ("train/fit.py", ["loss=nll", "loss.stages.0.hard_share=0.5"], "does not train it; set it to 0"),
    "malformed graph": ("train/fit.py", ["env=chemistry_chain5", "env.world.graph='0->>1->2->3->4'"], "at character 4"),
    "cyclic graph": ("train/fit.py", ["env=chemistry_chain5", "env.world.num_objects=2",
                                      "env.world.graph=[[0,1],[1,0]]"], "the graph has a cycle 0 -> 1 -> 0"),
    "graph of another size": ("train/fit.py", ["env=chemistry_chain5", "env.world.graph=chain4"], "chain4"),
    "crowd": ("envs/collect.py", ["env=chemistry_chain5", "env.world.num_objects=26"],
              "has 10 shapes, got 26 objects; choose a graph of fewer nodes, or set env.world.num_objects="),
    "too colourful": ("envs/collect.py", ["env=chemistry_chain5", "env.world.num_colors=11"],
                      "the palette tells 2 to 10 colours apart, got 11"),
    "no delay": ("envs/collect.py", ["env=chemistry_chain5", "env.delay=0"],
                 "a whole number of steps >= 1, or poisson; got 0"),
    "delayed edges": ("train/fit.py", ["model=categorical", "loss=inverse_action", "model.graph=learned",
                                       "env=chemistry_chain5_delayed"], "this env delays them; use model.graph=none or full"),
    "skewed word": ("envs/collect.py", ["env=chemistry_chain5", "env.world.skewness=abc"],
                    "a number >= 0 as skewness, got 'abc'"),
    "observation twice": ("train/fit.py", ["env.world.observation=state"], "set env.observation= alone"),
    "more directions": ("train/fit.py", ["model=random", "loss=whitened", "model.width=64"],
                        "whitening finds 160 directions at most"),
    "no causal model": ("envs/collect.py", ["env=chemistry_chain5", "env.world.scm=nowhere.npz"], "nowhere.npz does not exist"),
    "another graph": ("train/fit.py", ["env=chemistry_chain5", "env.world.graph=full5"],
                      "env.world.graph=full5 and env.graph=chain5 differ, and this env is called 'chemistry_chain5' by the "
                      "latter; set env.graph= alone"),
    "another movement": ("envs/collect.py", ["env=chemistry_chain5", "env.world.movement=dynamic"], "set env.dynamic= alone"),
    "edges of one": ("train/fit.py", ["model=causal", "env=chemistry_chain5", "env.world.num_objects=1",
                                      "env.graph=''"], "learned edges need two objects or more, got 1"),
    "codes by hinge": ("train/fit.py", ["model=categorical", "loss=contrastive", "env=chemistry_chain5"],
                       "trains on latents that are vectors, and CategoricalEncoder gives categorical; set loss=inverse_action"),
    "unknown observation": ("train/fit.py", ["env.observation=stat"], "no observation 'stat': did you mean 'state'?"),
    "looks at a state": ("train/fit.py", ["env.observation=state", "model.appearance=4"], "shows none; set model.appearance=0"),
    "seen by nobody": ("train/fit.py", ["model=random", "loss=whitened", "env.observation=state"], "is a control for pictures"),
    "resume with more": ("train/fit.py", ["resume=r", "seed=1"], "resume= goes on with the run's own configuration; leave out"),
    "illegal pair": ("train/fit.py", ["model=vae", "loss=infonce"],
                     "InfoNCE trains on latents that are vectors, and VariationalEncoder gives gaussian; set loss=nll"),
    "no GPU": ("train/fit.py", ["trainer=gpu"], "trainer=gpu needs a GPU and none is visible; use trainer=quick"),
    "horizon": ("train/fit.py", ["score.horizons=[1,11]"], "shorten the horizons or set env.splits.test.length="),
    "no run": ("eval/score.py", [], "no run given"),
    "nothing to adapt to": ("eval/adaptation.py", [], "no run given"),
    "not a run": ("eval/score.py", ["run=nowhere"], "nowhere is not a run folder"),
    "noisy without a run": ("eval/noisy.py", [], "no run given"),
    "noisy on nobody": ("eval/noisy.py", ["run=r", "nodes=[-1]"], "nodes must be a list of whole numbers >= 0"),
    "unknown split": ("envs/collect.py", ["split=tset"], "has no split 'tset': did you mean 'test'?"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_sentence(case, command_here, small, tmp_path):
    """Exit code 1 and one line that names the remedy, no traceback."""
    script, arguments, sentence = REFUSED[case]
    if script == "train/fit.py" and arguments[0] != "resume=r":
        keep = small if not any(a.startswith("trainer=") for a in arguments) else small[1:]
        arguments = [*keep, *arguments]
    done = command_here(script, *arguments, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert sentence in " ".join(done.stderr.split()) and "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1 or case == "NaN"
    assert not list(tmp_path.rglob("config.yaml")) or case == "NaN"  # a refused start does not take the name


def test_a_refusal_is_one_line_of_the_process(command, tmp_path):
    """What the tests above read in this process is what a terminal shows, and the exit code a shell sees."""
    done = command("train/fit.py", "model=modulr", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.startswith("error: there is no model 'modulr'")
    assert len(done.stderr.splitlines()) == 1 and not done.stdout


def test_a_sweep_goes_on_after_a_refused_job(command_here, small, tmp_path):
    """One impossible pair does not stop the others; the exit code tells."""
    done = command_here("train/fit.py", "-m", *small, "model=vae,modular", "runs_dir=r", "data_dir=d", cwd=tmp_path)
    assert (done.returncode == 1 and "set loss=nll" in done.stderr
            and "a job of the sweep failed: InfoNCE trains on latents" in done.stderr)  # fmt: skip
    assert [p.parent.name for p in (tmp_path / "r").glob("*/results.json")] == ["modular-infonce-physics5-smoke-s0"]
    assert {p.name for p in tmp_path.iterdir()} == {"r", "d"}


def test_overwrite_deletes_runs_only(copy, command_here, small, tmp_path):
    """A folder that is no run is never touched, and a refused start deletes nothing."""
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "x.txt").write_text("years of work")
    (other / "config.yaml").write_text("mine: true")
    done = command_here("train/fit.py", *small, "name=thesis", "runs_dir=.", "overwrite=true", cwd=tmp_path)
    assert done.returncode == 1 and "holds something that is not a run" in done.stderr and (other / "x.txt").exists()
    wrong = ["loss=contrastive", "loss.stages.0.objective.anchor=nxt"]
    done = command_here("train/fit.py", *small, "name=run", "runs_dir=.", "overwrite=true", *wrong, cwd=tmp_path)
    assert done.returncode == 1 and "anchor is" in done.stderr and (copy / "results.json").exists()


def test_another_option_is_another_run(copy, command_here, small, tmp_path):
    """The name of a finished run with an option it does not know is refused, not scored as if it had it."""
    config = load_config(copy)
    del config.loss.stages[0].hard_share
    (copy / "config.yaml").write_text(OmegaConf.to_yaml(config))
    done = command_here("train/fit.py", *small, "name=run", "runs_dir=.", "data_dir=d", cwd=tmp_path)
    assert done.returncode == 1 and "hard_share: nothing there, 0.75 here" in " ".join(done.stderr.split())


def test_another_protocol_gets_another_file(copy, command_here, tmp_path):
    """A smaller pool never replaces the run's own results."""
    before = (copy / "results.json").read_bytes()
    done = command_here("eval/score.py", f"run={copy}", "horizons=[1]", "episodes=10", cwd=tmp_path)
    assert done.returncode == 0 and (copy / "results.json").read_bytes() == before
    assert json.loads((copy / "results-h1-n10.json").read_text())["protocol"]["pool"] == 10


@pytest.mark.parametrize("name", ["results.json", "config.yaml", "checkpoints/model.ckpt"])
def test_damaged_run_files_get_a_sentence(name, copy, command_here, tmp_path):
    """Half a file is named with its remedy by the report."""
    (copy / name).write_bytes((copy / name).read_bytes()[: len((copy / name).read_bytes()) // 2])
    done = command_here("eval/report.py", f"run={copy}", cwd=tmp_path)
    assert done.returncode == 1 and Path(name).name in " ".join(done.stderr.split()) and "Traceback" not in done.stderr


def test_flipped_bits_are_not_scored(copy):
    """Weights carry a digest: a changed one is refused, not scored."""
    path = copy / "checkpoints" / "model.ckpt"
    held = torch.load(path, weights_only=True)
    next(iter(held["state_dict"].values())).view(-1)[0] += 1e-3
    torch.save(held, path)
    with pytest.raises(Problem, match="do not match their digest"):
        load_run(copy)


def test_help_may_be_cut_short(tmp_path):
    """`--help | head -1` prints its line and no traceback."""
    script = f"{sys.executable} {ROOT / 'train/fit.py'} --help | head -1"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert "Train a world model" in done.stdout and not done.stderr


def test_readme_python(fitted):
    """The README's Python snippets run, on this run's folder; those that begin with the name of a file are files."""
    snippets = re.findall(r"```python\n(?!# )(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert snippets
    for snippet in snippets:
        names = {}
        exec(re.sub(r'"runs/[^"]+"', repr(str(fitted[0])), snippet), names)
        assert names["run"].config.name == "run"


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
    (copy / "config.yaml").write_text(OmegaConf.to_yaml(config))
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
