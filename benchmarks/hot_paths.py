"""How fast the hot paths are on this machine, beside the floors asked of them: prints JSON.

    python benchmarks/hot_paths.py
    python benchmarks/hot_paths.py ranking training   only some of: worlds, collect, ranking, training, planning
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder

import json
import subprocess
import tempfile
import time

import numpy as np
import torch

from benchmarks.floors import helped, report
from envs.chemistry import ChemistryWorld
from envs.collect import collect
from envs.physics import PhysicsWorld, push

THREADS = 2
FLOORS = {
    "transitions_per_s": (">=", 500_000), "frames_per_s": (">=", 50_000), "interventions_per_s_full5": (">=", 200_000),
    "collect_s": ("<=", 15), "collect_mb": ("<=", 30), "ranking_s": ("<=", 3), "ranking_extra_mb": ("<=", 1024),
    "medium": (">=", 600), "small": (">=", 8000), "planning_s_edge": ("<=", 20),
}  # fmt: skip
STEPS, WARM_UP = 24, 4


def seconds(job, repeat: int = 3) -> float:
    """The best of a few runs: a shared machine only ever adds time."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return min(times)


def worlds() -> dict:
    """State transitions and rendered frames per second, in one process without threads."""
    world, rng = PhysicsWorld(), np.random.default_rng(0)
    boards = world.reset(10_000, rng)
    action = rng.integers(0, world.spec.action.size, len(boards))
    found = {
        "transitions_per_s": len(boards) / seconds(lambda: push(boards.positions, boards.weights, action), 10),
        "frames_per_s": len(boards) / seconds(lambda: world.render(boards), 5),
    }
    for graph in ("chain5", "full5", "full10"):
        found[f"interventions_per_s_{graph}"] = _interventions_per_s(graph)
    return found


def _interventions_per_s(graph: str) -> float:
    """Batched do() with its effects, chance drawn anew each time."""
    world, rng = ChemistryWorld(num_objects=10 if graph.endswith("10") else 5, graph=graph), np.random.default_rng(0)
    boards = world.reset(10_000, rng)
    target, color = np.divmod(rng.integers(0, world.spec.action.size, len(boards)), world.num_colors)
    return len(boards) / seconds(lambda: world.model.intervene(boards.colors, target, color, rng), 10)


def _environment(episodes: int) -> dict:
    split = {"episodes": episodes, "length": 100, "seed": 1, "mode": "train"}
    return {"name": "physics5", "drop_invalid": True, "splits": {"train": split}}


