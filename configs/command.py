"""Starts every command: prints help, checks names against the valid ones, ends with one sentence on a problem."""

import importlib
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import InstantiationException
from hydra.types import RunMode
from omegaconf import DictConfig, ListConfig, OmegaConf

from configs.help import help_page
from configs.limits import check_values
from configs.stopping import memory_sentence, signals_end_in_a_sentence, sigterm_raises
from envs.problem import Problem, nearest

HERE = Path(__file__).parent
SWEEP = {"-m", "--multirun"}
LAUNCHERS = {  # of sweeps, and the package each comes with
    "joblib": "hydra-joblib-launcher",
    "submitit_local": "hydra-submitit-launcher",
    "submitit_slurm": "hydra-submitit-launcher",
}


def groups(config: str) -> dict[str, list[str]]:
    """Config groups a command composes -> their entries. A name that begins with _ is shared parts, not an entry."""
    text = (HERE / f"{config}.yaml").read_text()
    folders = [folder for folder in sorted(HERE.iterdir()) if folder.is_dir() and f"  - {folder.name}:" in text]
    return {f.name: sorted(p.stem for p in f.glob("*.yaml") if not p.name.startswith("_")) for f in folders}


def _quoted(overrides: list[str], known: dict) -> list[str]:
    """Quote entries of groups that are numbers, as curriculum=1: Hydra must read them as names."""
    quote = partial(re.sub, r"(?<=[=,])(\d+)(?=,|$)", r"'\1'")
    return [quote(text) if text.split("=", 1)[0] in known else text for text in overrides]


def lists(key: str) -> None:
    """Several values of this key are one list to a command, key=a,b as key=[a,b], unless -m asks for a run with each."""
    if not SWEEP & set(sys.argv):
        sys.argv[1:] = [re.sub(rf"^{key}=([^\[\]'\"]+,[^\[\]'\"]+)$", rf"{key}=[\1]", word) for word in sys.argv[1:]]


def _check_sweep(overrides: list[str]) -> None:
    """Several values for a key are a sweep, and -m says so."""
    if SWEEP & set(overrides):
        return
    for override in OverridesParser.create().parse_overrides([o for o in overrides if "=" in o and not o.startswith("-")]):
        if override.is_sweep_override():
            text, key = override.input_line, override.key_or_group
            raise Problem(f"{text} names several values; add -m for a run with each, or write a list: {key}=[<value>,<value>]")


def check(config: str, overrides: list[str]) -> None:
    """Raise Problem on the first override whose group entry or key does not exist."""
    known, chosen, keys, launchers, named = groups(config), [], [], [], []
    overrides = _quoted(overrides, known)
    _check_sweep(overrides)
    for flag, override in zip([None, *overrides], overrides):
        if override.startswith("-") or flag in ("-c", "--cfg", "-p", "--package", "-i", "--info"):
            continue  # Hydra's own
        if "=" not in override:
            raise Problem(f"'{override}' is not an override; write key=value, for example {next(iter(known), 'run')}=...")
        key, value = override.lstrip("+~").split("=", 1)
        if key in known:
            named += [(key, name) for name in value.replace("'", "").split(",")]
            for name in [] if "(" in value else value.replace("'", "").split(","):  # glob(*) is Hydra's
                if name not in known[key] and name != "null":
                    raise Problem(f"there is no {key} '{name}': {nearest(name, known[key])}")
            if "(" not in value:
                chosen.append(f"{key}={value.split(',')[0]}")
        elif key == "hydra/launcher":
            launchers.append(value)
        elif not key.startswith("hydra") and not override.startswith("+"):
            keys.append(key)
    with hydra.initialize_config_dir(str(HERE.resolve()), version_base="1.3"):
        for name in launchers:
            _check_launcher(name, GlobalHydra.instance().config_loader().get_group_options("hydra/launcher"))
        for group, name in named:
            if group == "experiment":
                _check_experiment(config, name)
            _check_own_name(config, group, name)
        node = hydra.compose(config, chosen)
    for key in keys:
        _find(node, key, config, known)


def _check_experiment(config: str, name: str) -> None:
    """An experiment that sets keys of another command alone would be composed, and change nothing."""
    path = HERE / "experiment" / f"{name}.yaml"
    if not path.exists():
        return
    own = OmegaConf.to_container(OmegaConf.load(path))
    overridden = {key.split("/")[-1] for entry in own.pop("defaults", []) if isinstance(entry, dict) for key in entry}
    asked = set(own) | overridden
    keys = {other.stem: set(OmegaConf.load(other).keys()) | set(groups(other.stem)) for other in HERE.glob("*.yaml")}
    foreign = sorted(asked - keys[config] - {"hydra"})
    homes = sorted(other for other, own in keys.items() if foreign and {"experiment", *foreign} <= own)
    if homes:
        raise Problem(f"experiment '{name}' sets {', '.join(foreign)}, which {config} has not; it is one of {' and '.join(homes)}")


