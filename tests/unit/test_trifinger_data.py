"""TriFinger for other tools: goal-conditioned observations, many environments at once, recorded episodes."""

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("pybullet")
import envs  # noqa: E402, F401  registers the ids
from envs.episodes import EpisodeFile, EpisodeWriter  # noqa: E402
from envs.problem import Problem  # noqa: E402
from envs.trifinger import make  # noqa: E402
from envs.trifinger.env import record as recording  # noqa: E402
from envs.trifinger.env.record import record, to_minari  # noqa: E402
from envs.trifinger.env.wrappers import GoalDict, MovingAverage  # noqa: E402
from envs.trifinger.interventions.actors import GoalActor, VariablesActor  # noqa: E402
from envs.trifinger.interventions.curriculum import Curriculum, Phase  # noqa: E402
from envs.trifinger.offline import SETS, record_set  # noqa: E402
from envs.trifinger.scene.views import VIEWS  # noqa: E402


@pytest.mark.parametrize("task, width", [("pushing", 10), ("reaching", 9), ("stacking2", 20)])
@pytest.mark.parametrize("reward", ["fractional", "sparse"])
def test_rewards_can_be_computed_anew(task, width, reward):
    env = GoalDict(make(task, reward=reward))
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation) and observation["desired_goal"].shape == (width,)
    env.action_space.seed(0)
    seen = []
    for _ in range(5):
        observation, given, *_, info = env.step(env.action_space.sample())
        assert env.compute_reward(observation["achieved_goal"], observation["desired_goal"], info) == given
        seen.append(observation)
    stacked = (np.stack([o[key] for o in seen]) for key in ("achieved_goal", "achieved_goal"))
    assert env.compute_reward(*stacked) == pytest.approx(np.full(5, 0.04))  # what was reached is reached
    env.close()


def test_dense_rewards_cannot():
    with pytest.raises(Problem, match="needs reward=fractional or reward=sparse, got reward=dense"):
        GoalDict(make())


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_many_at_once(mode):
    """In one process and in several: equal seeds give what single environments give."""
    many = gym.make_vec("causalwm/TriFingerPushing-v0", num_envs=2, vectorization_mode=mode, skip_frame=2, max_steps=5)
    observations, _ = many.reset(seed=[0, 1])
    action = np.full((2, 9), 0.3, np.float32)
    rows = [many.step(action)[0] for _ in range(4)]
    one = make(skip_frame=2, max_steps=5)
    one.reset(seed=1)
    for row in rows:
        assert np.array_equal(one.step(action[1])[0], row[1])
    assert observations.shape == (2, 56)
    for env in (many, one):
        env.close()


def test_recorded_episodes(tmp_path):
    """Every row holds what the environment showed and every variable; the same call again changes nothing."""
    env = Curriculum(make(skip_frame=5, max_steps=6), [Phase(VariablesActor(["tool_block/mass"]))])
    rng = np.random.default_rng(0)
    record(env, lambda observation: rng.uniform(-1, 1, 9), tmp_path / "p.h5", 2, seed=3, camera=VIEWS[0].sized(32, 40))
    file = EpisodeFile(tmp_path / "p.h5")
    data = file.read()
    assert file.ep_len.tolist() == [7, 7] and data["observation"].shape == (14, 56) and data["pixels"].shape == (14, 32, 40, 3)
    assert data["action"].shape == (14, 9) and not data["action"][6].any() and data["action"][5].any()
    names = file.header["variables"]
    assert data["variables"].shape == (14, len(names))
    masses = data["variables"][:, names.index("tool_block/mass")]
    assert len(set(masses[:7])) == 1 and masses[0] != masses[7] and 0.015 <= masses[0] <= 0.045
    place = file.header["observation"].index("tool_block/cartesian_position/1")
    raw = data["variables"][:, names.index("tool_block/cartesian_position/1")]
    assert data["observation"][:, place] == pytest.approx(2 * (raw + 0.5) - 1)
    env.close()


def test_scenes_of_other_objects_do_not_mix(tmp_path):
    env = Curriculum(make("towers", max_steps=2), [Phase(VariablesActor(["number_of_blocks_in_tower"]), first=1)])
    with pytest.raises(Problem, match="has other objects than the first"):
        record(env, lambda observation: np.zeros(9), tmp_path / "t.h5", 2)
    assert not (tmp_path / "t.h5").exists()
    env.close()


