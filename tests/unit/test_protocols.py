"""Protocols: every task has them, order and number of processes change nothing, refused starts are told and left out."""

import json
import subprocess
import sys
import time
import zipfile
from io import BytesIO
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from omegaconf import OmegaConf

pytest.importorskip("pybullet")
from envs.problem import Problem  # noqa: E402
from envs.trifinger import make  # noqa: E402
from envs.trifinger.interventions import curriculum  # noqa: E402
from envs.trifinger.tasks import TASKS  # noqa: E402
from eval import protocols  # noqa: E402
from eval.manipulation import episodes  # noqa: E402
from eval.manipulation.controllers import load_controller  # noqa: E402
from eval.manipulation.protocols import PROTOCOLS, ROLES, actor, keeps_length, protocols_for_agent, protocols_of  # noqa: E402

HANG = 600  # seconds


def settings(tmp_path, **changes):
    defaults = OmegaConf.to_container(OmegaConf.load("configs/protocols.yaml"))
    defaults = {key: value for key, value in defaults.items() if key not in ("defaults", "hydra")}
    return {**defaults, "out": str(tmp_path), "max_steps": 10, "episodes": 2, "jobs": 1, **changes}


@pytest.fixture(autouse=True)
def at_root(root, monkeypatch):
    monkeypatch.chdir(root)


def test_every_task_has_protocols():
    """Twelve of the one-block tasks, eleven of stacking2 as in the paper; P0, P10 and P11 of all."""
    assert set(ROLES) == set(TASKS)
    for task in ("pushing", "picking", "pick_and_place"):
        assert protocols_of(task) == list(PROTOCOLS)[:12]
    assert protocols_of("stacking2") == [p for p in list(PROTOCOLS)[:12] if p != "P3"]
    assert protocols_of("reaching") == ["P0", "P5", "P10", "P11", "P12"]
    for task in TASKS:
        assert {"P0", "P5", "P10", "P11"} <= set(protocols_of(task))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name, said", [
    ("P13", "did you mean 'P"), ("p5", "did you mean 'P5'"), (5, "did you mean 'P5'"), ("", "known: P0"),
])  # fmt: skip
def test_a_protocol_that_does_not_exist_is_told_near_ones(task, name, said):
    """Of every task and of families, whether an agent of one network is asked or any."""
    for choose in (protocols_of, protocols_for_agent):
        with pytest.raises(Problem, match=f"^there is no protocol '{name}': .*{said}"):
            choose(task, ["P0", name])


@pytest.mark.parametrize("task", TASKS)
def test_actors_set_only_what_the_protocol_names(task):
    env = make(task)
    env.reset(seed=0)
    for name in protocols_of(task):
        drawn = actor(name, task)
        roles = PROTOCOLS[name].roles
        if roles and roles != ("all",):
            changes = drawn.request(env, np.random.default_rng(0))
            assert set(changes) == {path for role in roles for path in ROLES[task][role]}
            for path, value in changes.items():
                low, high = env.variables()[path].space(PROTOCOLS[name].space)
                assert (value >= low - 1e-9).all() and (value <= high + 1e-9).all()
    env.close()


@pytest.mark.parametrize("task", ["pushing", "pick_and_place", "towers"])
def test_random_actions_survive_every_protocol(task, tmp_path):
    """Few steps here; twenty whole episodes of every task and protocol are in the benchmark."""
    cfg = settings(tmp_path, task=task)
    for name in protocols_of(task):
        for row in episodes.play(cfg, name, [0, 1]):
            assert row["accepted"] and 0 <= row["last"] <= 1 and row["steps"] == 10


