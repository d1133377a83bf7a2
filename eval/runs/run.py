"""A run folder: `runs/<name>/` with config.yaml, checkpoints/, metrics.csv, results.json, report.html."""

import inspect
import json
import shlex
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.utils import instantiate
from omegaconf import DictConfig, ListConfig, OmegaConf

from envs.collect import FINAL, collect
from envs.episodes import EpisodeFile
from envs.problem import Problem, nearest
from envs.protocols import Source
from envs.spec import EnvSpec
from eval.runs.before import as_of_today
from eval.runs.results import fault
from eval.runs.trusted import check_frozen, check_needed, check_targets, find_class, with_moved_names

if TYPE_CHECKING:  # torch and Lightning take seconds to import, and who reads results needs neither
    from models.world_model import WorldModel

# what the config of a run must have
MODEL, AGENT, CLONE = ("model.module", "loss.stages"), ("algo.learner",), ("cloning.updates",)
_KINDS = {"a world model": MODEL, "a model-free agent": AGENT, "a cloned agent": CLONE}
_PLAIN = (bool, int, float, str, bytes, list, tuple, dict, Path, Enum, type(None))  # what a yaml can hold
_DEPTH = 3  # folders between runs_dir and a run, at most
NO_RUN = "{} is not a run folder: it has no config.yaml; runs are made by train/fit.py"
CONFIGS = Path(__file__).resolve().parents[2] / "configs"


def weights_file(folder: Path, round: int | None = None) -> Path:
    """The weights of a run: the best, or those at the end of a round, counted from 1 over all stages."""
    return folder / "checkpoints" / ("model.ckpt" if round is None else f"round-{round}.ckpt")


class Run:
    """A trained model with all that belongs to it, opened once and handed on: from training to scores, goals and report.

    model: in eval mode.  config: complete.  folder: where it lies.  round: of training in rounds that the weights are of,
    counted from 1 over all stages; none: the best weights.  world and files are made when they are asked for, unless they are
    handed in: files by their split, as they lie in the run's own data_dir.
    Unpacks as `model, config = run`.
    """

    def __init__(
        self, model: "WorldModel", config: DictConfig | None = None, folder: Path | None = None, world: Source | None = None,
        files: Mapping[str, EpisodeFile] | None = None, round: int | None = None,
    ) -> None:  # fmt: skip
        self.model, self.config, self.folder, self.round = model, config, folder, round
        self.final_is_open = False
        self._files = {(split, None): file for split, file in (files or {}).items()}
        if world is not None:
            self.world = world

    @classmethod
    def open(
        cls, folder: "str | Path | Run", world: Source | None = None, files: Mapping | None = None, round: int | None = None
    ) -> "Run":  # fmt: skip
        """The run of a folder, with its best weights or those of a round; one that is open already as it is.

        world, files, round: as of `Run`. Raises Problem on a round that was not kept.
        """
        if isinstance(folder, Run):
            return folder
        from eval.runs.checkpoints import load_weights

        config = load_config(folder)
        path = weights_file(Path(folder), round)
        if round is not None and not path.exists():
            kept = sorted(int(one.stem.removeprefix("round-")) for one in path.parent.glob("round-*.ckpt"))
            why = f"it has {', '.join(map(str, kept))}; set round= to one of them"
            if not kept:
                why = "rounds are kept by: train/fit.py trainer=minutes, or trainer=updates"
            raise Problem(f"{folder} holds no weights of round {round}, {why}")
        model = instantiate(config.model.module)
        load_weights(model, path)
        return cls(model.eval(), config, Path(folder), world, files, round)

    def __iter__(self) -> Iterator:
        return iter((self.model, self.config))

    @cached_property
    def world(self) -> Source:
        return instantiate(self.config.env.world)

    @property
    def spec(self) -> EnvSpec:
        return self.world.spec

    def file(self, split: str, data_dir: str | Path | None = None) -> EpisodeFile:
        """The episodes of a split, collected where they are missing; data_dir none: the run's own.

        Splits that came later than the run are those of configs/env. Raises Problem on `final` before it is opened.
        """
        if not isinstance(split, str):
            raise Problem(f"a run is asked on one split at a time here, got {split}; name one: split=")
        if split.split("-")[0] == FINAL and not self.final_is_open:
            raise Problem(f"split '{split}' is kept for a frozen setting; score it with: python eval/score.py run=<run> "
                          f"split={FINAL} ledger=results/ledger")  # fmt: skip
        if (split, data_dir) not in self._files:
            self._files[split, data_dir] = collect(self.env_with(split), self.world, split, data_dir or self.config.data_dir)
        return self._files[split, data_dir]

    def env_with(self, split: str) -> dict:
        """The run's env, with the splits of configs/env where it lacks this one."""
        env = OmegaConf.to_container(self.config.env)
        return env if split in env["splits"] else {**env, "splits": {**splits_of_today(env["name"]), **env["splits"]}}

    def use_gpu(self) -> None:
        """Moves the model to a GPU where there is one."""
        import torch

        if torch.cuda.is_available():
            self.model.cuda()


