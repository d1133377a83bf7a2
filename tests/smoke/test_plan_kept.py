"""Planning keeps every number when it is there; `fit` ends with it, and nothing is computed twice."""

import io
import json
import shutil
from contextlib import redirect_stderr, redirect_stdout

import pytest
import torch
from omegaconf import OmegaConf

import eval.plan
import eval.planning.kept
import eval.planning.latent_planner
from eval.plan import plan_run
from eval.planning.kept import file_name, usual_protocol
from eval.runs import config_hash, differences, load_run, read_results
from eval.runs.checkpoints import save_weights
from eval.score import score_run
from train.fit import goals_asked, run

FEW = {"episodes": 20, "horizons": [1, 2], "reward_steps": 20}


@pytest.fixture(scope="module")
def fitted(tmp_path_factory, small, compose):
    """(folder of a finished small run that reached goals under a protocol of its own, what was said)."""
    here, said = tmp_path_factory.mktemp("elsewhere"), io.StringIO()
    few = [*small, "env=physics3", "model=edge", "score.horizons=[1,2]", "name=run", "goals=true"]
    cfg = compose("fit", *few, f"data_dir={here}/d", f"runs_dir={here}/r")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(said):
        patch.setattr(eval.planning.kept, "usual_protocol", lambda: usual_protocol() | FEW)
        run(cfg)
    return here / "r" / "run", said.getvalue()


@pytest.fixture
def folder(fitted):
    return fitted[0]


@pytest.fixture
def asked():
    return usual_protocol() | FEW


def counted(monkeypatch, stop_at=None):
    """What is played from now on, by horizon and kind of policy; broken off at the given one."""
    played, last_state = [], eval.plan.last_state

    def counting(world, tasks, policy, *others):
        if len(played) == stop_at:
            raise KeyboardInterrupt
        played.append((tasks.horizon, type(policy).__name__))
        return last_state(world, tasks, policy, *others)

    monkeypatch.setattr(eval.plan, "last_state", counting)
    return played


def test_settings_of_a_planner_that_has_none_of_its_own_make_a_file_of_their_own():
    """Beam search of the greedy planner took the place of greedy planning, the number that every table reads;
    `horizons=[1,10]` that of 110."""
    assert file_name(usual_protocol()) == "results.json"
    names = {
        file_name(usual_protocol() | other)
        for other in ({"model_closed": {"width": 5}}, {"horizons": [1, 10]}, {"horizons": [110]})
    }
    assert names == {"plan-model_closedwidth5.json", "plan-horizons1_10.json", "plan-horizons110.json"}


def test_the_default_is_the_closed_loop():
    """The default took eight minutes in which nothing was said: the dear planners are for those who ask."""
    assert usual_protocol()["planners"] == ["model_closed"]


def test_a_stopped_plan_goes_on(folder, asked, monkeypatch):
    """Stopped after eight minutes, it had kept nothing. Now what is done stays, and the end is that of an unbroken one."""
    with monkeypatch.context() as patch:
        whole = counted(patch)
        expected = plan_run(folder, again=True, **asked)["metrics"]
    assert len(whole) == 6 and whole[0] == (1, "LatentSearch")
    (path,) = folder.glob("plan-*.json")
    path.unlink()
    with monkeypatch.context() as patch:
        counted(patch, stop_at=4)
        with pytest.raises(KeyboardInterrupt):
            plan_run(folder, **asked)
    kept = json.loads(path.read_text())["metrics"]
    assert "plan/success/h2" in kept and "plan/true/greedy/h2" not in kept
    with monkeypatch.context() as patch:
        rest = counted(patch)
        assert plan_run(folder, **asked)["metrics"] == expected
        assert rest == whole[4:], "nothing is played twice"
        assert plan_run(folder, **asked)["metrics"] == expected and rest == whole[4:]
        plan_run(folder, **{**asked, "planners": ["model_open"]})
        assert rest == [*whole[4:], (1, "LatentSearch"), (2, "LatentSearch")], "floors stand already"


def test_other_weights_are_planned_with_anew(folder, asked, monkeypatch):
    """What other weights reached must not stand beside this model."""
    path = folder / "checkpoints" / "model.ckpt"
    before, plans = path.read_bytes(), set(folder.glob("checkpoints/distance-*"))
    plan_run(folder, **{**asked, "reward": "latent", "planners": ["model_closed", "model_open"]})
    try:
        model = load_run(folder).model
        with torch.no_grad():
            next(model.transition.parameters()).add_(0.1)
        save_weights(model, path)
        played = counted(monkeypatch)
        results = plan_run(folder, **{**asked, "reward": "latent"})
        assert len(played) == 6 and "plan/success/model_open/h1" not in results["metrics"]
    finally:
        path.write_bytes(before)
    assert plans == set(folder.glob("checkpoints/distance-*"))


