"""Records episodes: observations, actions, rewards, pictures and every variable, into the project's episode file or for Minari.

    record(make("pushing"), controller, "pushing.h5", episodes=100, seed=0, camera=VIEWS[0].sized(64, 64))
    replay("pushing.h5", 3, camera=VIEWS[1])  ->  the columns of episode 3, played anew
    to_minari("pushing.h5", "causalwm/pushing-v0")

Rows of an episode of T actions: T + 1 (see `envs.episodes`); the last row's action and reward are padding.
"""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import numpy as np
from gymnasium.spaces import Box

from envs.bodies.rendering.cameras import Camera
from envs.episodes import Column, EpisodeFile, EpisodeWriter
from envs.problem import Problem
from envs.trifinger.env.env import TriFingerEnv
from envs.trifinger.env.play import Controller, EachEpisode, Step, play
from envs.trifinger.tasks import TASKS

_BLOCK = 20  # episodes that are written together: the list of blocks is written anew with each, and a file keeps the old ones
_HEADER = {"task": str, "settings": dict, "seed": int, "variables": list, "wrappers": list}  # that replay reads


def record(
    env,
    controller: Controller | EachEpisode,
    path: str | Path,
    episodes: int,
    seed: int = 0,
    camera: Camera | None = None,
    about: Mapping | None = None,
) -> None:
    """Columns: observation, action, reward, fractional_success, variables, and pixels where a camera is given.
    The header names every entry of `variables` and `observation`. After a kill the same call resumes, and one under another
    header begins anew; a finished file stays as it is, a Problem where it has another header.  about: what the header says
    beside, of whose episodes they are: a controller has no name of its own, and another one is known by this alone.

    env may be wrapped (a Curriculum that begins at its first episode, say); the number of its objects must stay the same over
    all episodes.
    """
    base = env.unwrapped
    if not isinstance(env.observation_space, Box):
        raise Problem(f"observations that are recorded are arrays; got {type(env.observation_space).__name__}, unwrap the env")
    base.reset(seed=seed)  # of the base, since to a Curriculum a reset is an episode
    names = sorted(base.variables())
    header = {
        "task": base.task.name, "settings": _settings(base), "seed": seed, "episodes": episodes,
        "variables": _entries(base, names), "observation": base.entries() if env.observation_space.dtype == float else None,
        "action_bounds": [env.action_space.low.tolist(), env.action_space.high.tolist()],
        "camera": None if camera is None else asdict(camera), "seeds": "apart", **_around(env),
        **({"revision": base.task.revision} if base.task.revision else {}),
        **(about or {}),
    }  # fmt: skip
    if _stays(path, header):
        return
    with EpisodeWriter(path, header) as writer:
        if _stays(path, header):  # somebody else finished it while we waited
            return
        if env.has_wrapper_attr("skip_episodes"):  # a Curriculum, however deep
            env.get_wrapper_attr("skip_episodes")(writer.episodes_done)  # played before this call
        block: list[dict[str, np.ndarray]] = []
        for episode in range(writer.episodes_done, episodes):
            observation, info = env.reset(seed=_seed_of(header, episode))
            if sorted(base.variables()) != names:
                raise Problem(
                    f"episode {episode} of {path} has other objects than the first; record each scene in a file of its own"
                )
            first = _row(base, observation, info, names, camera)
            act = controller.make(base, episode) if isinstance(controller, EachEpisode) else controller
            block.append(_columns(base, first, play(env, act, observation), names, camera))
            if len(block) == _BLOCK or episode == episodes - 1:
                together = {key: np.concatenate([columns[key] for columns in block]) for key in block[0]}
                writer.append(together, np.array([len(columns["action"]) for columns in block]))
                block = []
        writer.finish()


def _stays(path: str | Path, header: dict) -> bool:
    """Whether a file is finished. Raises Problem where it has another header."""
    if not Path(path).exists():
        return False
    before = EpisodeFile(path).header
    header = {key: value for key, value in header.items() if key in before or key not in ("seeds", "wrapper_settings")}
    if isinstance(theirs := before.get("settings"), dict) and "cameras" not in theirs:  # files of before name none
        header["settings"] = {key: value for key, value in header["settings"].items() if key not in ("cameras", "renderer")}
    EpisodeFile(path, header, f"record into another file, or remove it: rm {shlex.quote(str(path))}")
    return True


def _settings(base) -> dict:
    """All that decides what a step gives; where it gives pictures, what draws them, too."""
    return base.settings | ({"renderer": base.drawn_by} if "cameras" in base.settings else {})


