"""How every command starts: help, names checked with the nearest valid one, problems told in one sentence."""

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import hydra
from omegaconf import DictConfig, ListConfig

from envs.problem import Problem, nearest

HERE = Path(__file__).parent


def groups(config: str) -> dict[str, list[str]]:
    """Config groups a command composes -> their entries. A name that begins with _ is shared parts, not an entry."""
    text = (HERE / f"{config}.yaml").read_text()
    folders = [folder for folder in sorted(HERE.iterdir()) if folder.is_dir() and f"  - {folder.name}:" in text]
    return {f.name: sorted(p.stem for p in f.glob("*.yaml") if not p.name.startswith("_")) for f in folders}


def check(config: str, overrides: list[str]) -> None:
    """Raise Problem on the first override whose group entry or key does not exist."""
    known, chosen, keys = groups(config), [], []
    for override in overrides:
        if override.startswith("-"):
            continue
        if "=" not in override:
            raise Problem(f"'{override}' is not an override; write key=value, for example {next(iter(known), 'run')}=...")
        key, value = override.lstrip("+~").split("=", 1)
        if key in known:
            for name in value.split(","):
                if name not in known[key] and name != "null":
                    raise Problem(f"there is no {key} '{name}': {nearest(name, known[key])}")
            chosen.append(f"{key}={value.split(',')[0]}")
        elif not key.startswith("hydra") and not override.startswith("+"):
            keys.append(key)
    with hydra.initialize_config_dir(str(HERE.resolve()), version_base="1.3"):
        node = hydra.compose(config, chosen)
    for key in keys:
        _find(node, key, config, known)


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


def main(config: str, run: Callable[[DictConfig], None], help_text: str, prepare: Callable | None = None) -> None:
    """Compose `config` with the command line and call `run`; exit code 0 only when the job was done.

    prepare: may add overrides before composition, list -> list.
    """
    overrides = sys.argv[1:]
    if any(flag in overrides for flag in ("-h", "--help")):
        if hasattr(signal, "SIGPIPE"):
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `--help | head` ends quietly
        print(help_text.strip(), "\n")
        for group, entries in groups(config).items():
            print(f"{group}=  {', '.join(entries)}")
        print(f"\nAll keys and defaults: configs/{config}.yaml. Sweep with -m and commas: seed=0,1,2")
        return

    def task(cfg: DictConfig) -> None:
        try:
            run(cfg)
        except (Problem, FloatingPointError) as problem:
            sys.exit(f"error: {problem}")

    try:
        check(config, overrides)
        if prepare is not None:
            sys.argv[1:] = prepare(overrides)
    except Problem as problem:
        sys.exit(f"error: {problem}")
    except Exception as error:  # Hydra's own parsing errors carry their sentence
        sys.exit(f"error: {' '.join(str(error).split())}")
    hydra.main(version_base="1.3", config_path=str(HERE.resolve()), config_name=config)(task)()
