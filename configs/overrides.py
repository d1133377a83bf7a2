"""What a command line may say: keys and entries of groups that exist, values of the kind that they replace."""

import re
from functools import partial
from pathlib import Path

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Sweep
from hydra.errors import OverrideParseException
from omegaconf import DictConfig, ListConfig, OmegaConf

from envs.problem import Problem, nearest

HERE = Path(__file__).parent
# keys that decide no weight: where data lie and how they are read, loggers, when an agent is measured; a run that is taken up
# takes what the command line says of them
DECIDE_NO_WEIGHT = ("data", "data_dir", "logger", "evaluate")
SWEEP = {"-m", "--multirun"}
OPTIONAL = {"trainer", "algo", "env"}  # groups of which code reads keys that only some entries have
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


def quoted(overrides: list[str], known: dict) -> list[str]:
    """Quote entries of groups that are numbers, as curriculum=1: Hydra must read them as names."""
    quote = partial(re.sub, r"(?<=[=,])(\d+)(?=,|$)", r"'\1'")
    return [quote(text) if text.split("=", 1)[0] in known else text for text in overrides]


def _parsed(overrides: list[str]) -> list[Override]:
    try:
        return OverridesParser.create().parse_overrides(overrides)
    except OverrideParseException as error:
        raise Problem(
            f"{error.override} cannot be read as key=value; close its brackets and quotes, and put the whole in '...'"
        ) from None


def _check_sweep(overrides: list[str]) -> None:
    """Several values for a key are a sweep, and -m says so."""
    if SWEEP & set(overrides):
        return
    for override in _parsed([o for o in overrides if "=" in o and not o.startswith("-")]):
        if override.is_sweep_override():
            text, key = override.input_line, override.key_or_group
            raise Problem(f"{text} names several values; add -m for a run with each, or write a list: {key}=[<value>,<value>]")


def check(config: str, overrides: list[str]) -> None:
    """Raise Problem on the first override whose group entry or key does not exist."""
    known, chosen, keys, launchers, named, added = groups(config), [], [], [], [], []
    overrides = quoted(overrides, known)
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
                if name not in known[key]:
                    raise Problem(f"there is no {key} '{name}': {nearest(name, known[key])}")
            if "(" not in value:
                chosen.append(f"{key}={value.split(',')[0]}")
        elif key == "hydra/launcher":
            launchers.append(value)
        elif key.startswith("hydra"):
            continue
        elif override.startswith("+"):
            added += _leaves(key, _parsed([override])[0].value())
        else:
            keys.append(override)
    with hydra.initialize_config_dir(str(HERE.resolve()), version_base="1.3"):
        for name in launchers:
            _check_launcher(name, GlobalHydra.instance().config_loader().get_group_options("hydra/launcher"))
        for group, name in named:
            if group == "experiment":
                _check_experiment(config, name)
        node = hydra.compose(config, chosen)
        for group, name in named:
            if group != "experiment":
                _check_own_name(config, group, name, node if f"{group}={name}" in chosen else None)
            if f"{group}={name}" not in chosen:  # of a sweep, which has an entry for each of its jobs
                for key in (key for key in added if key.split(".")[0] == group):
                    _check_added(hydra.compose(config, quoted([f"{group}={name}"], known)), key, config, known)
    for key in added:
        _check_added(node, key, config, known)
    for override in keys:
        key = override.lstrip("~").split("=", 1)[0]
        _check_kind(key, _find(node, key, config, known), override)


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
        raise Problem(
            f"experiment '{name}' sets {', '.join(foreign)}, which {config} has not; it is one of {' and '.join(homes)}"
        )


def _check_own_name(config: str, group: str, name: str, node: DictConfig | None) -> None:
    """An entry copied from another, or beginning with it, keeps that one's name, and its runs would be called alike.

    node: a configuration that has the entry, where one is composed already.
    """
    path = HERE / group / f"{name}.yaml"
    if not path.exists():
        return
    own = OmegaConf.to_container(OmegaConf.load(path)).get("name")
    if "${" in str(own):
        return  # the entry is called by its arguments
    if not own:
        own = OmegaConf.select(hydra.compose(config, [f"{group}={name}"]) if node is None else node, f"{group}.name")
    if str(own or name) != name:
        raise Problem(f"configs/{group}/{name}.yaml has the name '{own}'; write name: {name} there, runs are called by it")