def _seed_of(header: dict, episode: int) -> int:
    """Of an episode's reset. In files of before episode 1 of one seed was episode 0 of the next."""
    if "seeds" not in header:
        return header["seed"] + 1 + episode
    return int(np.random.SeedSequence([header["seed"], 1 + episode]).generate_state(1)[0])


def replay(path: str | Path, episode: int, env=None, camera: Camera | None = None) -> dict[str, np.ndarray]:
    """Replays a recorded episode from its seed and its actions.  -> the columns of `record`, (T + 1, ...) each, equal to the
    recording bit for bit; pixels where a camera is given.

    env: made and wrapped as for the recording. The header names wrappers, a Curriculum say, but cannot make them, nor a task or
    observations of the user's own; without those the env is made of the header. A Problem where variables or rewards are others
    than those recorded, in any row, or pictures whose cameras the header does not name.
    """
    file = EpisodeFile(path, allowed={"action": Column((9,), "f")})
    if not isinstance(episode, int | np.integer) or not 0 <= episode < len(file.ep_len):
        raise Problem(f"{path} has episodes 0 to {len(file.ep_len) - 1}, got {episode!r}")
    header, rows = file.header, slice(file.ep_offset[episode], file.ep_offset[episode] + file.ep_len[episode])
    if "wrappers" not in header:
        raise Problem(f"the header of {path} does not name what was around the environment; record it again with this version")
    if other := [key for key, kind in _HEADER.items() if not isinstance(header.get(key), kind)]:
        raise Problem(f"the header of {path} has no {other[0]} as record writes them; record it again with this version")
    recorded = {key: column[rows] for key, column in file.read("action", "variables", "reward", "observation").items()}
    played = env if env is not None else _made(path, header)
    try:
        return _played(played, path, episode, recorded, header, camera)
    finally:
        if env is None:
            played.close()


def _made(path: str | Path, header: dict):
    """An environment of the header alone."""
    settings = {**header["settings"]}
    extras = settings.pop("extra_observations", [])
    own = [*header["wrappers"], *(extras if isinstance(extras, list) else ["other extra_observations"])]
    own += [] if header["task"] in TASKS else [header["task"]]
    if own:
        theirs = ", ".join(map(str, own))
        raise Problem(f"{path} was recorded with {theirs}, which its header cannot make; give replay the same env=")
    try:
        if "cameras" in settings:
            settings["cameras"] = tuple(map(Camera.of, settings["cameras"]))
        return TriFingerEnv(header["task"], **settings)
    except Problem as problem:
        if settings.get("renderer") != "moderngl":
            raise
        raise Problem(f"{path} was drawn by OpenGL, which is not available here; expected the renderer that drew it; install "
                      f"libegl1 and libgl1-mesa-dri") from problem  # fmt: skip
    except (TypeError, ValueError, KeyError, AttributeError) as error:  # of another version, or crafted
        raise Problem(f"{path} was recorded with settings that make no environment here ({error}); record it again") from error


def _played(env, path, episode: int, recorded: dict, header: dict, camera: Camera | None) -> dict:
    """recorded: the columns of the episode."""
    base = env.unwrapped
    own = {"task": base.task.name, **_settings(base), "wrapper_settings": None, **_around(env)}
    theirs = {"task": header["task"], **header["settings"], "wrappers": header["wrappers"]}
    if "wrapper_settings" in header:
        theirs["wrapper_settings"] = header["wrapper_settings"]
    if other := [key for key in theirs if own.get(key) != theirs[key]]:
        key = other[0]
        raise Problem(f"{path} was recorded with {key}={theirs[key]}, the env has {own.get(key)}; make it as it was")
    if (then := header.get("revision", 0)) != base.task.revision:
        raise Problem(f"{path} holds revision {then} of {base.task.name}, here it is {base.task.revision}; record it again")
    if env.has_wrapper_attr("skip_episodes"):
        env.get_wrapper_attr("skip_episodes")(episode - 1 - env.get_wrapper_attr("episode"))
    observation, info = env.reset(seed=_seed_of(header, episode))
    names = sorted(base.variables())
    first = _row(base, observation, info, names, camera)
    if _entries(base, names) != header["variables"] or not np.array_equal(first["variables"], recorded["variables"][0]):
        raise Problem(
            f"episode {episode} of {path} began in another scene than here (set_start, or other actors); make the env as for it"
        )
    if "cameras" in base.settings and "cameras" not in theirs and not np.array_equal(observation, recorded["observation"][0]):
        raise Problem(f"{path} shows other pictures than here, and its header does not name their cameras and renderer; give "
                      f"replay the same env=")  # fmt: skip
    again = iter(recorded["action"][:-1])
    steps = islice(play(env, lambda _: next(again), observation), len(recorded["action"]) - 1)
    columns = _columns(base, first, steps, names, camera)
    if other := (_difference(header["variables"], recorded["variables"], columns["variables"])
                 or _difference(["reward"], recorded["reward"][:, None], columns["reward"][:, None])):  # fmt: skip
        raise Problem(f"episode {episode} of {path} goes otherwise here: {other}; make the env and its wrappers as for it, or "
                      f"record it again, as another PyBullet or processor gives other digits")  # fmt: skip
    return columns


