"""Episodes of an expert, and of a policy beside which the expert says what it would do:
files of 25, which a run is resumed from.
"""

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from envs.trifinger import make
from envs.trifinger.experts import expert
from envs.trifinger.interventions.curriculum import intervene
from envs.whole_files import write_whole
from envs.workers import die_with_parent
from eval.manipulation.controllers import load_controller
from eval.manipulation.protocols import actor, made_with

CHUNK = 25  # episodes of a file
_STRETCH = 10  # steps for which one of the two acts
_PUSHED, _HELD = (0.0, 0.0, 0.004, 0.008), 8  # noise that is added, in units of an action; steps that it stays


def demonstrate(cfg: dict, path: Path, seed: list[int], policy: str | None) -> None:
    """Play 25 episodes and write them: observations (25, T, n), actions of the expert (25, T, 9), float32; fraction (25,), the
    fractional success at the end.

    policy: of an archive that acts in stretches drawn by a coin. Without one the expert acts, pushed off its way a little in
    every second episode, and says the way back.
    """
    env = make(cfg["task"], reward="none", space=None, **made_with(cfg))
    starts, columns = cfg["cloning"]["starts"], {"observations": [], "actions": [], "fraction": []}
    for episode in range(CHUNK):
        rng = np.random.default_rng([*seed, episode or CHUNK])  # a last 0 counts for nothing: starts that are scored
        env.reset(seed=int(rng.integers(2**31)))
        drawn = actor(starts[episode % len(starts)], cfg["task"])
        if drawn is not None:
            intervene(env, [drawn], rng)  # refused five times: the task's own start
        for name, values in _played(env, rng, policy).items():
            columns[name].append(values)
    env.close()
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.npz")
    np.savez(part, **{name: np.array(values, np.float32) for name, values in columns.items()})
    write_whole(path, part.read_bytes())
    part.unlink()


def _played(env, rng: np.random.Generator, policy: str | None) -> dict[str, np.ndarray]:
    says, observation = expert(env), env.observe()
    acts = says if policy is None else load_controller(policy, env, rng)
    size = rng.choice(_PUSHED) if policy is None else 0.0
    observations, actions, over, step, own, noise = [], [], False, 0, False, np.zeros(9)
    while not over:
        said = says(observation)
        observations.append(observation)
        actions.append(np.clip(said, -1, 1))
        if step % _STRETCH == 0:
            own = policy is not None and rng.random() < 0.5
        if step % _HELD == 0:
            noise = size * rng.normal(size=9) * (rng.random() < 0.5)
        observation, _, _, over, info = env.step(acts(observation) if own else np.clip(said + noise, -1, 1))
        step += 1
    return {"observations": observations, "actions": actions, "fraction": info["fractional_success"]}


def collect(cfg: dict, folder: Path, round: int, episodes: int, policy: Path | None) -> list[Path]:
    """Files of a round, those that are whole already and the others played now, by processes.  -> their paths"""
    paths = [folder / f"{round}-{part:03d}.npz" for part in range(-(-episodes // CHUNK))]
    missing = [(part, path) for part, path in enumerate(paths) if not _whole(path)]
    if missing:
        print(f"round {round}: {len(missing) * CHUNK} episodes to play", flush=True)
        with ProcessPoolExecutor(cfg["jobs"], initializer=die_with_parent) as pool:
            jobs = [
                pool.submit(demonstrate, cfg, path, [cfg["seed"], round, part], None if policy is None else str(policy))
                for part, path in missing
            ]
            for job in jobs:
                job.result()
    return paths


def _whole(path: Path) -> bool:
    try:
        with np.load(path) as file:
            return {"observations", "actions", "fraction"} <= set(file.files)
    except (OSError, ValueError, BadZipFile):
        return False


def read(paths: list[Path], least: float) -> tuple[np.ndarray, np.ndarray, float]:
    """-> observations (n, T, width), actions (n, T, 9) of the episodes that ended above `least`, and their share"""
    files = [np.load(path) for path in paths]
    good = np.concatenate([file["fraction"] for file in files]) > least
    observations, actions = (np.concatenate([file[name] for file in files])[good] for name in ("observations", "actions"))
    return observations, actions, float(good.mean())