def _check_launcher(name: str, installed: list[str]) -> None:
    if name in installed:
        return
    if name in LAUNCHERS:
        extra = f'pip install -e ".[cluster]" (or: pip install {LAUNCHERS[name]})'
        raise Problem(f"hydra/launcher={name} comes with a package that is not installed: {extra}")
    raise Problem(f"there is no hydra/launcher '{name}': {nearest(name, {*installed, *LAUNCHERS})}")


def _check_added(node, key: str, config: str, known: dict) -> None:
    """Raise Problem on a key that no code reads: it would change nothing, and call the run another one.

    A class reads keys of its own and refuses others, and stages are checked with their values. Splits may have any name, and
    the keys of any split. Elsewhere a key is one that stands there, or, in groups that are OPTIONAL, in another entry.
    """
    group, *path = key.split(".")
    inner, depth = _find(node, group, config, known), 0
    while depth < len(path) and isinstance(inner, DictConfig) and "_target_" not in inner and path[depth] in inner:
        inner, depth = inner._get_node(path[depth]), depth + 1
    if depth == len(path) or not isinstance(inner, DictConfig) or "_target_" in inner:
        return
    if group == "env" and path[0] == "splits":
        depth, names = 2, _keys_of_splits()
    else:
        names = {*map(str, inner), *(_elsewhere(group, path[:depth]) if group in OPTIONAL else [])}
    if depth < len(path) and path[depth] not in names:
        raise Problem(f"{'.'.join([group, *path[:depth]])} has no key '{path[depth]}': {nearest(path[depth], names)}")


def _leaves(key: str, value: object) -> list[str]:
    """The keys that a value sets, which may have keys of its own, below its own key."""
    if not isinstance(value, dict) or not value:
        return [key]
    return [leaf for name, of in value.items() for leaf in _leaves(f"{key}.{name}", of)]


def _entries(group: str) -> list:
    return [OmegaConf.to_container(OmegaConf.load(entry)) for entry in sorted((HERE / group).glob("*.yaml"))]


def _elsewhere(group: str, path: list[str]) -> set[str]:
    """Keys that any entry of a group has at a place."""
    found = _entries(group)
    for part in path:
        found = [one[part] for one in found if isinstance(one, dict) and part in one]
    return {str(name) for one in found if isinstance(one, dict) for name in one} - {"defaults"}


def _keys_of_splits() -> set[str]:
    """That any split of any env has."""
    splits = [split for env in _entries("env") for split in (env.get("splits") or {}).values()]
    return {key for split in splits if isinstance(split, dict) for key in split}


def _find(node, key: str, config: str, known: dict):
    """What stands under a key. Raises Problem where nothing does."""
    here = []
    for part in key.split("."):
        if isinstance(node, ListConfig) and part.isdigit() and int(part) < len(node):
            node = node._get_node(int(part))
        elif isinstance(node, DictConfig) and not node._is_none() and part in node.keys():
            node = node._get_node(part)
        else:
            names = list(node.keys()) if isinstance(node, DictConfig) and not node._is_none() else []
            names += range(len(node)) if isinstance(node, ListConfig) and not node._is_none() else []
            where = ".".join(here) or f"the configuration of {config}"
            more = list(known) if not here else []
            raise Problem(f"{where} has no key '{part}': {nearest(part, {*map(str, names), *more})}")
        here.append(part)
    return node


def _check_kind(key: str, node, override: str) -> None:
    """Keys are replaced by keys, and neither a value nor a list by keys:
    Hydra told some of it, over five lines, and commands stumbled.
    """
    value = _parsed([override])[0].value()
    keys, given = isinstance(node, DictConfig) and not node._is_none(), isinstance(value, dict)
    if keys == given or isinstance(value, Sweep):
        return
    got = override.partition("=")[2]
    if keys:
        raise Problem(f"{key} has the keys {', '.join(map(str, node.keys()))}, got {got}; set one: {key}.<key>=<value>")
    kind = "a list" if isinstance(node, ListConfig) else "one value or a list"
    raise Problem(f"{key} is {kind}, got keys: {got}; set {key}=<value>")