def test_a_finished_file_stays(tmp_path):
    """It was recorded once more, and another set took the place of a finished one without a word."""
    env, path, calls = make("reaching", max_steps=3), tmp_path / "p.h5", []

    def policy(observation):
        calls.append(1)
        return np.zeros(9)

    record(env, policy, path, 3)
    before, played = path.read_bytes(), len(calls)
    record(env, policy, path, 3)
    with pytest.raises(Problem, match="recorded under another configuration.*record into another file, or remove it"):
        record(env, policy, path, 3, about={"set": "other"})
    env.close()
    assert path.read_bytes() == before and len(calls) == played == 9


def test_blocks_of_several_episodes_are_those_of_single_ones(tmp_path, monkeypatch):
    """One block for each episode made files that grow with the square of their episodes:
    the list of blocks is written anew with each."""
    env, found = make("reaching", max_steps=3), []
    for block in (1, 2):
        monkeypatch.setattr(recording, "_BLOCK", block)
        record(env, lambda observation: np.full(9, 0.5), tmp_path / f"{block}.h5", 3)
        file = EpisodeFile(tmp_path / f"{block}.h5")
        found.append((file.ep_len.tolist(), file.read("observation", "action", "variables")))
    env.close()
    (lengths, one), (others, two) = found
    assert lengths == others == [4, 4, 4] and all(np.array_equal(one[name], two[name]) for name in one)


def test_minari(tmp_path, monkeypatch):
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    env = make(max_steps=4)
    record(env, lambda observation: np.zeros(9), tmp_path / "p.h5", 3)
    to_minari(tmp_path / "p.h5", "causalwm/pushing-v0")
    back = minari.load_dataset("causalwm/pushing-v0")
    assert back.total_episodes == 3 and back.total_steps == 12
    episode = next(iter(back.iterate_episodes([0])))
    assert episode.observations.shape == (5, 56) and episode.truncations[-1] and not episode.terminations.any()
    env.close()


def test_a_recorded_curriculum_begins_at_its_first_episode(tmp_path, monkeypatch):
    """Also where the recording was broken off and taken up."""
    monkeypatch.setattr(recording, "_BLOCK", 1)

    def goals(path, broken_after=None):
        phases = [Phase(GoalActor(), first=0, last=0), Phase(GoalActor(), first=2, last=2)]
        env = MovingAverage(Curriculum(make(max_steps=3), phases))  # whatever is around the curriculum
        calls = []

        def policy(observation):
            calls.append(1)
            if broken_after is not None and len(calls) > broken_after:
                raise KeyboardInterrupt
            return np.zeros(9)

        try:
            record(env, policy, path, 3)
        except KeyboardInterrupt:
            return None
        file = EpisodeFile(path)
        x = file.header["variables"].index("goal_block/cartesian_position/0")
        return file.read("variables")["variables"][file.ep_offset, x].tolist()

    whole = goals(tmp_path / "whole.h5")
    assert whole[1] == 0 and whole[0] != 0 and whole[2] != 0
    assert goals(tmp_path / "broken.h5", broken_after=4) is None
    assert goals(tmp_path / "broken.h5") == whole


def test_recordings_of_other_settings_do_not_mix(tmp_path):
    """The header tells all that decides what a step does."""
    header = {}
    for mode in ("joint_positions", "joint_torques"):
        env = make(max_steps=2, action_mode=mode, normalized=False)
        record(env, lambda observation, env=env: env.action_space.high, tmp_path / f"{mode}.h5", 1)
        header[mode] = EpisodeFile(tmp_path / f"{mode}.h5").header
        env.close()
    assert header["joint_positions"]["settings"] != header["joint_torques"]["settings"]
    assert header["joint_torques"]["action_bounds"][1] == pytest.approx([0.36] * 9)
    with pytest.raises(Problem, match="unwrap the env"):
        record(GoalDict(make(reward="sparse")), lambda observation: np.zeros(9), tmp_path / "g.h5", 1)


def test_offline_sets_of_the_expert_of_chance_and_of_both(tmp_path):
    """Goals differ from episode to episode; the expert ends on its goal, chance does not, `mixed` has one of each in turn. A
    set that was broken off goes on to the same bytes."""
    done = {}
    for kind in SETS:
        record_set("pushing", kind, tmp_path / f"{kind}.h5", 2, skip_frame=10, max_steps=120, dynamics="legacy")
        file = EpisodeFile(tmp_path / f"{kind}.h5")
        done[kind] = file.read("fractional_success")["fractional_success"][file.ep_offset + file.ep_len - 1]
        goal = file.header["variables"].index("goal_block/cartesian_position/0")
        assert len(set(file.read("variables")["variables"][file.ep_offset, goal])) == 2
    assert done["expert"].min() > 0.8 > done["random"].max()
    assert done["mixed"] == pytest.approx([done["expert"][0], done["random"][1]])