def splits_of_today(env: str) -> dict:
    """Those of configs/env: a run may be scored on boards that nobody had thought of when it was trained."""
    if not (CONFIGS / "env" / f"{env}.yaml").exists():
        return {}
    started = GlobalHydra.instance().is_initialized()  # by the command that asks; a library call finds it not
    with nullcontext() if started else hydra.initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return OmegaConf.to_container(hydra.compose("fit", [f"env={env}"]).env.splits)


def _spell_out(node):
    """Add to every `_target_` node the defaults of its callable, so that the file no longer depends on the code's.

    Raises Problem on an argument that the callable does not take.
    """
    if isinstance(node, list):
        return [_spell_out(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: _spell_out(value) for key, value in node.items()}
    if "_target_" in node:
        taken = inspect.signature(find_class(node["_target_"])).parameters
        others = [key for key in node if key not in taken and not key.startswith("_")]
        if others and not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in taken.values()):
            raise Problem(f"{node['_target_']} takes no argument '{others[0]}': {nearest(others[0], taken)}")
        for parameter in taken.values():
            if parameter.default is not inspect.Parameter.empty and parameter.name not in node:
                if not isinstance(parameter.default, _PLAIN):
                    raise Problem(f"{node['_target_']} has a default for '{parameter.name}' that a yaml cannot hold, "
                                  f"{parameter.default!r}; take a name, and choose by it")  # fmt: skip
                node[parameter.name] = parameter.default
    return node


def freeze(cfg: DictConfig) -> DictConfig:
    """The resolved config, complete: no interpolation left, every constructor argument named."""
    plain = OmegaConf.to_container(cfg, resolve=True)
    check_targets(plain)
    frozen = _spell_out(plain)
    frozen["name"] = str(frozen["name"])  # of name=5 YAML makes a number
    if "loss" in frozen and not any("decoder" in stage["trains"] for stage in frozen["loss"]["stages"]):
        decoder = frozen["model"]["module"].get("decoder")
        if decoder and getattr(find_class(decoder["_target_"]), "learns", True):
            frozen["model"]["module"]["decoder"] = None  # nothing would train it
    return OmegaConf.create(frozen)


