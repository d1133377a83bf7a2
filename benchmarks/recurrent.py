"""How fast models with memory train, beside the authors' way of doing it: prints JSON.

    python benchmarks/recurrent.py
    python benchmarks/recurrent.py lstm rim      only some of: lstm, rim, scoff, pairwise_lstm

The authors' way: batches of 5 whole episodes, a Python loop over time that encodes both frames of every step anew.
Ours: batches of windows, every frame encoded once, all steps of a window in one call (joint), and the stage that trains
memory on kept codes (memory). The same model, hinge loss where the encoder learns; forward, backward and Adam each.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder

import json
import os
import tempfile
import time

import hydra
import numpy as np
import torch
from hydra.utils import instantiate

import configs  # noqa: F401  what yaml alone cannot compute
from benchmarks.floors import helped
from envs.collect import collect
from envs.physics import PhysicsWorld
from losses.contrastive import Contrastive, energy
from losses.nll import LatentPrediction
from train.datamodule import EpisodeData, Windows
from train.malloc import keep_freed_memory

THREADS, LENGTH, MODELS = 1, 100, ("lstm", "rim", "scoff", "pairwise_lstm")
LARGE = 6400  # transitions, for cores whose many small steps want more windows at a time: loss.stages.1.batch_size=6400
FLOOR = 20  # times the authors' throughput


def one_episode_at_a_time(model, batch) -> torch.Tensor:
    """The hinge loss as the authors' recurrent training computes it: one step of five episodes after the other."""
    obs, memory, loss = batch.obs, None, 0.0
    for t, action in enumerate(batch.action.unbind(1)):
        state, after = model.encode(obs[:, t]), model.encode(obs[:, t + 1])
        predicted, memory = model.step(state, action, memory)
        negative = state[torch.randperm(len(state))]
        loss = loss + (energy(predicted, after) + (1 - energy(state, negative)).clamp(min=0)).mean()
    return loss / batch.action.shape[1]


def transitions_per_s(model, trains, loss, windows, batches: int, bf16: bool) -> float:
    """Median batch of a few, after one to warm up."""
    model.configure_stage(loss, trains, 5e-4)
    model.train()
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], 5e-4, fused=True)
    times = []
    for batch in [b for b in windows][: batches + 1]:
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            value = loss(model, batch)
        value = sum(value.values()) if isinstance(value, dict) else value
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        times.append((time.perf_counter() - start) / batch.action[..., 0].numel())
    return 1 / float(np.median(times[1:]))


def measure(name: str, file, world) -> dict:
    """Transitions per second of one model, all ways, and their ratios to the authors'."""
    with hydra.initialize_config_dir(str(Path(__file__).resolve().parents[1] / "configs"), version_base="1.3"):
        cfg = hydra.compose("fit", [f"model={name}", "loss=memory"])
    torch.manual_seed(0)
    model, window = instantiate(cfg.model.module), cfg.loss.memory_window
    data = EpisodeData(file, file, world.spec, 0)
    both, found = ["encoder", "transition"], {}
    theirs = Windows(file, world.spec, LENGTH, 5 * LENGTH, 0, True)
    found["authors, batches of 5 episodes"] = transitions_per_s(model, both, one_episode_at_a_time, theirs, 2, False)
    joint = Windows(file, world.spec, window, cfg.loss.stages[1].batch_size, 0, True)
    for bf16 in (False, True):
        found[f"joint, {'bf16' if bf16 else 'float32'}"] = transitions_per_s(model, both, Contrastive(), joint, 3, bf16)
    data.cut(window, cfg.loss.stages[1].batch_size)
    data.keep_latents(model)
    for bf16 in (False, True):
        speed = transitions_per_s(model, ["transition"], LatentPrediction(), data.train, 6, bf16)
        found[f"memory, {'bf16' if bf16 else 'float32'}"] = speed
    data.cut(window, LARGE)
    data.keep_latents(model)
    found[f"memory, bf16, batches of {LARGE}"] = transitions_per_s(
        model, ["transition"], LatentPrediction(), data.train, 3, True
    )
    slowest = found["authors, batches of 5 episodes"]
    times = {key: round(value / slowest, 1) for key, value in found.items()}
    return {
        "transitions_per_s": {key: round(value) for key, value in found.items()}, "times_the_authors": times,
        "floor": {"asked": f">= {FLOOR}",
                  "met": max(times["memory, bf16"], times[f"memory, bf16, batches of {LARGE}"]) >= FLOOR},
    }  # fmt: skip


def main(names: list[str]) -> None:
    unknown = sorted(set(names) - set(MODELS))
    if unknown:
        sys.exit(f"error: no model with memory {', '.join(unknown)}; known: {', '.join(MODELS)}")
    keep_freed_memory()  # as train/fit.py does
    torch.set_num_threads(THREADS)
    split = {"episodes": 300, "length": LENGTH, "seed": 1, "mode": "train"}
    env, world = {"name": "physics5", "drop_invalid": True, "splits": {"train": split}}, PhysicsWorld()
    with tempfile.TemporaryDirectory() as folder:
        file = collect(env, world, "train", folder, quiet=True)
        found = {name: measure(name, file, world) for name in names or MODELS}
    print(json.dumps({"threads": THREADS, "torch": torch.__version__, "load": os.getloadavg()[0], **found}, indent=2))


if __name__ == "__main__":
    if not helped(sys.argv[1:], __doc__):
        main(sys.argv[1:])
