"""How fast the TriFinger is on this machine, on one core, beside what is asked of it: prints JSON.

    python benchmarks/trifinger.py
    python benchmarks/trifinger.py steps memory        only some of: steps, resets, pictures, memory, protocols

steps: pushing, structured observation, dense reward; "random" = uniform actions (fingers hit one another, the floor and the
wall), "mild" = a tenth of them around the rest pose. Each the best of a few; a shared machine only ever adds time. The
reference's own figures, measured once on one core: 844 / 1,950 / 3,310 steps/s at skip 10 / 3 / 1, pixel 19, reset 32 ms,
checked intervention 3.5 ms.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder

import time

import numpy as np
import psutil
from omegaconf import OmegaConf

import configs
from benchmarks.floors import helped, report
from envs.trifinger import make
from envs.trifinger.interventions.actors import RandomActor
from envs.trifinger.robot.robot import REST
from envs.trifinger.tasks import TASKS
from eval.manipulation.episodes import play
from eval.manipulation.protocols import protocols_of

FLOORS = {
    "mesh_skip10_random": (">=", 1500), "mesh_skip1_random": (">=", 8000), "primitive_skip10_random": (">=", 3000),
    "reset_ms": ("<=", 1), "intervention_ms": ("<=", 0.5), "pixel_steps_per_s": (">=", 150), "memory_grown_mb": ("<=", 20),
    "protocol_crashes": ("<=", 0),
}  # fmt: skip
REPEAT = 5


def best(job, count: int) -> float:
    """Seconds of one of `count` calls, the fastest of a few rounds."""
    rounds = []
    for _ in range(REPEAT):
        start = time.perf_counter()
        for i in range(count):
            job(i)
        rounds.append((time.perf_counter() - start) / count)
    return min(rounds)


def steps() -> dict:
    """Environment steps per second."""
    rng, found = np.random.default_rng(0), {}
    noise = rng.uniform(-1, 1, (2000, 9))
    for collision in ("mesh", "primitive"):
        for skip in (10, 3, 1):
            env = make("pushing", collision=collision, skip_frame=skip, max_steps=10**6)
            low, high = env.variables()["joint_positions"].bounds
            rest = 2 * (REST - low) / (high - low) - 1
            for name, actions in (("random", noise), ("mild", rest + noise / 10)):
                env.reset(seed=0)
                count = 2000 // skip
                found[f"{collision}_skip{skip}_{name}"] = 1 / best(lambda i: env.step(actions[i]), count)
            env.close()
    return found


def resets() -> dict:
    """Milliseconds of a reset and of checked interventions."""
    env = make("pushing")
    env.reset(seed=0)
    places = np.random.default_rng(0).uniform([0.0, -3.0, 0.0325], [0.1, 3.0, 0.0325], (300, 3))
    found = {
        "reset_ms": 1e3 * best(lambda i: env.reset(), 300),
        "intervention_ms": 1e3 * best(lambda i: env.intervene({"tool_block": {"cylindrical_position": places[i]}}), 300),
        "intervention_mass_ms": 1e3 * best(lambda i: env.intervene({"tool_block": {"mass": 0.02 + 1e-4 * i}}), 300),
        "intervention_size_ms": 1e3 * best(lambda i: env.intervene({"tool_block": {"size": [0.06 + 1e-5 * i] * 3}}), 300),
    }
    env.close()
    return found


def pictures() -> dict:
    """Steps per second with three new 128 x 128 views each, the goal's kept."""
    found = {}
    for renderer in ("moderngl", "bullet"):
        env = make("pushing", observation="pixel", renderer=renderer, max_steps=10**6)
        env.reset(seed=0)
        key = "pixel_steps_per_s" if renderer == "moderngl" else "pixel_steps_per_s_bullet"
        found[key] = 1 / best(lambda i: env.step(np.zeros(9)), 30 if renderer == "moderngl" else 3)
        env.close()
    return found


def memory() -> dict:
    """Megabytes that 10,000 resets with an intervention each leave behind, after 500 to warm up."""
    env, rng, process = make("pushing"), np.random.default_rng(0), psutil.Process()
    env.reset(seed=0)
    actor, before, accepted = RandomActor("a"), 0, 0
    for i in range(10_500):
        if i == 500:
            before = process.memory_info().rss
        env.reset()
        accepted += env.intervene(actor.request(env, rng)).accepted
    env.close()
    return {"memory_grown_mb": (process.memory_info().rss - before) / 2**20, "memory_accepted": accepted / 10_500}


def protocols() -> dict:
    """Twenty episodes of random actions on every protocol of every task, a hundred steps each."""
    usual = OmegaConf.to_container(OmegaConf.load(Path(configs.__file__).parent / "protocols.yaml"))
    cfg = {**usual, "skip_frame": 10, "max_steps": 100, "mass_spread": 0.0}
    found, crashes = {}, []
    for task in TASKS:
        rates = {}
        for name in protocols_of(task):
            try:
                rows = play({**cfg, "task": task, "seed": 0}, name, list(range(20)))
                tries = sum(row["tries"] for row in rows)
                rates[name] = sum(row["accepted"] for row in rows) / tries if tries else 1.0
            except Exception as error:  # counted and told: that is what is measured
                crashes.append(f"{task} {name}: {error!r}")
        found[task] = rates
    return {"acceptance": found, "protocol_crashes": len(crashes), "crashes": crashes}


PARTS = {"steps": steps, "resets": resets, "pictures": pictures, "memory": memory, "protocols": protocols}


if __name__ == "__main__":
    if not helped(sys.argv[1:], __doc__):
        report(PARTS, FLOORS, sys.argv[1:], {})