def test_neither_order_nor_processes_matter(tmp_path):
    """In CausalWorld what P3 sets stays, so P4 after it is another protocol."""
    cfg = settings(tmp_path)
    alone = {name: episodes.play(cfg, name, [1])[0] for name in ("P3", "P4", "P10")}
    for names in (("P10", "P4", "P3"), ("P3", "P4", "P10")):
        for name in names:
            assert episodes.play(cfg, name, [0, 1])[1] == alone[name]
    protocols.run(OmegaConf.create(settings(tmp_path, name="one", protocols=["P4"], episodes=7)))
    protocols.run(OmegaConf.create(settings(tmp_path, name="two", protocols=["P4"], episodes=7, jobs=2)))
    assert (tmp_path / "one/episodes.csv").read_text() == (tmp_path / "two/episodes.csv").read_text()


def test_goes_on_where_it_was(tmp_path, monkeypatch, capsys):
    cfg = settings(tmp_path, protocols=["P0", "P4"], episodes=3)
    protocols.run(OmegaConf.create(cfg))
    folder = tmp_path / "pushing-random"
    whole = (folder / "episodes.csv").read_text()
    (folder / "episodes.csv").write_text("\n".join(whole.splitlines()[:3]) + "\n")
    protocols.run(OmegaConf.create(cfg))
    assert (folder / "episodes.csv").read_text() == whole and "4 episodes to play, 2 exist already" in capsys.readouterr().out
    scores = json.loads((folder / "scores.json").read_text())
    assert scores["P4"]["episodes"] == 3 and 0 < scores["P4"]["acceptance"] <= 1
    assert {"bars.png", "radar.png", "table.md"} <= {path.name for path in folder.iterdir()}
    with pytest.raises(Problem, match="was played with seed=0, not 1; choose another name="):
        protocols.run(OmegaConf.create({**cfg, "seed": 1}))


def test_an_episode_without_a_start_is_left_out(tmp_path, monkeypatch):
    """CausalWorld runs it on the default scene and says nothing."""
    monkeypatch.setattr(curriculum, "intervene", lambda *_: {"accepted": False, "tries": 5})
    rows = episodes.play(settings(tmp_path), "P4", [0, 1]) + episodes.play(settings(tmp_path), "P0", [0])
    found = episodes.summary(rows)
    assert found["P4"] == {"episodes": 0, "left_out": 2, "acceptance": 0.0} and found["P0"]["episodes"] == 1


def test_summary_of_known_numbers():
    row = {"protocol": "P1", "accepted": True, "tries": 2, "integrated": 0.5, "last20": 0.5}
    found = episodes.summary([{**row, "last": value} for value in (0.0, 1.0, 1.0, 1.0)])["P1"]
    mean, low, high = found["last"]
    assert mean == 0.75 and 0 < low < 0.75 < high <= 1 and found["acceptance"] == 0.5
    assert found["integrated"] == [0.5, 0.5, 0.5]


def test_an_interval_holds_the_mean_in_95_of_100():
    """Of 400 throws of a coin: 1.96 times .025 on either side."""
    low, high = episodes.interval(np.arange(400) % 2, np.random.default_rng(0))
    assert high - low == pytest.approx(2 * 1.96 * 0.025, rel=0.1)


def test_an_episode_is_scored_at_its_end_over_all_and_over_its_last_twenty_steps(tmp_path, monkeypatch):
    played = [SimpleNamespace(info={"fractional_success": n / 29}) for n in (*range(29, 9, -1), *range(10))]
    monkeypatch.setattr("envs.trifinger.env.play.play", lambda *_: iter(played))
    (row,) = episodes.play(settings(tmp_path), "P0", [0])
    assert row["last"] == pytest.approx(9 / 29) and row["integrated"] == pytest.approx(0.5) and row["steps"] == 30
    assert row["last20"] == pytest.approx(np.mean([*range(19, 9, -1), *range(10)]) / 29)


