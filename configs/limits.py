"""Values of a configuration that no command may have: told before anything is read, made or deleted."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from configs.ranges import LIMITS
from envs.problem import Problem, nearest

OPTIONAL = ("score.probes", "trainer.gradient_clip", "trainer.devices", "trainer.nodes")  # keys of groups that may be null
STAGE = ("name", "objective", "trains", "epochs", "batch_size", "window", "learning_rate")  # keys that a stage must have
STAGE_MAY = ("schedule", "hard_share", "weight_decay", "optimizer", "gradient_clip")  # and may have


def _values(node, path: tuple[str, ...] = ()) -> Iterator[tuple[str, object]]:
    """Every key path with its value, containers included."""
    if path:
        yield ".".join(path), node
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _values(value, (*path, str(key)))
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from _values(value, (*path, str(i)))


def _check_stages(loss: dict) -> None:
    """Raise Problem on the first stage that lacks a key, or has an unknown one."""
    names = [stage.get("name") for stage in loss["stages"]]
    if twice := [name for name in names if name is not None and names.count(name) > 1]:
        raise Problem(f"two stages of loss '{loss.get('name')}' have the name '{twice[0]}', by which metrics are kept apart; "
                      f"give each one of its own")  # fmt: skip
    for number, stage in enumerate(loss["stages"]):
        lacking = [key for key in STAGE if key not in stage]
        unknown = [key for key in stage if key not in (*STAGE, *STAGE_MAY)]
        where = f"stage {number} of loss '{loss.get('name')}'"
        if unknown:
            raise Problem(f"{where} has no key '{unknown[0]}': {nearest(str(unknown[0]), (*STAGE, *STAGE_MAY))}")
        if lacking:
            raise Problem(f"{where} lacks {', '.join(lacking)}; a stage says {', '.join(STAGE)}")
        if not isinstance(stage["name"], str) or "/" in stage["name"] or not stage["name"]:
            raise Problem(f"{where} must have one name without slashes, got {stage['name']!r}; set loss.stages.{number}.name=")
        if not isinstance(stage["objective"], dict) or "_target_" not in stage["objective"]:
            raise Problem(f"the objective of {where} names no class; write _target_: losses.<file>.<class> below objective:")


def _may_be_null(config: str) -> set[str]:
    """Keys whose default is null."""
    defaults = OmegaConf.to_container(OmegaConf.load(Path(__file__).with_name(f"{config}.yaml")))
    return {*OPTIONAL, *(key for key, value in defaults.items() if value is None)}


def _check_ranges(plain: dict, optional: set[str], config: str) -> None:
    """Raise Problem on the first value out of its range; what is not resolved yet is let through."""
    limits = {key: of for key, of in LIMITS.items() if config == "plan" or not key.startswith("*.")}  # of planners alone
    for path, value in _values(plain):
        if value == "???" or (value is None and path in optional) or "${" in str(value):
            continue
        for pattern, (expected, holds) in limits.items():
            if fnmatchcase(path, pattern) and not holds(value):
                raise Problem(f"{path} must be {expected}, got {'null' if value is None else repr(value)}; set {path}=")


def _check_chemistry(env: dict) -> None:
    """Raise Problem where the world is another than the env is called by; a saved model says what its own is."""
    world = env.get("world") or {}
    if "graph" not in env or world.get("scm"):
        return
    asked = {"graph": env["graph"], "movement": "dynamic" if env.get("dynamic") else "static", "delay": env.get("delay")}
    for key, value in asked.items():
        if key in world and world[key] != value:
            outer = "dynamic" if key == "movement" else key
            raise Problem(f"env.world.{key}={world[key]} and env.{outer}={env.get(outer)} differ, and this env is called "
                          f"'{env.get('name')}' by the latter; set env.{outer}= alone")  # fmt: skip


def check_values(cfg: DictConfig, config: str = "fit") -> None:
    """Raise Problem on the first value out of its range; null is in range where the command `config` has it by default."""
    optional = _may_be_null(config)
    _check_ranges(OmegaConf.to_container(cfg), optional, config)  # before a world is made of them, to see its slots
    try:
        plain = OmegaConf.to_container(cfg, resolve=True)
    except OmegaConfBaseException as error:
        seen, cause = [], error
        while cause is not None and cause not in seen and not isinstance(cause, Problem):  # raised by a resolver
            seen.append(cause)  # an error may be the context of its own cause
            cause = cause.__cause__ or cause.__context__
        if isinstance(cause, Problem):
            raise Problem(" ".join(str(cause).split())) from None
        raise Problem(f"the configuration does not resolve: {' '.join(str(error).split())}") from error
    _check_ranges(plain, optional, config)
    if (plain.get("loss") or {}).get("stages"):
        _check_stages(plain["loss"])
    _check_chemistry(plain.get("env", {}))
    splits = plain.get("env", {}).get("splits", {})
    split = plain.get("score", {}).get("split")
    if split is not None and split not in splits:
        raise Problem(f"env '{plain['env']['name']}' has no split '{split}': {nearest(str(split), splits)}")
