"""The mirror of a run in Weights & Biases."""

import os
import secrets
from pathlib import Path

from omegaconf import DictConfig, OmegaConf


def wandb_run(cfg: DictConfig, folder: Path, tags: list[str]):
    """A run of W&B, offline unless WANDB_MODE is set, or none where `cfg.logger` is another. A resumed run keeps its id."""
    if cfg.logger.name != "wandb":
        return None
    import wandb

    id_file = folder / "wandb_id.txt"
    if not id_file.exists():
        id_file.write_text(secrets.token_hex(4))
    wandb.finish()  # a refused job of a sweep leaves its run open
    return wandb.init(  # not by Lightning, which passes an argument that W&B warns of
        name=cfg.name, project=cfg.logger.project, dir=str(folder), id=id_file.read_text(), resume="allow",
        mode=os.environ.get("WANDB_MODE", "offline"), settings=wandb.Settings(silent=True, console="off"),
        config=OmegaConf.to_container(cfg, resolve=True), group=cfg.logger.get("group"), tags=tags,
    )  # fmt: skip