def archive(path, width=56, names=("shared_fc0", "shared_fc1")):
    """An archive as stable-baselines 2 writes them, of ones."""
    arrays, wide = {}, width
    for name in names:
        arrays |= {f"model/{name}/w:0": np.full((wide, 4), 0.01), f"model/{name}/b:0": np.zeros(4)}
        wide = 4
    raw = BytesIO()
    np.savez(raw, **arrays, **{"model/pi/w:0": np.full((4, 9), 10.0), "model/pi/b:0": np.full(9, 0.5)})
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("parameters", raw.getvalue())
    return str(path)


def test_an_archive_of_stable_baselines_acts(tmp_path):
    env = make()
    observation, _ = env.reset(seed=0)
    act = load_controller(archive(tmp_path / "a.zip"), env, None)
    hidden = np.tanh(4 * 0.01 * np.tanh(0.01 * observation.sum()))
    assert act(observation) == pytest.approx(np.full(9, np.clip(40 * hidden + 0.5, -1, 1)))
    still = load_controller("still", env, None)(observation)
    env.step(still)
    assert np.abs(env.state["joint_positions"] - env.task.start_pose).max() < 0.05
    for agent, said in (("rnd", "did you mean 'random'"), (str(tmp_path / "b.zip"), "does not exist"),
                        (archive(tmp_path / "c.zip", 37), "observations of 37 numbers, this task gives 56")):  # fmt: skip
        with pytest.raises(Problem, match=said):
            load_controller(agent, env, None)
    (tmp_path / "d.zip").write_text("no")
    with pytest.raises(Problem, match="nor an archive of stable-baselines 2"):
        load_controller(str(tmp_path / "d.zip"), env, None)
    env.close()


def test_another_archive_of_the_same_name_is_another_agent(tmp_path):
    """Trained on or replaced: its scores would mix with the old ones."""
    cfg = settings(tmp_path, protocols=["P0"], episodes=2, agent=archive(tmp_path / "a.zip"))
    protocols.run(OmegaConf.create(cfg))
    protocols.run(OmegaConf.create(cfg))
    archive(tmp_path / "a.zip", names=("pi_fc0",))
    with pytest.raises(Problem, match="was played with archive="):
        protocols.run(OmegaConf.create(cfg))


def test_archives_of_a_run_are_called_by_it():
    """The best of a training is another agent than its last."""
    names = {"agent.zip": "a", "best.zip": "a-best", "other.zip": "other"}
    assert {path: protocols._agent_name(f"runs/a/checkpoints/{path}") for path in names} == names
    assert protocols._agent_name("agent.zip") == "agent" and protocols._agent_name("random") == "random"


def test_an_agent_of_one_length_is_asked_what_keeps_it(tmp_path):
    with pytest.raises(Problem, match="P5 changes the number of blocks of towers"):
        protocols.run(OmegaConf.create(settings(tmp_path, task="towers", protocols=["P0", "P5"], agent="a.zip")))
    assert [p for p in protocols_of("towers") if keeps_length("towers", p)] == ["P0", "P1", "P2"]
    assert all(keeps_length("pushing", p) for p in PROTOCOLS)


