"""Publish collected clips of violation of expectation: their files -> folders as those of the published set.

    python envs/publish.py env=voe_barrier to=published
    python envs/publish.py env=voe_barrier split=test,test-surprising data_dir=data to=published
    python envs/collect.py env=voe_published env.world.root=published env.world.category=barrier

<to>/E_barrier/{train,validation,test}/{expected,surprising,control}/trial_<n>/ with a lossless video, depth, instances, poses
and labels; beside them lists of the trials and a manifest. The folder appears when it is complete.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder
    from configs.command import lists, main

    lists("split")
    sys.exit(main("publish", "envs.publish:run", __doc__))  # what stands below is imported for the work alone

import shlex

from envs.collect import header, path_of, plan_of, splits_of
from envs.episodes import EpisodeFile
from envs.problem import Problem
from envs.protocols import Violations


def collected(env: dict, world, split: str, data_dir: str) -> EpisodeFile:
    """The file of a split. Raises Problem where it has not been collected."""
    about = header(world, plan_of(env, split), split)
    remedy = f"python envs/collect.py env={env['name']} split={split} data_dir={shlex.quote(str(data_dir))}"
    return EpisodeFile(path_of(env, about, data_dir), about, f"{remedy}, with the same env. keys")


def run(cfg) -> None:
    """The command."""
    from hydra.utils import instantiate
    from omegaconf import OmegaConf

    env = OmegaConf.to_container(cfg.env, resolve=True)
    if OmegaConf.is_missing(cfg, "to"):
        raise Problem(f"no folder given; name one: python envs/publish.py env={env['name']} to=<folder>")
    names, world = splits_of(env, cfg.split), instantiate(cfg.env.world)
    if not isinstance(world, Violations):
        raise Problem(f"clips of violation of expectation are published, and env '{env['name']}' has none; set env=voe_barrier "
                      f"or its like")  # fmt: skip
    from envs.voe.publishing import publish

    home = publish([collected(env, world, name, cfg.data_dir) for name in names], cfg.to)
    print(f"{home}: {sum(1 for _ in home.glob('*/*/trial_*'))} trials")
