"""Pairs of clips, expected and surprising, of one category and segment: read from collected files, collected where missing."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import hydra
import numpy as np
from hydra.core.global_hydra import GlobalHydra
from hydra.utils import instantiate
from omegaconf import OmegaConf

from envs.collect import collect
from envs.problem import Problem
from envs.voe.clip import SUBTYPES
from eval.runs import CONFIGS


@dataclass(frozen=True)
class Pairs:
    """P trials.  trial (P,): their numbers.  subtype: P names.  expected, surprising (P, T, H, W, 3) uint8: the two clips."""

    trial: np.ndarray
    subtype: Sequence[str]
    expected: np.ndarray
    surprising: np.ndarray

    def distances(self) -> np.ndarray:
        """(P,): mean absolute difference of the two clips over all pixels and frames, from 0 to 255."""
        sides = zip(self.expected, self.surprising)
        return np.array([np.abs(one.astype(np.int16) - other).mean() for one, other in sides])


@dataclass(frozen=True)
class Collected:
    """Trials of the worlds of configs/env, or of a folder in the published layout.  size: of the pixels that are encoded."""

    data_dir: Path
    size: int = 112
    published: Path | None = None

    def __call__(self, category: str, segment: str) -> Pairs:
        """Of a category (support ...) all trials of a segment (valid, test) that its env has."""
        env = self._env(category)
        world = instantiate(env["world"])
        names = world.versions(segment)
        files = [collect(env, world, names[version], self.data_dir) for version in ("expected", "surprising")]
        columns = [file.episodes("pixels", "label_trial", "label_subtype") for file in files]
        (expected, trial, subtype), (surprising, other, _) = columns
        trial, other = trial[:, 0], other[:, 0]
        both, rows, matched = np.intersect1d(trial, other, return_indices=True)
        if not len(both):
            raise Problem(f"{files[0].path} and {files[1].path} have no trial in common; collect both again")
        names = [SUBTYPES[number] for number in subtype[rows, 0]]
        return Pairs(both, names, expected[rows], surprising[matched])

    def _env(self, category: str) -> dict:
        name = f"voe_{category}" if self.published is None else "voe_published"
        started = GlobalHydra.instance().is_initialized()  # by a command that asks; a library call finds it not
        with nullcontext() if started else hydra.initialize_config_dir(str(CONFIGS), version_base="1.3"):
            env = OmegaConf.to_container(hydra.compose("collect", [f"env={name}"]).env, resolve=True)
        env["world"] |= {"category": category, "size": self.size}
        if self.published is not None:
            env["world"]["root"] = str(self.published)
        return env