@pytest.mark.slow
def test_workers_of_a_killed_command_end(tmp_path, root):
    """Nothing waits for ever where a scheduler killed the command. This test, on a loaded machine, once left it running."""
    command = ["eval/protocols.py", "task=pushing", "agent=random", "episodes=200", "jobs=2", f"out={tmp_path}"]
    started = subprocess.Popen([sys.executable, *command], cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    parent, workers = psutil.Process(started.pid), []
    try:
        end = time.monotonic() + HANG
        while len(workers) < 2 and started.poll() is None and time.monotonic() < end:
            workers = parent.children()
            time.sleep(0.1)
        assert len(workers) == 2
        started.kill()
        started.wait()
        assert not psutil.wait_procs(workers, timeout=HANG)[1]
    finally:
        started.kill()
        started.wait()
        for worker in workers:
            if worker.is_running():
                worker.kill()


@pytest.mark.parametrize("content", [b'{"task": "pu', b"\xff\xfe", b"[" * 100_000, b"5"])
def test_settings_that_are_none_are_told(content, tmp_path):
    """A cut settings.json ended in a traceback."""
    (tmp_path / "settings.json").write_bytes(content)
    with pytest.raises(Problem, match="settings.json .*; choose another name=, or remove"):
        protocols._check_same(settings(tmp_path), tmp_path / "settings.json")


def test_episodes_that_were_not_written_whole_are_played_anew(tmp_path):
    """A word in episodes.csv ended in a traceback; a row that is not whole is now one that is missing."""
    path = tmp_path / "episodes.csv"
    row = {"protocol": "P0", "accepted": True, "tries": 1, "last": 0.5, "integrated": 0.25, "last20": 0.5, "steps": 10}
    refused = {"protocol": "P1", "episode": 2, "accepted": False, "tries": 5}
    kept = [{**row, "episode": 0}, refused]
    episodes._write(path, kept)
    for line in ("P0,one,True,1,.5,.5,.5,10", "P0,1,perhaps,1,.5,.5,.5,10", "P99,1,True,1,.5,.5,.5,10",
                 "P0,1,True,1,nan,.5,.5,10", "P0,1,True,1,,.5,.5,10", "P0,1,True,1,.5", "P0,1,True,1,.5,.5,.5,1"):  # fmt: skip
        path.write_text(path.read_text().rstrip("\n") + "\n" + line + "\n" * (not line.endswith(",1")))
    assert episodes._read(path) == kept


def test_agents_are_compared_side_by_side(tmp_path, capsys):
    """A protocol that only one of them played is a gap of the other, not a zero."""
    protocols.run(OmegaConf.create(settings(tmp_path, task="reaching", protocols=["P0"], episodes=2, agent="still")))
    cfg = settings(tmp_path, task="reaching", protocols=["P5", "P0"], episodes=2, beside=["reaching-still"])
    protocols.run(OmegaConf.create(cfg))
    table = (tmp_path / "reaching" / "table.md").read_text()
    assert "| random |" in table and "| still |" in table and table.index("P0 nothing") < table.index("P5 goal position A")
    assert table.splitlines()[3].endswith("| - |") and (tmp_path / "reaching" / "radar.png").exists()
    assert "2 episodes" in table and "skip_frame 3" in table
    protocols.run(OmegaConf.create(settings(tmp_path, task="reaching", protocols=["P0"], episodes=2, name="still")))
    beside = {"beside": ["reaching-still", "still"]}
    protocols.run(OmegaConf.create(settings(tmp_path, task="reaching", protocols=["P0"], episodes=2) | beside))
    both = (tmp_path / "reaching" / "table.md").read_text()
    assert "| reaching-still |" in both and "| still |" in both, "one of the two was lost"
    with pytest.raises(Problem, match="holds what is compared on reaching; expected another name, as reaching-random"):
        protocols.run(OmegaConf.create(settings(tmp_path, task="reaching", protocols=["P0"], episodes=2, name="reaching")))
    with pytest.raises(Problem, match=r"nobody holds no finished protocols \(settings.json is missing\); play them with"):
        protocols.run(OmegaConf.create(cfg | {"beside": "nobody"}))
    for damaged in ("{}", "[]", '{"P0": {"episodes": 2, "last": [1]}}', '{"P0": {"episodes": 2, "last": null}}', "{"):
        (tmp_path / "reaching-still" / "scores.json").write_text(damaged)
        with pytest.raises(Problem, match="holds no scores of protocols"):
            protocols.run(OmegaConf.create(cfg))
    (tmp_path / "reaching-still" / "scores.json").write_text('{"P0": {"episodes": 2}}')
    (tmp_path / "reaching-still" / "settings.json").write_text('{"task": "pushing"}')
    with pytest.raises(Problem, match="played on task=pushing, expected reaching; leave it out of beside="):
        protocols.run(OmegaConf.create(cfg))
