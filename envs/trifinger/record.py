"""Records episodes: observations, actions, rewards, pictures and every variable, into the project's episode file or for Minari.

    record(make("pushing"), policy, "pushing.h5", episodes=100, seed=0, camera=VIEWS[0].sized(64, 64))
    to_minari("pushing.h5", "causalwm/pushing-v0")

Rows of an episode of T actions: T + 1 (see `envs.episodes`); the last row's action and reward are padding.
"""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from gymnasium.spaces import Box

from envs.episodes import EpisodeFile, EpisodeWriter
from envs.problem import Problem
from envs.trifinger.cameras import Camera


def record(
    env,
    policy: Callable[[np.ndarray], np.ndarray],
    path: str | Path,
    episodes: int,
    seed: int = 0,
    camera: Camera | None = None,
) -> None:
    """policy: observation -> action. Columns: observation, action, reward, fractional_success, variables, and pixels where a
    camera is given. The header names every entry of `variables` and `observation`. Killed, the same call goes on.

    env may be wrapped (a Curriculum that begins at its first episode, say); the number of its objects must stay the same over
    all episodes.
    """
    base = env.unwrapped
    if not isinstance(env.observation_space, Box):
        raise Problem(f"observations that are recorded are arrays; got {type(env.observation_space).__name__}, unwrap the env")
    base.reset(seed=seed)  # of the base, since to a Curriculum a reset is an episode
    names = sorted(base.variables())
    header = {
        "task": base.task.name, "settings": base.settings, "seed": seed, "episodes": episodes,
        "variables": _entries(base, names), "observation": base.entries() if env.observation_space.dtype == float else None,
        "action_bounds": [env.action_space.low.tolist(), env.action_space.high.tolist()],
        "camera": None if camera is None else list(camera.eye),
    }  # fmt: skip
    with EpisodeWriter(path, header) as writer:
        if env.has_wrapper_attr("skip_episodes"):  # a Curriculum, however deep
            env.get_wrapper_attr("skip_episodes")(writer.blocks_done)  # played before this call
        for episode in range(writer.blocks_done, episodes):
            observation, info = env.reset(seed=seed + 1 + episode)
            if sorted(base.variables()) != names:
                raise Problem(
                    f"episode {episode} of {path} has other objects than the first; record each scene in a file of its own"
                )
            rows, over = [_row(base, observation, info, names, camera)], False
            while not over:
                action = np.asarray(policy(observation), float)
                observation, reward, terminated, truncated, info = env.step(action)
                rows[-1] |= {"action": action, "reward": np.float64(reward)}
                rows.append(_row(base, observation, info, names, camera))
                over = terminated or truncated
            columns = {key: np.stack([row[key] for row in rows]) for key in rows[0]}
            writer.append(columns, np.array([len(rows)]))
        writer.finish()


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