def collecting() -> dict:
    """The training file of 1000 episodes of 100 actions."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        file = collect(_environment(1000), PhysicsWorld(), "train", folder, quiet=True)
        return {"collect_s": time.perf_counter() - start, "collect_mb": file.path.stat().st_size / 1e6}


def ranking() -> dict:
    """10,000 x 10,000 at D = 640, in a fresh process, so that its peak memory is its own; and what else may come."""
    cases = {}
    for kind in ("random", "near", "constant"):
        out = subprocess.run([sys.executable, __file__, "--ranking", kind], capture_output=True, text=True, check=True)
        cases[kind] = json.loads(out.stdout)
    return {**cases["random"], **{f"{kind}_predictor": cases[kind] for kind in ("near", "constant")}}


def _rank_once(kind: str) -> dict:
    from eval.ranking import hits_at_k, ranks
    from train.malloc import peak_bytes

    torch.set_num_threads(THREADS)
    generator = torch.Generator().manual_seed(0)
    target = torch.randn(10_000, 640, generator=generator)
    predicted = {
        "random": torch.randn(10_000, 640, generator=generator),
        "near": target + 0.1 * torch.randn(10_000, 640, generator=generator),
        "constant": target.mean(0, keepdim=True).expand_as(target),
    }[kind]
    ranks(predicted[:64], target[:64])
    before = peak_bytes()
    start, cpu = time.perf_counter(), time.process_time()
    result = ranks(predicted, target)
    took, cpu = time.perf_counter() - start, time.process_time() - cpu  # cpu: of all threads, hardly moved by the load
    extra = (peak_bytes() - before) / 2**20
    return {"ranking_s": took, "ranking_cpu_s": cpu, "ranking_extra_mb": extra, "hits@1": hits_at_k(result)}


def _samples_per_s(model, objective, windows, bf16: bool) -> float:
    """Transitions trained on per second: gather, forward, backward, Adam. Median step, in passes over the batches."""
    model.configure_stage(objective, ["encoder", "transition"], 5e-4)
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), 5e-4, fused=True)
    times, samples = [], windows.windows_per_batch * len(windows.steps[1:])
    while len(times) < WARM_UP + STEPS:
        batches = iter(windows)
        while len(times) < WARM_UP + STEPS:
            start = time.perf_counter()
            batch = next(batches, None)
            if batch is None or len(batch.action) < windows.windows_per_batch:
                break
            with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                loss = sum(objective(model, batch).values())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            times.append(time.perf_counter() - start)
    return samples / float(np.median(times[WARM_UP:]))


def training() -> dict:
    """Modular as published with the hinge loss, and our default.

    Window 1 encodes two frames a sample, window 4 five frames for four samples.
    """
    from losses.contrastive import Contrastive
    from losses.infonce import InfoNCE
    from models.encoders import BoardMaps, SlotEncoder
    from models.transitions.modular import ModularTransition
    from models.world_model import WorldModel
    from train.datamodule import Windows
    from train.malloc import keep_freed_memory

    keep_freed_memory()  # as train/fit.py does
    torch.set_num_threads(THREADS)
    world, found = PhysicsWorld(), {}
    with tempfile.TemporaryDirectory() as folder:
        file = collect(_environment(60), world, "train", folder, quiet=True)
        cases = [("medium", 128, 512, w, Contrastive()) for w in (1, 4)]
        cases += [("small", 128, 1024, w, Contrastive()) for w in (1, 4)] + [("patch", 16, 512, 4, InfoNCE())]
        for size, width, batch_size, window, objective in cases:
            for bf16 in (False, True):
                torch.manual_seed(0)
                encoder = SlotEncoder(BoardMaps(5, size=size), width, hidden=256 if size == "patch" else 512)
                multiplier = 4 if size == "patch" else 1  # our default; the paper's
                model = WorldModel(encoder, ModularTransition(5, 25, width, multiplier=multiplier))
                windows = Windows(file, world.spec, window, batch_size, seed=0, shuffle=True)
                loss = type(objective).__name__.lower()
                name = f"{size} width {width} batch {batch_size} window {window} {loss} {'bf16' if bf16 else 'float32'}"
                found[name] = _samples_per_s(model, objective, windows, bf16)
    best = {size: max(v for k, v in found.items() if k.startswith(size)) for size in ("medium", "small")}
    return {**best, "samples_per_s": found}


def planning() -> dict:
    """1000 episodes of 10 steps, 25 actions weighed at each: closed loop, learned distance. Any weights will do."""
    from eval.planning.latent_search import LatentSearch
    from eval.planning.tasks import draw_tasks, run_policy
    from models.encoders import BoardMaps, SlotEncoder
    from models.goal_distance import SiameseDistance
    from models.transitions.edge import EdgeTransition
    from models.transitions.gnn import GNNTransition
    from models.transitions.modular import ModularTransition
    from models.world_model import WorldModel

    torch.set_num_threads(THREADS)
    world, found = PhysicsWorld(), {}
    tasks = draw_tasks(world, 1000, 10, seed=0)
    cells = {"trunk": BoardMaps(5, size="patch"), "hidden": 256}
    for name, width, encoder, transition in (
        ("edge", 16, cells, EdgeTransition(5, 25, 16)),
        ("modular", 16, cells, ModularTransition(5, 25, 16, multiplier=4)),
        ("gnn", 32, {"trunk": BoardMaps(5, size="small")}, GNNTransition(5, 25, 32)),
    ):
        model = WorldModel(SlotEncoder(width=width, **encoder), transition).eval()
        policy = LatentSearch(model, world, SiameseDistance(5 * width).requires_grad_(False))
        start, cpu = time.perf_counter(), time.process_time()
        run_policy(world, tasks, policy, seed=0)
        found[f"planning_s_{name}"] = time.perf_counter() - start
        found[f"planning_cpu_s_{name}"] = time.process_time() - cpu  # of all threads, hardly moved by the load
    return found


PARTS = {"worlds": worlds, "collect": collecting, "ranking": ranking, "training": training, "planning": planning}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--ranking"]:
        print(json.dumps(_rank_once(sys.argv[2])))
    elif not helped(sys.argv[1:], __doc__):
        report(PARTS, FLOORS, sys.argv[1:], {"threads": THREADS, "torch": torch.__version__})