def _check_own_name(config: str, group: str, name: str) -> None:
    """An entry copied from another, or beginning with it, keeps that one's name, and its runs would be called alike."""
    path = HERE / group / f"{name}.yaml"
    if not path.exists():
        return
    own = OmegaConf.to_container(OmegaConf.load(path)).get("name")
    if "${" in str(own):
        return  # the entry is called by its arguments
    own = own or OmegaConf.select(hydra.compose(config, [f"{group}={name}"]), f"{group}.name")
    if str(own or name) != name:
        raise Problem(f"configs/{group}/{name}.yaml has the name '{own}'; write name: {name} there, runs are called by it")


def _check_launcher(name: str, installed: list[str]) -> None:
    if name in installed:
        return
    if name in LAUNCHERS:
        extra = f'pip install "causal-world-models[cluster]" (or: pip install {LAUNCHERS[name]})'
        raise Problem(f"hydra/launcher={name} comes with a package that is not installed: {extra}")
    raise Problem(f"there is no hydra/launcher '{name}': {nearest(name, {*installed, *LAUNCHERS})}")


def _find(node, key: str, config: str, known: dict) -> None:
    here = []
    for part in key.split("."):
        if isinstance(node, ListConfig) and part.isdigit() and int(part) < len(node):
            node = node._get_node(int(part))
        elif isinstance(node, DictConfig) and not node._is_none() and part in node.keys():
            node = node._get_node(part)
        else:
            names = list(node.keys()) if isinstance(node, DictConfig) and not node._is_none() else []
            where = ".".join(here) or f"the configuration of {config}"
            more = list(known) if not here else []
            raise Problem(f"{where} has no key '{part}': {nearest(part, {*map(str, names), *more})}")
        here.append(part)


def _sentence(error: Exception) -> str | None:
    """The sentence for the user, of the cause of an error of Hydra. None: an error of the code, which needs its traceback."""
    if sentence := memory_sentence(error):
        return sentence
    if isinstance(error, InstantiationException):
        cause = error.__cause__ or error
        return " ".join(str(cause).split())
    if isinstance(error, OSError):
        where = f" {error.filename}" if error.filename else ""
        return f"cannot read or write{where}: {error.strerror or error}; free some space or choose another folder"
    return str(error) if isinstance(error, Problem | FloatingPointError) else None


def _named(function: Callable | str) -> Callable:
    """A function, or that of a text "package.module:name", which is imported now."""
    if callable(function):
        return function
    module, name = function.split(":")
    return getattr(importlib.import_module(module), name)


def main(config: str, run: Callable | str, help_text: str, prepare: Callable | str | None = None) -> None:
    """Compose `config` with the command line and call `run`; exit code 0 only when the job was done.

    run: config -> anything. As text "package.module:name" it is imported after the check of the command line, so that help and
    a mistyped name are answered at once.
    prepare: may add overrides before composition, list -> list; a function or a text likewise.
    """
    given = sorted(sys.argv[1:], key=lambda word: word not in SWEEP)  # an -m between overrides would hide the later ones
    overrides = sys.argv[1:] = _quoted(given, groups(config))
    if any(flag in overrides for flag in ("-h", "--help")):
        if hasattr(signal, "SIGPIPE"):
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `--help | head` ends quietly
        print(help_page(HERE.resolve() / f"{config}.yaml", help_text, groups(config)))
        return

    def task(cfg: DictConfig) -> None:  # jobs of a sweep may run in other processes, on other machines
        sweep = HydraConfig.get().mode is RunMode.MULTIRUN
        try:
            with signals_end_in_a_sentence(sweep):
                check_values(cfg, config)
                _named(run)(cfg)
        except Exception as error:
            sentence = _sentence(error)
            if sentence is None:
                raise
            if not sweep:
                sys.exit(f"error: {sentence}")
            print(f"error: {sentence}", file=sys.stderr, flush=True)
            raise Problem(sentence) from None  # one refused job does not stop a sweep; Hydra raises it at the end

    try:
        check(config, overrides)
        if "hydra/launcher=submitit_slurm" in overrides and shutil.which("srun") is None:
            raise Problem("hydra/launcher=submitit_slurm needs Slurm and there is no srun here; use submitit_local or joblib")
        if prepare is not None:
            sys.argv[1:] = _named(prepare)(overrides)
    except Problem as problem:
        sys.exit(f"error: {problem}")
    except Exception as error:  # Hydra's own parsing errors carry their sentence
        sys.exit(f"error: {' '.join(str(error).split())}")
    if SWEEP & set(overrides):
        os.environ["HYDRA_FULL_ERROR"] = "1"  # a failed job raises its error and prints no traceback
        paths = [str(HERE.parent.resolve()), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)  # processes of a launcher find the same code
    try:
        with signals_end_in_a_sentence(bool(SWEEP & set(overrides))), sigterm_raises():
            hydra.main(version_base="1.3", config_path=str(HERE.resolve()), config_name=config)(task)()
    except Problem as problem:
        sys.exit(f"error: a job of the sweep failed: {problem}")
