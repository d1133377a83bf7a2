"""The numbers that must not move by accident; run as a script, it records them anew beside the commit.

    python tests/golden/figures.py        only with a reason, which belongs into the commit's message
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORD = Path(__file__).with_name("figures.json")
if __name__ == "__main__":
    sys.path[0] = str(ROOT)

import torch

EPISODES = {"data": 4, "losses": 12}  # the first ones
COLUMNS = ("action", "goal", "pixels", "reward", "state")  # objects and events follow from these


def _build(*overrides: str, command: str = "fit"):
    import hydra

    import configs  # noqa: F401  what yaml alone cannot compute

    with hydra.initialize_config_dir(str(ROOT / "configs"), version_base="1.3"):
        return hydra.compose(command, list(overrides))


def _files(cfg, splits, folder: str, part: str):
    """The first episodes of each split."""
    from hydra.utils import instantiate
    from omegaconf import OmegaConf

    from envs.collect import collect

    env, world = OmegaConf.to_container(cfg.env, resolve=True), instantiate(cfg.env.world)
    for split in splits:
        env["splits"][split]["episodes"] = EPISODES[part]
        yield collect(env, world, split, folder, quiet=True)


def _recorded() -> list[str]:
    """The names of envs in the record; a new env is added by hand, and recorded with it."""
    return sorted({key.split("/")[1] for key in json.loads(RECORD.read_text())["data"]})


def _preset(name: str) -> list[str]:
    """How an env is composed: by its preset, or, where chemistry has none, by its arguments."""
    if (ROOT / "configs" / "env" / f"{name}.yaml").exists():
        return [f"env={name}"]
    _, graph, *more = name.split("_")
    return ["env=chemistry", f"env.graph={graph}", f"env.dynamic={'dynamic' in more}".lower(),
            f"env.delay={1 if 'delayed' in more else 'null'}"]  # fmt: skip


def data() -> dict[str, str]:
    """A digest of the columns that simulators, frames and actions are in: first episodes, every split of every recorded env."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for preset in _recorded():
            cfg = _build(*_preset(preset), command="collect")
            assert cfg.env.name == preset
            for split, file in zip(cfg.env.splits, _files(cfg, cfg.env.splits, folder, "data")):
                columns = file.read()
                digest = hashlib.sha256()
                for name in COLUMNS:
                    digest.update(name.encode() + columns[name].tobytes())
                found[f"data/{preset}/{split}"] = digest.hexdigest()[:16]
    return found


def losses() -> dict[str, float]:
    """Every term of every stage of every legal model + loss, freshly drawn with seed 0, on one batch of physics5."""
    from hydra.utils import instantiate

    from envs.problem import Problem
    from train.checks import check_parts
    from train.datamodule import Windows

    found = {}
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for model_name in ("ae", "edge", "gnn", "modular", "vae"):
            for loss in ("contrastive", "infonce", "nll"):
                cfg = _build(f"model={model_name}", f"loss={loss}")
                objectives = [instantiate(stage.objective) for stage in cfg.loss.stages]
                try:
                    check_parts(instantiate(cfg.model.module), objectives, cfg.spec)
                except Problem:
                    continue
                (file,), world = _files(cfg, ["train"], folder, "losses"), instantiate(cfg.env.world)
                for stage in cfg.loss.stages:
                    torch.manual_seed(0)
                    model = instantiate(cfg.model.module)
                    windows = Windows(file, world.spec, stage.window, 64, seed=0, shuffle=True)
                    terms = instantiate(stage.objective)(model.train(), next(iter(windows)))
                    for term, value in terms.items():
                        found[f"loss/{model_name}/{loss}/{stage.name}/{term}"] = float(value.detach())
    return found


def _process(*arguments: str, cwd: str) -> subprocess.CompletedProcess:
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "WANDB_MODE": "offline"}
    return subprocess.run([sys.executable, *arguments], cwd=cwd, env=one_thread, capture_output=True, text=True)


def training(start=_process) -> dict[str, float]:
    """What `fit` at smoke budget prints: seed 0, physics3, 20 episodes, one thread.

    start: the command in another process, or in this.
    """
    command = [
        str(ROOT / "train/fit.py"), "env=physics3", "trainer=smoke", "logger=csv", "name=golden",
        "env.splits.train.episodes=20", "env.splits.valid.episodes=10", "env.splits.test.episodes=200",
        "score.counterfactuals=20", "loss.epochs.smoke=3",
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        done = start(*command, cwd=folder)
        assert done.returncode == 0, done.stderr[-2000:]
        metrics = json.loads((Path(folder) / "runs/golden/results.json").read_text())["metrics"]
    names = [f"{part}/h{h}" for part in ("test/mrr", "test/cf_mrr", "floor/copy/mrr") for h in (1, 10)]
    return {f"training/{name}": metrics[name] for name in names}


PARTS = {"data": data, "losses": losses, "training": training}

if __name__ == "__main__":
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    record = {"command": "python tests/golden/figures.py", "after_commit": commit.strip(), "torch": torch.__version__}
    RECORD.write_text(json.dumps({**record, **{name: part() for name, part in PARTS.items()}}, indent=1) + "\n")
