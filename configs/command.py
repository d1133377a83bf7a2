"""Starts every command: prints help, composes its configuration, ends with one sentence on a problem."""

import importlib
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import InstantiationException
from hydra.types import RunMode
from omegaconf import DictConfig

from configs.help import help_page
from configs.limits import check_values
from configs.overrides import HERE, SWEEP, check, groups, quoted
from configs.stopping import memory_sentence, signals_end_in_a_sentence, sigterm_raises
from envs.problem import Problem, storage_sentence


def lists(key: str) -> None:
    """Several values of this key are one list to a command, key=a,b as key=[a,b], unless -m asks for a run with each."""
    if not SWEEP & set(sys.argv):
        sys.argv[1:] = [re.sub(rf"^{key}=([^\[\]'\"]+,[^\[\]'\"]+)$", rf"{key}=[\1]", word) for word in sys.argv[1:]]


def _sentence(error: Exception) -> str | None:
    """The sentence for the user, of the cause of an error of Hydra. None: an error of the code, which needs its traceback."""
    if sentence := memory_sentence(error):
        return sentence
    if isinstance(error, InstantiationException):
        cause = error.__cause__ or error
        return " ".join(str(cause).split())
    if isinstance(error, OSError):
        return storage_sentence(error)
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
    overrides = sys.argv[1:] = quoted(given, groups(config))
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
