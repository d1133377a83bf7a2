"""Training speed of every recipe beside another checkout of this repository, step by step in turn: prints JSON.

    git worktree add ../before d5519c6
    python benchmarks/paired_training.py ../before                      all recipes
    python benchmarks/paired_training.py ../before edge-infonce         only some of them

Each recipe runs in two processes that wait for one another, one thread each: three steps here, three steps there, so that what
else the machine does falls on both, in the precision that is fastest here. The other checkout needs this file as well. CPU time
of a transition, drawing and loading its windows included; a ratio of 1.05 is five percent slower than the other checkout.
Stages that prefer hard windows prefer those in which frames change.
"""

import sys
from pathlib import Path

if __name__ == "__main__":  # the repository in place of this folder; a worker's is the one it measures
    sys.path[0] = sys.argv[2] if sys.argv[1:2] == ["--worker"] else str(Path(__file__).resolve().parents[1])

import json
import os
import statistics
import subprocess
import tempfile
import time

ROOT = Path(__file__).resolve().parents[1]
BEFORE = {"categorical-inverse_action": "codes-inverse_action", "pairwise_lstm-memory": "witness-memory"}  # names of recipes
NARROW = ("model.size=small", "model.width=32", "model.multiplier=1", "model.module.encoder.hidden=512")
RECIPES = {
    **{f"{model}-{loss}": (f"model={model}", f"loss={loss}", "env=physics5")
       for model in ("ae", "gnn", "modular", "edge", "lstm") for loss in ("contrastive", "infonce", "nll")},
    "vae-nll": ("model=vae", "loss=nll", "env=physics5"),
    "modular-contrastive-small": ("model=modular", "loss=contrastive", "env=physics5", *NARROW),
    "edge-hinge": ("model=edge", "loss=hinge", "env=physics5"),
    "causal-infonce": ("model=causal", "loss=infonce", "env=physics5"),
    "pairwise_lstm-memory": ("model=pairwise_lstm", "loss=memory", "env=physics5"),
    "categorical-inverse_action": ("model=categorical", "loss=inverse_action", "env=chemistry_full5"),
    "edge-infonce-chemistry": ("model=edge", "loss=infonce", "env=chemistry_chain5"),
}  # fmt: skip
ROUNDS, WARM_UP, STEPS, EPISODES = 10, 2, 3, 60


def worker(recipe: str) -> None:
    """For every line it reads: a few steps of each stage of the recipe, and the CPU seconds of a transition in the fastest."""
    import hydra
    import torch
    from hydra.utils import instantiate
    from omegaconf import OmegaConf

    import configs  # noqa: F401  what yaml alone cannot compute
    from envs.collect import collect
    from train.datamodule import Windows
    from train.malloc import keep_freed_memory

    keep_freed_memory()
    torch.set_num_threads(1)
    with hydra.initialize_config_dir(f"{sys.path[0]}/configs", version_base="1.3"):
        cfg = hydra.compose("fit", [*RECIPES[recipe], "trainer=quick"])
    env = OmegaConf.to_container(cfg.env, resolve=True)
    env["splits"]["train"]["episodes"] = EPISODES
    world = instantiate(cfg.env.world)
    with tempfile.TemporaryDirectory() as folder:
        file = collect(env, world, "train", folder, quiet=True)
        stages = {stage.name: _steps(cfg, stage, Windows(file, world.spec, stage.window, stage.batch_size, 0, True))
                  for stage in cfg.loss.stages}  # fmt: skip
        for _ in sys.stdin:
            print(json.dumps({name: min(next(steps) for _ in range(STEPS)) for name, steps in stages.items()}), flush=True)


def _steps(cfg, stage, windows):
    """CPU seconds of a transition in each training step."""
    import torch
    from hydra.utils import instantiate

    from models.native_precision import MIXED, fast_precision

    torch.manual_seed(0)
    model, objective = instantiate(cfg.model.module), instantiate(stage.objective)
    model.configure_stage(objective, list(stage.trains), stage.learning_rate)
    model.train()
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(learned, stage.learning_rate, fused=True)
    if stage.hard_share:
        changes = (windows.obs_id[1:] != windows.obs_id[:-1]).float().unfold(0, stage.window, 1)[windows.starts].mean(1)
        windows.chances = (1 - stage.hard_share) / len(changes) + stage.hard_share * changes / changes.sum()
    if getattr(objective, "encoder_is_fixed", False):
        with torch.no_grad():
            model.eval()
            parts = torch.arange(len(windows.obs)).split(512)
            windows.latent = torch.cat([model.encode(windows.frames(part)).float() for part in parts])
            model.train()
    while True:
        batches = iter(windows)
        for _ in range(max(1, len(windows) - 1)):  # all but the last, which may be smaller
            start = time.process_time()
            batch = next(batches)
            with torch.autocast("cpu", torch.bfloat16, enabled=fast_precision("cpu") == MIXED):
                loss = sum(objective(model, batch).values())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            yield (time.process_time() - start) / (len(batch.action) * stage.window)


def _script(root: Path, recipe: str) -> list[str]:
    """The worker of a checkout: its own, which knows its own names."""
    own = root / "benchmarks" / "paired_training.py"
    known = f'"{recipe}"' in own.read_text() or recipe not in BEFORE
    return [str(own), "--worker", str(root), recipe if known else BEFORE[recipe]]


def pair(recipe: str, other: Path) -> dict:
    """Stage -> microseconds of a transition there and here, and their ratio: the median of the rounds' own ratios."""
    workers = [subprocess.Popen([sys.executable, *_script(root, recipe)], text=True, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(root)})
            for root in (other, ROOT)]  # fmt: skip
    times: list[list[dict]] = [[], []]
    try:
        for turn in range(ROUNDS + WARM_UP):
            for which in (0, 1) if turn % 2 == 0 else (1, 0):
                workers[which].stdin.write("\n")
                workers[which].stdin.flush()
                line = workers[which].stdout.readline()
                if not line:
                    sys.exit(f"error: {recipe} cannot be trained in {(other, ROOT)[which]}")
                times[which].append(json.loads(line))
    finally:
        for process in workers:
            process.kill()
            process.communicate()
    names = list(times[1][0])  # stages stand in one order; their names may have changed
    there, here = ([list(one.values()) for one in rounds[WARM_UP:]] for rounds in times)
    return {
        name: {
            "there_us": 1e6 * statistics.median(one[stage] for one in there),
            "here_us": 1e6 * statistics.median(one[stage] for one in here),
            "ratio": statistics.median(h[stage] / t[stage] for t, h in zip(there, here)),
        }
        for stage, name in enumerate(names)
    }


def main(words: list[str]) -> None:
    """The command."""
    from benchmarks.floors import helped, report, revision

    if helped(words, __doc__):
        return
    if not words or not (Path(words[0]) / "benchmarks" / "paired_training.py").exists():
        sys.exit("error: the other checkout is named first: python benchmarks/paired_training.py ../before")
    other, names = Path(words[0]).resolve(), words[1:]
    parts = {name: lambda name=name: {name: pair(name, other)} for name in RECIPES}
    revisions = {where: revision(root) for where, root in (("there", other), ("here", ROOT))}
    report(parts, {}, names, {"rounds": ROUNDS, "steps": STEPS, **revisions})


if __name__ == "__main__":
    worker(sys.argv[3]) if sys.argv[1:2] == ["--worker"] else main(sys.argv[1:])
