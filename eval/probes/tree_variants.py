"""One trained OFPR-Net under other trees: heads stay as they learned, only what is expected of them differs."""

import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf

from envs.problem import Problem
from eval.probes.clips import labels_of
from eval.runs import Run


def with_trees(run: Run, asked: dict, data_dir=None) -> Run:
    """The same run with other arguments of its model (trees, posterior_speeds, observed).

    Its trees are fitted again to the labels of its training clips: they are fitted before training and do not depend on it.
    Raises Problem on a run without trees, and on unknown values.
    """
    module = OmegaConf.to_container(run.config.model.module)
    if not set(asked) <= module.keys():
        raise Problem(f"{', '.join(f'{key}=' for key in asked)} asks for a model with trees, and run '{run.config.name}' is "
                      f"{run.config.model.name}; use a run with model=ofpr, or leave it out")  # fmt: skip
    model = instantiate(module | asked)
    model.load_state_dict(run.model.state_dict())
    true = labels_of(run.file("train", data_dir), "label_features", "label_prior", "label_posterior")
    model.rules.fit(*map(torch.from_numpy, true))
    return Run(model.eval(), run.config, run.folder, run.world)
