"""Train a world model: collect if missing, fit, score, report.

    python train/fit.py model=modular env=physics5
    python train/fit.py model=gnn loss=nll env=physics3 seed=1
    python train/fit.py experiment=paper_physics model=modular env=physics5
    python train/fit.py resume=runs/modular-infonce-physics5-quick-s0

Writes runs/<name>/ with config.yaml, checkpoints/, metrics.csv, results.json and report.html.
"""

import sys
from pathlib import Path

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder

import shutil
import time

from envs.problem import Problem


def prepare(overrides: list[str]) -> list[str]:
    """trainer=gpu where a GPU is present and nothing else was asked for."""
    import torch

    asked = any(o.split("=")[0] in ("trainer", "experiment") for o in overrides)
    return overrides if asked or not torch.cuda.is_available() else [*overrides, "trainer=gpu"]


def _open_folder(cfg):
    """The run folder and its frozen config: new, taken up again, or refused."""
    from omegaconf import OmegaConf

    from eval.runs import config_hash, freeze, load_config

    if cfg.resume:
        return Path(cfg.resume), load_config(cfg.resume)
    folder, frozen = Path(cfg.runs_dir) / cfg.name, freeze(cfg)
    if cfg.overwrite and folder.exists():
        shutil.rmtree(folder)
    if (folder / "config.yaml").exists():
        before = load_config(folder)
        if config_hash(before) != config_hash(frozen):
            raise Problem(f"{folder} holds a run with another configuration; choose name=... or set overwrite=true")
        print(f"taking up {folder}")
        return folder, before
    try:
        (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
        OmegaConf.save(frozen, folder / "config.yaml")
    except OSError as error:
        raise Problem(f"cannot write {folder}: {error.strerror}; choose another runs_dir=") from error
    return folder, frozen


def _check_pair(cfg) -> None:
    """Pairs that make no sense stop here with a sentence."""
    if cfg.model.name == "vae" and cfg.loss.name != "nll":
        raise Problem(f"model=vae has a likelihood and no contrastive form; use loss=nll (got loss={cfg.loss.name})")
    if max(cfg.score.horizons) > cfg.env.splits[cfg.score.split].length:
        raise Problem(
            f"score.horizons={list(cfg.score.horizons)} reach beyond the episodes of split '{cfg.score.split}' "
            f"({cfg.env.splits[cfg.score.split].length} actions); shorten the horizons or set "
            f"env.splits.{cfg.score.split}.length="
        )


def run(cfg) -> dict:
    """The command; returns what results.json holds."""
    from hydra.utils import instantiate
    from omegaconf import OmegaConf
    from pytorch_lightning import seed_everything

    from envs.collect import collect
    from eval.report import write_report
    from eval.score import print_scores, score_run
    from train.datamodule import EpisodeData
    from train.memory import keep_freed_memory
    from train.stages import train_stages, wandb_logger

    keep_freed_memory()
    _check_pair(cfg)
    folder, cfg = _open_folder(cfg)
    world = instantiate(cfg.env.world)
    if (world.spec.num_objects, world.spec.action_size) != (cfg.env.num_objects, cfg.env.action_size):
        raise Problem(
            f"env '{cfg.env.name}' says {cfg.env.num_objects} objects and {cfg.env.action_size} actions, its world has "
            f"{world.spec.num_objects} and {world.spec.action_size}; mend configs/env/{cfg.env.name}.yaml"
        )
    env = OmegaConf.to_container(cfg.env)
    start = time.monotonic()
    files = {split: collect(env, world, split, cfg.data_dir) for split in ("train", "valid", cfg.score.split)}
    timing = {"data_s": time.monotonic() - start}

    start = time.monotonic()
    seed_everything(cfg.seed, workers=False, verbose=False)
    model = instantiate(cfg.model.module)
    logger = wandb_logger(cfg, folder)
    train_stages(cfg, model, EpisodeData(files["train"], files["valid"], world.spec, cfg.seed), folder, logger)
    timing["fit_s"] = time.monotonic() - start
    shown = sum(stage.epochs for stage in cfg.loss.stages) * int((files["train"].ep_len - 1).sum())
    timing["samples_per_s"] = shown / timing["fit_s"]

    results = score_run(folder, timing=timing)
    if logger is not None:
        logger.experiment.log(results["metrics"])
        logger.experiment.finish()
    report = write_report(folder)
    print_scores(results)
    print(f"\n{folder / 'results.json'}\n{report}")
    return results


if __name__ == "__main__":
    from configs.command import main

    main("fit", run, __doc__, prepare)
