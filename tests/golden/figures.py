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

EPISODES = 12
COLUMNS = ("action", "goal", "pixels", "reward", "state")  # objects and events follow from these


def _build(*overrides: str):
    import hydra

    with hydra.initialize_config_dir(str(ROOT / "configs"), version_base="1.3"):
        return hydra.compose("fit", list(overrides))


def _file(cfg, split: str, folder: str):
    from hydra.utils import instantiate
    from omegaconf import OmegaConf

    from envs.collect import collect

    env = OmegaConf.to_container(cfg.env, resolve=True)
    env["splits"][split]["episodes"] = EPISODES
    return collect(env, instantiate(cfg.env.world), split, folder, quiet=True)


def data() -> dict[str, str]:
    """A digest of the columns that simulators, frames and actions are in, of the first episodes of every split of every env."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for preset in sorted(p.stem for p in (ROOT / "configs" / "env").glob("[!_]*.yaml") if "trifinger" not in p.stem):
            cfg = _build(f"env={preset}")
            for split in cfg.env.splits:
                columns = _file(cfg, split, folder).read()
                digest = hashlib.sha256()
                for name in COLUMNS:
                    digest.update(name.encode() + columns[name].tobytes())
                found[f"data/{preset}/{split}"] = digest.hexdigest()[:16]
    return found


def losses() -> dict[str, float]:
    """Every term of every stage of every legal model + loss, freshly drawn with seed 0, on one batch of physics5."""
    from hydra.utils import instantiate

    from train.datamodule import Windows
    from train.fit import _check_pair

    found = {}
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for model_name in ("ae", "edge", "gnn", "modular", "vae"):
            for loss in ("contrastive", "infonce", "nll"):
                cfg = _build(f"model={model_name}", f"loss={loss}")
                try:
                    _check_pair(cfg)
                except Exception:
                    continue
                file, world = _file(cfg, "train", folder), instantiate(cfg.env.world)
                for stage in cfg.loss.stages:
                    torch.manual_seed(0)
                    model = instantiate(cfg.model.module)
                    windows = Windows(file, world.spec, stage.window, 64, seed=0, shuffle=True)
                    terms = instantiate(stage.objective)(model.train(), next(iter(windows)))
                    for term, value in terms.items():
                        found[f"loss/{model_name}/{loss}/{stage.name}/{term}"] = float(value.detach())
    return found


def training() -> dict[str, float]:
    """What `fit` at smoke budget prints: seed 0, physics3, 20 episodes, one thread."""
    command = [
        sys.executable, str(ROOT / "train/fit.py"), "env=physics3", "trainer=smoke", "logger=csv", "name=golden",
        "env.splits.train.episodes=20", "env.splits.valid.episodes=10", "env.splits.test.episodes=200",
        "score.counterfactuals=20", "loss.epochs.smoke=3",
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "WANDB_MODE": "offline"}
        subprocess.run(command, cwd=folder, env=one_thread, check=True, capture_output=True)
        metrics = json.loads((Path(folder) / "runs/golden/results.json").read_text())["metrics"]
    names = [f"{part}/h{h}" for part in ("test/mrr", "test/cf_mrr", "floor/copy/mrr") for h in (1, 10)]
    return {f"training/{name}": metrics[name] for name in names}


PARTS = {"data": data, "losses": losses, "training": training}

if __name__ == "__main__":
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    record = {"command": "python tests/golden/figures.py", "after_commit": commit.strip(), "torch": torch.__version__}
    RECORD.write_text(json.dumps({**record, **{name: part() for name, part in PARTS.items()}}, indent=1) + "\n")