def load_config(folder: str | Path, parts: tuple[str, ...] = MODEL) -> DictConfig:
    """The resolved config of a run folder; one without `parts` is refused, and one that would call what is not ours."""
    path = Path(folder) / "config.yaml"
    if not path.exists():
        raise Problem(NO_RUN.format(folder))
    try:
        config = OmegaConf.load(path)
        if isinstance(config.get("name"), int | float):
            config.name = str(config.name)  # runs of before may hold a number
        plain = as_of_today(with_moved_names(OmegaConf.to_container(config)))
        config = OmegaConf.create(plain)
        lacking = [part for part in parts if not _lies_at(plain, part)]
        other = [kind for kind, has in _KINDS.items() if has != parts and _lies_at(plain, has[0])]
    except Exception as error:  # YAML and OmegaConf have a family of errors each, for one fact
        raise Problem(f"{path} is damaged ({type(error).__name__}); train again under another name") from error
    if lacking and other:
        raise Problem(f"{folder} holds {other[0]} and no {' or '.join(lacking)}; choose another run or name")
    if lacking:
        raise Problem(f"{path} is incomplete; train again under another name")
    try:
        check_frozen(plain)
        check_targets(plain)
        if parts == MODEL:
            check_needed(plain)
    except Problem as problem:
        raise Problem(f"{path} is not the config of a run: {problem}; train again under another name") from None
    if parts == MODEL:
        _check_world(folder, config)
    return config


def _lies_at(plain, path: str):
    """What a plain config holds at a path of keys, or None."""
    for part in path.split("."):
        plain = plain.get(part) if isinstance(plain, dict) else None
    return plain


def run_folders(runs_dir: Path, depth: int = _DEPTH) -> list[Path]:
    """Every run below a folder, also in folders of runs such as runs/tables; what lies inside a run is its own."""
    found = []
    for child in sorted(runs_dir.iterdir()) if runs_dir.is_dir() else ():
        if (child / "config.yaml").exists():
            found.append(child)
        elif depth > 0 and child.is_dir() and not child.name.startswith(".") and child.name != "wandb":
            found += run_folders(child, depth - 1)
    return found


def folders_of(run) -> list[str]:
    """What run= names, one folder or a list of them, as a list."""
    folders = list(run) if isinstance(run, list | ListConfig) else [run]
    if not folders or not all(isinstance(folder, str | int) and str(folder) for folder in folders):
        raise Problem(f"run must be a run folder or a list of them, for example run=[runs/<a>,runs/<b>], got {run}; set run=")
    return [str(folder) for folder in folders]


def is_agent(folder: Path) -> bool:
    """Whether a run is a model-free agent's: it has plans and nothing to rank."""
    return (folder / "checkpoints" / "agent.zip").exists()


def read_results(folder: Path) -> dict:
    """results.json of a run folder."""
    path, score = folder / "results.json", f"python eval/score.py run={shlex.quote(str(folder))}"
    try:
        results = json.loads(path.read_text())
    except FileNotFoundError as error:
        if not (folder / "config.yaml").exists():
            raise Problem(NO_RUN.format(folder)) from error
        raise Problem(f"{path} does not exist; make it with: {score}") from error
    except OSError as error:
        raise Problem(f"{path} cannot be read ({error.strerror}); move it away, then make it anew with: {score}") from error
    except (ValueError, RecursionError) as error:  # no JSON, no text, or brackets without end
        raise Problem(f"{path} is not valid JSON ({type(error).__name__}: {error}); make it anew with: {score}") from error
    why = fault(results)
    if why:
        raise Problem(f"{path} {why}; make it anew with: {score}")
    return results


def _check_world(folder: str | Path, config: DictConfig) -> None:
    """A run of chemistry from before objects were renumbered: its seed draws other tables today."""
    world = OmegaConf.select(config, "env.world") or {}
    if str(world.get("_target_", "")).endswith(".ChemistryWorld") and "numbering" not in world and not world.get("scm"):
        raise Problem(f"{folder} was trained in a causal model that its scm_seed no longer draws; write into its config.yaml, "
                      f"under env.world, scm: <the scm-*.npz beside its data>, or train again under another name")  # fmt: skip


def load_run(folder: str | Path) -> Run:
    """A run from its folder alone: model (eval mode, best weights) and config.

    >>> model, config = load_run("runs/modular-infonce-physics5-quick-s0")  # doctest: +SKIP
    """
    return Run.open(folder)