def _difference(entries: list[str], then: np.ndarray, now: np.ndarray) -> str | None:
    """The first number in which variables (rows, entries) are not those recorded, in words; None where all are equal."""
    if len(then) != len(now):
        return f"it has {len(now)} rows, recorded were {len(then)}"
    if np.array_equal(then, now):
        return None
    row, entry = np.argwhere(then != now)[0]
    return f"{entries[entry]} is {now[row, entry]} in row {row}, recorded was {then[row, entry]}"


def _columns(base, first: dict, steps: Iterable[Step], names: list[str], camera: Camera | None) -> dict[str, np.ndarray]:
    """(T + 1, ...) each.  first: the row before any action; steps: T of them, played one by one."""
    rows = [first]
    for step in steps:
        rows[-1] |= {"action": step.action, "reward": np.float64(step.reward)}
        rows.append(_row(base, step.observation, step.info, names, camera))
    return {key: np.stack([row[key] for row in rows]) for key in rows[0]}


def _around(env) -> dict[str, list]:
    """Class names of what is around the environment, from outside; Gymnasium's own checks of order and spaces aside. Beside
    them the `own_settings` of those that have some, where any has."""
    names, settings = [], []
    while env is not env.unwrapped:
        if type(env).__name__ not in ("OrderEnforcing", "PassiveEnvChecker"):
            names.append(type(env).__name__)
            settings.append(vars(env).get("own_settings", {}))
        env = env.env
    return {"wrappers": names} | ({"wrapper_settings": settings} if any(settings) else {})


def _entries(base, names: list[str]) -> list[str]:
    """'tool_block/size/0' for every number of every variable."""
    sizes = {name: base.value(name).size for name in names}
    return [f"{name}/{i}" if size > 1 else name for name, size in sizes.items() for i in range(size)]


def _row(base, observation: np.ndarray, info: dict, names: list[str], camera: Camera | None) -> dict[str, np.ndarray]:
    row = {
        "observation": observation, "action": np.zeros(9), "reward": np.float64(0),
        "fractional_success": info["fractional_success"],
        "variables": np.concatenate([base.value(name).ravel() for name in names]),
    }  # fmt: skip
    return row if camera is None else row | {"pixels": base.picture(camera)}


def to_minari(path: str | Path, dataset_id: str):
    """A recorded file as a Minari dataset, kept where Minari keeps its own.  -> the dataset"""
    if find_spec("minari") is None:
        raise Problem("Minari is not installed; install it with: pip install 'minari[hdf5]'")
    import minari
    from minari.data_collector import EpisodeBuffer

    file = EpisodeFile(path)
    columns = file.read("observation", "action", "reward", "variables")
    buffers = []
    for i, (start, length) in enumerate(zip(file.ep_offset, file.ep_len)):
        rows, steps = slice(start, start + length), slice(start, start + length - 1)
        ends = np.zeros(length - 1, bool)
        over = ends.copy()
        over[-1] = True
        buffers.append(EpisodeBuffer(
            id=i, observations=columns["observation"][rows], actions=columns["action"][steps].astype(np.float32),
            rewards=columns["reward"][steps], terminations=ends, truncations=over,
            infos={"variables": columns["variables"][rows]},
        ))  # fmt: skip
    observations = columns["observation"]
    low, high = (0, 255) if observations.dtype == np.uint8 else (-np.inf, np.inf)
    return minari.create_dataset_from_buffers(
        dataset_id, buffer=buffers, observation_space=Box(low, high, observations.shape[1:], observations.dtype),
        action_space=Box(*(np.array(end, np.float32) for end in file.header["action_bounds"]), dtype=np.float32),
        description=f"{file.header['task']}; infos: {len(file.header['variables'])} variables",
    )  # fmt: skip
