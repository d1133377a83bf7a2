"""A recorded episode is played anew from its file, to the last bit, or refused with what is missing."""

import json
from contextlib import closing

import h5py
import numpy as np
import pytest

pytest.importorskip("pybullet")
from envs.episodes import EpisodeFile  # noqa: E402
from envs.episodes.blocks import checksum  # noqa: E402
from envs.problem import Problem  # noqa: E402
from envs.trifinger import make  # noqa: E402
from envs.trifinger.env.record import record, replay  # noqa: E402
from envs.trifinger.env.wrappers import MovingAverage  # noqa: E402
from envs.trifinger.interventions.actors import RandomActor  # noqa: E402
from envs.trifinger.interventions.curriculum import Curriculum, Phase  # noqa: E402
from envs.trifinger.scene.views import FRONT, VIEWS  # noqa: E402


def random_policy(seed=0):
    rng = np.random.default_rng(seed)
    return lambda observation: rng.uniform(-1, 1, 9)


def recorded(path, episode):
    file = EpisodeFile(path)
    rows = slice(file.ep_offset[episode], file.ep_offset[episode] + file.ep_len[episode])
    return {key: column[rows] for key, column in file.read().items()}


def test_an_episode_is_played_anew_from_its_file(tmp_path):
    """All that it needs stands in the header: the task, its parameters, the settings, the seed."""
    path = tmp_path / "g.h5"
    options = dict(skip_frame=3, dynamics="legacy", task_params={"goal_height": 0.12}, max_steps=15, space="a")
    env = make("picking", **options)
    record(env, random_policy(), path, 3, seed=5)
    env.close()
    for episode in (2, 0):
        then, now = recorded(path, episode), replay(path, episode, camera=VIEWS[0].sized(24, 32))
        assert now.pop("pixels").shape == (16, 24, 32, 3)
        assert then.keys() == now.keys()
        assert all(np.array_equal(then[key], now[key]) for key in then)
    with pytest.raises(Problem, match="has episodes 0 to 2, got 3"):
        replay(path, 3)


@pytest.mark.parametrize("task", ["reaching", "pick_and_place"])
def test_a_recording_of_a_task_that_changed_is_told(task, tmp_path):
    """Goals were of other colours, rewards were others: the file does not mix with ours, nor is it played anew."""
    path = tmp_path / "r.h5"
    with closing(make(task, max_steps=1)) as env:
        record(env, random_policy(), path, 1)
        assert np.array_equal(recorded(path, 0)["reward"], replay(path, 0)["reward"])
        with_header(path, lambda header: header.pop("revision"))
        with pytest.raises(Problem, match=f"holds revision 0 of {task}, here it is 1; record it again"):
            replay(path, 0)
        with pytest.raises(Problem, match="recorded under another configuration .*revision"):
            record(env, random_policy(), path, 1)


def curriculum(**options):
    phases = [Phase(RandomActor("a"), first=1, step=4), Phase(RandomActor("a"))]
    return Curriculum(make(skip_frame=3, max_steps=12, **options), phases)


def test_a_curriculum_is_played_anew_where_it_is_given(tmp_path):
    path = tmp_path / "c.h5"
    env = curriculum()
    record(env, random_policy(), path, 3)
    env.close()
    with pytest.raises(Problem, match="was recorded with Curriculum, which its header cannot make"):
        replay(path, 1)
    env, other = curriculum(), curriculum(dynamics="legacy")
    for episode in (1, 0, 2):
        then, now = recorded(path, episode), replay(path, episode, env)
        assert all(np.array_equal(then[key], now[key]) for key in then)
    with pytest.raises(Problem, match="dynamics=default, the env has legacy"):
        replay(path, 1, other)
    env.close()
    other.close()


def test_an_episode_of_another_start_is_refused(tmp_path):
    path = tmp_path / "s.h5"
    env = make(max_steps=3)
    env.set_start({"tool_block": {"mass": 0.04}})
    record(env, random_policy(), path, 1)
    then, now = recorded(path, 0), replay(path, 0, env)
    assert np.array_equal(then["variables"], now["variables"])
    env.close()
    with pytest.raises(Problem, match="began in another scene"):
        replay(path, 0)


