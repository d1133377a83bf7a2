"""What a run's config.yaml may say: it names classes of ours and learners of stable-baselines3, and has what commands read.

Hydra's `instantiate` calls whatever `_target_` names, so a stranger's file could call anything. Names are compared with the
list below before any module is imported, and only classes that these packages define are accepted: a function, or
what a module of ours has imported from elsewhere, is not.
"""

import importlib
import inspect
import re
from collections.abc import Iterator

from envs.problem import Problem, nearest

PACKAGES = ("models", "losses", "envs")
LEARNERS = "stable_baselines3"
_NAME = re.compile(rf"(?:(?:{'|'.join(PACKAGES)})(?:\.[A-Za-z]\w*)+|{LEARNERS})\.[A-Za-z]\w*")
MOVED = {  # files of classes that saved configs name: where they stood -> where they stand
    "models.codes": "models.encoders.categorical",
    "models.whitened": "models.encoders.whitened",
    "envs.trifinger.actors": "envs.trifinger.interventions.actors",
    "envs.trifinger.curriculum": "envs.trifinger.interventions.curriculum",
    "models.transitions.witness": "models.transitions.pairwise_lstm",
}
_KEYS = {"_target_", "_args_", "_convert_", "_recursive_"}  # of those that `instantiate` knows; a run has nothing partial
_PLACE = ("algo", "learner")  # the one place of a learner; it builds its environment by a name that may import a module, so:
_GIVEN = (  # by train/, never by a config
    "_args_", "env", "policy", "policy_kwargs", "action_noise", "replay_buffer_class", "replay_buffer_kwargs",
)  # fmt: skip


def _nodes(node, path: tuple = ()) -> Iterator[tuple[tuple, dict | str]]:
    """(keys that lead to it, itself) of every mapping and every string of a plain tree."""
    if isinstance(node, dict | str):
        yield path, node
    for key, item in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from _nodes(item, (*path, key))


