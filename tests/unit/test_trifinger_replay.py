"""A recorded episode is played anew from its file, to the last bit, or refused with what is missing."""

import json

import h5py
import numpy as np
import pytest

pytest.importorskip("pybullet")
from envs.episodes import EpisodeFile  # noqa: E402
from envs.episodes.blocks import checksum  # noqa: E402
from envs.problem import Problem  # noqa: E402
from envs.trifinger import make  # noqa: E402
from envs.trifinger.env.record import record, replay  # noqa: E402
from envs.trifinger.interventions.actors import RandomActor  # noqa: E402
from envs.trifinger.interventions.curriculum import Curriculum, Phase  # noqa: E402
from envs.trifinger.scene.views import VIEWS  # noqa: E402


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
    with h5py.File(path, "r+") as h5:
        header = json.loads(h5.attrs["header"])
        change(header)
        h5.attrs["header"] = json.dumps(header)
        h5.attrs["checksum"] = checksum(h5.attrs["header"], json.loads(h5.attrs["blocks"]))
    with pytest.raises(Problem, match=said):
        replay(path, 0)
    with pytest.raises(Problem, match="has episodes 0 to 0, got '0'"):
        replay(path, "0")