def with_header(path, change):
    """The file as one of another version, or a crafted one."""
    with h5py.File(path, "r+") as h5:
        header = json.loads(h5.attrs["header"])
        change(header)
        h5.attrs["header"] = json.dumps(header)
        h5.attrs["checksum"] = checksum(h5.attrs["header"], json.loads(h5.attrs["blocks"]))


def seen(*cameras):
    return make(observation="pixel", cameras=cameras, renderer="bullet", max_steps=1)


def test_pictures_are_replayed_by_their_own_cameras(tmp_path):
    """Settings did not name them: replay drew by the default ones, and a recording by others kept the pictures that it had."""
    path = tmp_path / "p.h5"
    with closing(seen(FRONT.sized(8, 10))) as env:
        record(env, random_policy(), path, 1)
    then, now = recorded(path, 0), replay(path, 0)
    assert now["observation"].shape == (2, 2, 8, 10, 3) and np.array_equal(then["observation"], now["observation"])
    with closing(seen(VIEWS[0].sized(8, 10))) as env:
        with pytest.raises(Problem, match="recorded under another configuration .*settings"):
            record(env, random_policy(), path, 1)
        with pytest.raises(Problem, match="was recorded with cameras="):
            replay(path, 0, env)


def test_pictures_of_before_name_no_cameras(tmp_path):
    """They may be of any, and are played anew where they look the same."""
    path = tmp_path / "p.h5"
    with closing(seen(FRONT.sized(8, 10))) as env:
        record(env, random_policy(), path, 1)
        with_header(path, lambda header: [header["settings"].pop(key) for key in ("cameras", "renderer")])
        before = path.read_bytes()
        record(env, random_policy(), path, 1)
        assert path.read_bytes() == before
        assert np.array_equal(recorded(path, 0)["observation"], replay(path, 0, env)["observation"])
    with closing(seen(VIEWS[0].sized(8, 10))) as env, pytest.raises(Problem, match="shows other pictures than here, and its"):
        replay(path, 0, env)


def test_an_episode_that_goes_otherwise_is_refused(tmp_path):
    """A wrapper of another window gave another trajectory as the recorded one: its first row is the same."""
    path = tmp_path / "w.h5"
    env, other = (MovingAverage(make(skip_frame=3, max_steps=6), window) for window in (8, 2))
    record(env, random_policy(), path, 1)
    then, now = recorded(path, 0), replay(path, 0, env)
    assert all(np.array_equal(then[key], now[key]) for key in then)
    with pytest.raises(Problem, match=r"recorded with wrapper_settings=\[{'window': 8}\], the env has \[{'window': 2}\]"):
        replay(path, 0, other)
    with pytest.raises(Problem, match="recorded under another configuration .*window"):
        record(other, random_policy(), path, 1)
    with_header(path, lambda header: header.pop("wrapper_settings"))  # as files of before are
    with pytest.raises(Problem, match=r"episode 0 of .* goes otherwise here: .* is .* in row \d, recorded was .*; make"):
        replay(path, 0, other)
    env.close()
    other.close()


@pytest.mark.parametrize("change, said", [
    (lambda h: h.pop("settings"), "has no settings"),
    (lambda h: h.update(seed="0"), "has no seed"),
    (lambda h: h.update(wrappers=5), "has no wrappers"),
    (lambda h: h["settings"].update(gravity=3), "settings that make no environment here .*gravity"),
    (lambda h: h["settings"].update(task_params=3), "settings that make no environment here"),
    (lambda h: h["settings"].update(extra_observations=3), "extra_observations"),
])  # fmt: skip
def test_a_header_of_another_make_is_told(change, said, tmp_path):
    """A file of another version, or a crafted one, ended in a traceback."""
    path, env = tmp_path / "h.h5", make(max_steps=1)
    record(env, random_policy(), path, 1)
    env.close()
    with_header(path, change)
    with pytest.raises(Problem, match=said):
        replay(path, 0)
    with pytest.raises(Problem, match="has episodes 0 to 0, got '0'"):
        replay(path, "0")