def with_moved_names(node):
    """A plain config with every `_target_` of before under the name that its class has today."""
    if isinstance(node, list):
        return [with_moved_names(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: with_moved_names(value) for key, value in node.items()}
    if isinstance(node.get("_target_"), str):
        module, _, name = node["_target_"].rpartition(".")
        node["_target_"] = f"{MOVED.get(module, module)}.{name}" if module else name
    return node


def find_class(target: str) -> type:
    """The class that a `_target_` names; one that no config may name is refused."""
    refused = Problem(
        f"_target_ '{target}' is not allowed: it must name a class defined in {', '.join(PACKAGES)}, or a learner of "
        f"{LEARNERS}; write it as package.module.Class"
    )
    if not isinstance(target, str) or not _NAME.fullmatch(target):
        raise refused
    module, name = target.rsplit(".", 1)
    try:
        found = getattr(imported := importlib.import_module(module), name, None)
    except ModuleNotFoundError as error:
        raise Problem(f"_target_ '{target}' cannot be imported: {error}") from error
    if found is None:
        there = [own for own, value in vars(imported).items() if inspect.isclass(value) and value.__module__.startswith(module)]
        raise Problem(f"_target_ '{target}' names no class of {module}: {nearest(name, there)}") if there else refused
    if not inspect.isclass(found) or found.__module__.split(".")[0] != module.split(".")[0]:
        raise refused
    return found


def check_targets(config: dict) -> None:
    """Raise Problem where a `_target_` anywhere in a plain config names what may not be called; call nothing."""
    mappings = {path: node for path, node in _nodes(config) if isinstance(node, dict)}
    for mapping in mappings.values():
        if strange := sorted(str(key) for key in mapping if re.fullmatch(r"_\w+_", str(key)) and key not in _KEYS):
            raise Problem(f"'{strange[0]}' is not a key that a config may have; known: {', '.join(sorted(_KEYS))}")
    targets = {path: mapping["_target_"] for path, mapping in mappings.items() if "_target_" in mapping}
    for path, target in targets.items():
        if not isinstance(target, str) or not _NAME.fullmatch(target):
            find_class(target)  # refuses it; nothing has been imported yet
        if target.startswith(LEARNERS):
            if path != _PLACE:
                here = ".".join(map(str, path))
                raise Problem(f"_target_ '{target}' is not allowed at {here}: a learner stands at algo.learner")
            if given := [key for key in _GIVEN if mappings[path].get(key) is not None]:
                raise Problem(f"algo.learner.{given[0]} is not allowed in a config: the command gives it")
    for target in targets.values():
        find_class(target)


def check_frozen(config: dict) -> None:
    """Raise Problem where a config holds an interpolation: a run's config has none, and one could compose a `_target_`."""
    for _, node in _nodes(config):
        if text := next((t for t in (node if isinstance(node, dict) else [node]) if "${" in str(t)), None):
            raise Problem(f"it holds the interpolation '{text}', and the config.yaml of a run holds none")


def _whole(low: int):
    return lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= low


def _file_name(v) -> bool:
    """Whether it can be a part of a file's name: another path would lead out of the folder."""
    return isinstance(v, str) and v not in ("", ".", "..") and not {"/", "\0"} & set(v)


def _all(kind, holds):
    return lambda v: isinstance(v, kind) and len(v) > 0 and all(map(holds, v))


_NAME_OF = ("a name", lambda v: isinstance(v, str) and v != "")
_IN_A_PATH = ("a name without slashes", _file_name)
_CLASS = ("a class", lambda v: isinstance(v, str))
_STAGE = {  # of every stage
    "name": _IN_A_PATH,
    "trains": ("a list of names", _all(list, lambda v: isinstance(v, str))),
    "epochs": ("a whole number >= 1", _whole(1)),
}
_SPLIT = {  # of every split
    "episodes": ("a whole number >= 1", _whole(1)), "length": ("a whole number >= 1", _whole(1)),
    "seed": ("a whole number >= 0", _whole(0)),
}  # fmt: skip
_NEEDED = {  # of a world model's run: key -> what it must be, and whether it is
    "name": ("a name", lambda v: isinstance(v, str | int) and v != ""),
    "env.name": _IN_A_PATH,
    "env.world._target_": _CLASS,
    "env.splits": ("a mapping", lambda v: isinstance(v, dict) and all(_file_name(k) and isinstance(v[k], dict) for k in v)),
    "model.name": _NAME_OF,
    "model.module._target_": _CLASS,
    "loss.name": _NAME_OF,
    "loss.stages": ("a list of stages", _all(list, lambda v: isinstance(v, dict))),
    "trainer.name": _NAME_OF,
    "trainer.accelerator": _NAME_OF,
    "trainer.budget": _NAME_OF,
    "score.split": _NAME_OF,
    "score.horizons": ("a list of whole numbers >= 1", _all(list, _whole(1))),
    "score.episodes": ("a whole number >= 2", _whole(2)),
    "score.counterfactuals": ("a whole number >= 0", _whole(0)),
    "data_dir": ("a folder", lambda v: isinstance(v, str)),
    "seed": ("a whole number >= 0", _whole(0)),
}


def check_needed(config: dict) -> None:
    """Raise Problem on the first thing that every command reads of a world model's run and that this config lacks."""
    _hold(config, _NEEDED)
    for number, stage in enumerate(config["loss"]["stages"]):
        _hold(stage, _STAGE, f"loss.stages.{number}.")
    for name, split in config["env"]["splits"].items():
        _hold(split, _SPLIT, f"env.splits.{name}.")


def _hold(config: dict, needed: dict, under: str = "") -> None:
    """Raise Problem on the first key of `needed` that a mapping lacks, or has otherwise.  under: where the mapping stands."""
    for path, (expected, holds) in needed.items():
        value, here = config, ""
        for part in path.split("."):
            here = f"{here}.{part}".lstrip(".")
            if not isinstance(value, dict) or value.get(part) is None:
                raise Problem(f"it lacks {under}{here}")
            value = value[part]
        if not holds(value):
            raise Problem(f"its {under}{path} must be {expected}, got {value!r}")
