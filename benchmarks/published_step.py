"""Training speed beside a plain step of the published protocol, both in one run, alternating: prints JSON.

    python benchmarks/published_step.py
    python benchmarks/published_step.py small      only some of: medium, small

The plain step is written the straightforward way: `Modular` with the hinge loss as published (width 128, hidden 512), torch's
own layers, a network for each slot, frames as floats, both frames of every transition encoded, each in a pass of its own,
single precision, Adam, batches of 512 transitions. Ours trains the same networks on the same data: with windows of one
transition (two encodings for each, like for like) and of four (five encodings for four), in single precision and with
bfloat16 between the layers that read and write latents.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder

import tempfile
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.floors import helped, report
from envs.collect import collect
from envs.physics import PhysicsWorld
from losses.contrastive import Contrastive
from models.encoders import BoardMaps, SlotEncoder
from models.transitions.modular import ModularTransition
from models.world_model import WorldModel
from train.datamodule import Windows
from train.malloc import keep_freed_memory

THREADS, BATCH, OBJECTS, ACTIONS, WIDTH, HIDDEN = 1, 512, 5, 25, 128, 512
ROUNDS, STEPS = {"medium": 4, "small": 6}, {"medium": 2, "small": 10}
FLOORS = {"medium_over_plain": (">=", 4.0), "small_over_plain": (">=", 2.5)}


def _perceptron(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.LayerNorm(hidden), nn.ReLU(),
        nn.Linear(hidden, outputs),
    )  # fmt: skip


class PlainTransition(nn.Module):
    """The next state of one slot from the states of all and the action."""

    def __init__(self) -> None:
        super().__init__()
        hidden = HIDDEN // OBJECTS
        self.action, self.state = nn.Linear(ACTIONS, hidden), nn.Linear(OBJECTS * WIDTH, hidden)
        self.net = nn.Sequential(
            nn.ReLU(), nn.Linear(2 * hidden, hidden), nn.LayerNorm(hidden), nn.ReLU(), nn.Linear(hidden, 2 * hidden),
            nn.LayerNorm(2 * hidden), nn.ReLU(), nn.Linear(2 * hidden, WIDTH),
        )  # fmt: skip

    def forward(self, flat: Tensor, action: Tensor) -> Tensor:
        return self.net(torch.cat([self.action(action), self.state(flat)], -1))


class PlainModel(nn.Module):
    """Extractor, perceptron of each slot, a transition network for each slot."""

    def __init__(self, size: str) -> None:
        super().__init__()
        channels = 32
        if size == "medium":
            layers, numbers = [nn.Conv2d(3, channels, 9, padding=4), nn.BatchNorm2d(channels), nn.LeakyReLU(),
                               nn.Conv2d(channels, OBJECTS, 5, stride=5), nn.Sigmoid()], 100  # fmt: skip
        else:
            layers, numbers = [nn.Conv2d(3, channels, 10, stride=10), nn.BatchNorm2d(channels), nn.ReLU(),
                               nn.Conv2d(channels, OBJECTS, 1), nn.Sigmoid()], 25  # fmt: skip
        self.maps, self.mlp = nn.Sequential(*layers), _perceptron(numbers, HIDDEN, WIDTH)
        self.transitions = nn.ModuleList(PlainTransition() for _ in range(OBJECTS))

    def encode(self, frames: Tensor) -> Tensor:
        return self.mlp(self.maps(frames).flatten(2))

    def step(self, state: Tensor, action: Tensor) -> Tensor:
        flat = state.flatten(1)
        return state + torch.stack([net(flat, action) for net in self.transitions], 1)


def plain_steps(file, size: str) -> Iterator[float]:
    """Seconds of each training step."""
    torch.manual_seed(0)
    model = PlainModel(size)
    optimizer = torch.optim.Adam(model.parameters(), 5e-4)
    columns = file.read("pixels", "action")
    pixels = torch.from_numpy(columns["pixels"]).permute(0, 3, 1, 2).contiguous()
    action = torch.nn.functional.one_hot(torch.from_numpy(columns["action"]), ACTIONS).float()
    starts = torch.cat([o + torch.arange(n - 1) for n, o in zip(file.ep_len.tolist(), file.ep_offset.tolist())])
    while True:
        start = time.perf_counter()
        rows = starts[torch.randint(len(starts), (BATCH,))]
        state, after = (model.encode(pixels[at].float() / 255) for at in (rows, rows + 1))
        predicted, negative = model.step(state, action[rows]), state[torch.randperm(BATCH)]
        energies = [2 * (a - b).pow(2).sum(-1).mean(-1) for a, b in ((predicted, after), (state, negative))]
        loss = energies[0].mean() + (1 - energies[1]).clamp(min=0).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield time.perf_counter() - start


def our_steps(file, world, size: str, window: int, bf16: bool) -> Iterator[float]:
    """Seconds of each training step, drawing the windows included."""
    torch.manual_seed(0)
    encoder = SlotEncoder(BoardMaps(OBJECTS, size=size), WIDTH, HIDDEN)
    model = WorldModel(encoder, ModularTransition(OBJECTS, ACTIONS, WIDTH, HIDDEN))
    objective = Contrastive()
    model.configure_stage(objective, ["encoder", "transition"], 5e-4)
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), 5e-4, fused=True)
    windows = Windows(file, world.spec, window, BATCH, seed=0, shuffle=True)
    while True:
        batches = iter(windows)
        for _ in range(len(windows) - 1):  # the last batch is smaller
            start = time.perf_counter()
            batch = next(batches)
            with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                loss = sum(objective(model, batch).values())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            yield time.perf_counter() - start


def _measure(size: str) -> Callable[[], dict]:
    def part() -> dict:
        keep_freed_memory()
        torch.set_num_threads(THREADS)
        world = PhysicsWorld()
        plan = {"episodes": 60, "length": 100, "seed": 1, "mode": "train"}
        with tempfile.TemporaryDirectory() as folder:
            env = {"name": "physics5", "drop_invalid": True, "splits": {"train": plan}}
            file = collect(env, world, "train", folder, quiet=True)
            steps = {"plain": plain_steps(file, size)} | {
                f"window {window} {'bf16' if bf16 else 'float32'}": our_steps(file, world, size, window, bf16)
                for window in (1, 4) for bf16 in (False, True)
            }  # fmt: skip
            times = {name: [] for name in steps}
            for round_ in range(ROUNDS[size] + 1):
                for name, step in steps.items():  # alternating, so that all meet the same load
                    took = [next(step) for _ in range(STEPS[size])]
                    times[name] += took if round_ else []  # the first round warms up
        speed = {name: BATCH / float(np.median(took)) for name, took in times.items()}
        ratios = {name: value / speed["plain"] for name, value in speed.items() if name != "plain"}
        return {f"{size}_over_plain": max(ratios.values()), size: {"samples_per_s": speed, "over_plain": ratios}}

    return part


PARTS = {size: _measure(size) for size in ("medium", "small")}

if __name__ == "__main__":
    if not helped(sys.argv[1:], __doc__):
        report(PARTS, FLOORS, sys.argv[1:], {"threads": THREADS, "torch": torch.__version__, "batch": BATCH})