def test_another_seed_gives_other_episodes(tmp_path):
    """Episode 1 of seed 0 was episode 0 of seed 1, so that two sets held the same goals but for one."""
    goals = []
    for seed in (0, 1):
        record_set("reaching", "random", tmp_path / f"{seed}.h5", 3, seed, skip_frame=10, max_steps=2)
        file = EpisodeFile(tmp_path / f"{seed}.h5")
        at = [k for k, name in enumerate(file.header["variables"]) if name.startswith("goal_60/cartesian_position")]
        assert len(at) == 3
        goals += file.read("variables")["variables"][file.ep_offset][:, at].tolist()
    assert len({tuple(goal) for goal in goals}) == 6


def test_a_file_of_before_stays_and_is_replayed(tmp_path, monkeypatch):
    """Its episodes have the seeds of then; the same call was told to remove it."""
    with monkeypatch.context() as then:
        writer = recording.EpisodeWriter
        then.setattr(recording, "EpisodeWriter", lambda path, header: header.pop("seeds") and writer(path, header))
        record_set("reaching", "random", tmp_path / "x.h5", 2, skip_frame=10, max_steps=3)
    assert "seeds" not in EpisodeFile(tmp_path / "x.h5").header
    before = (tmp_path / "x.h5").read_bytes()
    record_set("reaching", "random", tmp_path / "x.h5", 2, skip_frame=10, max_steps=3)
    assert (tmp_path / "x.h5").read_bytes() == before
    assert recording._seed_of(EpisodeFile(tmp_path / "x.h5").header, 1) == 2


def test_a_file_that_was_finished_while_one_waited_stays(tmp_path, monkeypatch):
    """The second of two recorders of one path replaced what the first had finished meanwhile."""
    enter, path = EpisodeWriter.__enter__, tmp_path / "x.h5"

    def waited(self):
        monkeypatch.setattr(EpisodeWriter, "__enter__", enter)
        record_set("reaching", "expert", path, 1, skip_frame=10, max_steps=2)  # by another process
        return enter(self)

    monkeypatch.setattr(EpisodeWriter, "__enter__", waited)
    with pytest.raises(Problem, match="record into another file, or remove it"):
        record_set("reaching", "random", path, 1, skip_frame=10, max_steps=2)
    assert EpisodeFile(path).header["set"] == "expert"


@pytest.mark.parametrize("before", ["mixed", "random"])
def test_an_offline_set_that_was_broken_off_goes_on(tmp_path, monkeypatch, before):
    """The same one; what another policy had begun under this name is no part of it."""
    record_set("reaching", "mixed", tmp_path / "whole.h5", 3, skip_frame=10, max_steps=10)
    append, calls = EpisodeWriter.append, []
    monkeypatch.setattr(recording, "_BLOCK", 1)

    def broken(self, *args):
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        append(self, *args)

    monkeypatch.setattr(EpisodeWriter, "append", broken)
    with pytest.raises(KeyboardInterrupt):
        record_set("reaching", before, tmp_path / "broken.h5", 3, skip_frame=10, max_steps=10)
    monkeypatch.setattr(EpisodeWriter, "append", append)
    record_set("reaching", "mixed", tmp_path / "broken.h5", 3, skip_frame=10, max_steps=10)
    whole, again = (
        EpisodeFile(tmp_path / f"{name}.h5").read("action", "observation", "variables") for name in ("whole", "broken")
    )
    assert all(np.array_equal(whole[name], again[name]) for name in whole)


@pytest.mark.parametrize("task, kind, told", [
    ("pushing", "exprt", "no set 'exprt': did you mean 'expert'"),
    ("towers", "mixed", "no expert for towers, which set 'mixed' needs; there are experts for reaching"),
])  # fmt: skip
def test_other_offline_sets_are_refused(tmp_path, task, kind, told):
    with pytest.raises(Problem, match=told):
        record_set(task, kind, tmp_path / "x.h5", 1)
    assert not list(tmp_path.iterdir())


def test_random_sets_move_joints_to_positions(tmp_path):
    """Positions were executed as torques, without a word."""
    with pytest.raises(Problem, match="set 'random' moves joints to positions, got action_mode=joint_torques"):
        record_set("pushing", "random", tmp_path / "x.h5", 1, action_mode="joint_torques")