def test_goals_of_other_weights_do_not_stand_beside_new_scores(folder, tmp_path):
    copied = shutil.copytree(folder, tmp_path / "copied")
    reached = {name for name in read_results(copied)["metrics"] if name.startswith("plan/")}
    assert reached and reached <= score_run(copied)["metrics"].keys()
    path = copied / "checkpoints" / "model.ckpt"
    model = load_run(copied).model
    with torch.no_grad():
        next(model.transition.parameters()).add_(0.1)
    save_weights(model, path)
    results = score_run(copied)
    assert "plan" not in results and not reached & results["metrics"].keys()


def test_fit_ends_with_success(fitted, asked, monkeypatch):
    """H@1, MRR and success stand together on the terminal, in results.json and on the page; eval/plan.py recognises them."""
    folder, said = fitted
    results = json.loads((folder / "results.json").read_text())
    assert {"plan/success/h1", "plan/success/h2", "plan/floor/random/h1", "test/hits@1/h1"} <= results["metrics"].keys()
    for text in (" ".join(said.split()), (folder / "report.html").read_text()):
        assert all(word in text for word in ("H@1", "MRR", "RL success", "20 fresh episodes"))
    assert "scoring test 0/5  ranking after 1 step" in said and "planning 9/9  random, 2 steps" in said
    monkeypatch.setattr(eval.planning.kept, "usual_protocol", lambda: asked)
    played = counted(monkeypatch)
    assert plan_run(folder, **asked) == results and not played


def test_who_asks_for_goals():
    """This command, else the run, else its budget: a smoke test leaves them out, and runs of before do not say."""
    smoke, quick = (OmegaConf.create({"trainer": {"budget": budget}}) for budget in ("smoke", "quick"))
    without = OmegaConf.create({"trainer": {"budget": "quick"}, "goals": False})
    assert [goals_asked(None, cfg) for cfg in (smoke, quick, without)] == [False, True, False]
    assert goals_asked(True, without) and goals_asked(True, smoke) and not goals_asked(False, quick)


def test_goals_are_no_science(compose):
    """Runs of before, which do not say, are the same experiments."""
    with_goals, before = compose("fit", "goals=true"), OmegaConf.create(OmegaConf.to_container(compose("fit")))
    del before["goals"]
    assert config_hash(with_goals) == config_hash(before) and not differences(before, with_goals)


def test_parts_of_the_batch_change_no_action(folder):
    """On a CPU latents are stepped in parts that fit its caches, twice as fast: the same plans, bit for bit."""
    from envs.physics import PhysicsWorld
    from eval.planning.latent_search import LatentSearch
    from eval.planning.tasks import draw_tasks, run_policy
    from models.goal_distance import LatentDistance

    model, world = load_run(folder).model, PhysicsWorld(3)
    found = []
    tasks = draw_tasks(world, 150, 3, 0)
    for rows in (16384, 1024, 100):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(eval.planning.latent_planner, "ROWS_OF_CPU", rows)
            search = LatentSearch(model, world, LatentDistance(), width=2, depth=2)
            found.append(run_policy(world, tasks, search, 0))
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()


def test_many_settings_still_make_a_file_name():
    """Four planners with settings of their own: names of files end at 255 characters, those of locks and parts are longer."""
    own = {
        name: {**usual_protocol()[name], "depth": 3, "candidates": 32}
        for name in ("cem", "mppi", "cem_simulator", "mppi_simulator")
    }
    names = [file_name(usual_protocol() | own | {"episodes": count}) for count in (40, 41, 40)]
    assert max(map(len, names)) < 160 and names[0] != names[1] and names[0] == names[2]


@pytest.mark.parametrize("script, asked, said", [
    ("eval/score.py", "split=[test,tset]", "has no split 'tset': did you mean 'test'?"),
    ("eval/score.py", "split=[test,final]", "which a ledger keeps; name it: ledger="),
    ("eval/plan.py", "mode=[train,test-v9]", "has no mode 'test-v9'"),
    ("eval/score.py", "run=[HERE,nowhere]", "nowhere is not a run folder"),
    ("eval/plan.py", "run=[HERE,nowhere]", "nowhere is not a run folder"),
    ("eval/score.py", "ledger=results.json", "is not a folder; choose another ledger="),
    ("eval/plan.py", "ledger=results.json", "is not a folder; choose another ledger="),
])  # fmt: skip
def test_a_list_is_read_before_its_first_is_measured(script, asked, said, folder, command_here):
    """The first split, mode or run was measured and written, and then the second did not exist."""
    before = {path: path.read_bytes() for path in folder.glob("*.json")}
    done = command_here(script, *[f"run={folder}"] * ("run=" not in asked), asked.replace("HERE", str(folder)), cwd=folder)
    assert done.returncode == 1 and said in " ".join(done.stderr.split()) and "Traceback" not in done.stderr
    assert before == {path: path.read_bytes() for path in folder.glob("*.json")}
