"""Ranges of values: one line for each key that has one, checked before anything is read, made or deleted."""

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from envs.problem import Problem, nearest


def whole(low: int, high: int = 2**63 - 1) -> Callable:
    """A whole number from low to high."""
    return lambda v: isinstance(v, int) and not isinstance(v, bool) and low <= v <= high


def number(above: float | None = None, at_least: float | None = None) -> Callable:
    """A finite number."""

    def holds(v) -> bool:
        finite = isinstance(v, int | float) and not isinstance(v, bool) and abs(v) < float("inf")
        return finite and (above is None or v > above) and (at_least is None or v >= at_least)

    return holds


def one_of(*names: str) -> Callable:
    """One of some words."""
    return lambda v: v in names


def list_of(holds: Callable) -> Callable:
    """At least one, each of which holds."""
    return lambda v: isinstance(v, list) and len(v) > 0 and all(holds(item) for item in v)


def _names(v) -> bool:
    """A name, or any number of names."""
    return all(isinstance(name, str) and name.strip() for name in (v if isinstance(v, list) else [v]))


def _some_names(v) -> bool:
    """A name, or a list of one or more: a command that is asked nothing would end as if it had done it."""
    return v != [] and _names(v)


PARTS = ("encoder", "transition", "decoder", "heads")
PRECISIONS = ("32-true", "bf16-mixed", "16-mixed")
SIZES = ("patch", "small", "medium", "large", "whole", "tiles")
HORIZONS = ("a list of whole numbers >= 1, for example [1,5,10]", list_of(whole(1)))
POOL = ("a whole number >= 2", whole(2))
STATES = ("a whole number >= 0", whole(0))
PROBES = ("a list of names of eval/probes, or null", list_of(lambda v: isinstance(v, str)))
NAMES = list_of(lambda v: isinstance(v, str | int))  # a number among them is a name that does not exist, and is told near ones
PROTOCOLS = ("a list of protocols, for example [P0,P5]", NAMES)
LIMITS = {
    "data_dir": ("a folder", lambda v: isinstance(v, str)),
    "runs_dir": ("a folder", lambda v: isinstance(v, str)),
    "data.stream": ("true, false or auto", lambda v: v == "auto" or isinstance(v, bool)),
    "data.memory_gb": ("a number > 0", number(above=0)),
    "seed": ("a whole number from 0 to 4294967295", whole(0, 2**32 - 1)),
    "name": ("one name without slashes", lambda v: v is not None and str(v) not in ("", ".", "..") and "/" not in str(v)),
    "ledger": ("a folder", lambda v: isinstance(v, str)),
    "row": ("a name", lambda v: isinstance(v, str) and v != ""),
    "rows": ("the name of a row, or a list of them", _some_names),
    "split": ("the name of a split, or a list of them", _some_names),
    "mode": ("the name of a mode, or a list of them", _some_names),
    "table": ("a table, or a list of them", lambda v: v != []),
    "figure": ("a figure, or a list of them", lambda v: v != []),
    "overwrite": ("true or false", lambda v: isinstance(v, bool)),
    "score.horizons": HORIZONS,
    "score.episodes": POOL,
    "score.counterfactuals": STATES,
    "score.probes": PROBES,
    "horizons": HORIZONS,
    "episodes": POOL,
    "counterfactuals": STATES,
    "probes": PROBES,
    "round": ("a whole number >= 1, or a list of them", lambda v: whole(1)(v) or list_of(whole(1))(v)),
    "context": ("a whole number >= 1", whole(1)),
    "of_clip": ("a list of peak and mean", list_of(one_of("peak", "mean"))),
    "decoded": ("true or false", lambda v: isinstance(v, bool)),
    "trees": ("combined, normal or direct", one_of("combined", "normal", "direct")),
    "posterior_speeds": ("true or false", lambda v: isinstance(v, bool)),
    "observed": ("oracle or heads", one_of("oracle", "heads")),
    "curves": ("a whole number >= 0", whole(0)),
    "nodes": ("a list of whole numbers >= 0, for example [0,2,4,6]", list_of(whole(0))),
    "sigma": ("a number >= 0", number(at_least=0)),
    "trainer.accelerator": ("auto, cpu or gpu", one_of("auto", "cpu", "gpu")),
    "trainer.precision": (f"one of {', '.join(PRECISIONS)}", one_of(*PRECISIONS)),
    "trainer.gradient_clip": ("a number > 0", number(above=0)),
    "trainer.devices": ("a whole number >= 1, or auto", lambda v: v == "auto" or whole(1)(v)),
    "trainer.nodes": ("a whole number >= 1", whole(1)),
    "trainer.cpu_minutes": ("a number > 0", number(above=0)),
    "trainer.updates": ("a whole number >= 1", whole(1)),
    "loss.stages": ("a list of one stage or more", list_of(lambda v: isinstance(v, dict))),
    "loss.stages.*.epochs": ("a whole number >= 1", whole(1)),
    "loss.stages.*.batch_size": ("a whole number >= 1", whole(1)),
    "loss.stages.*.window": ("a whole number >= 1", whole(1)),
    "loss.stages.*.learning_rate": ("a number > 0", number(above=0)),
    "loss.stages.*.hard_share": ("a number from 0 to 1", lambda v: number(at_least=0)(v) and v <= 1),
    "loss.stages.*.weight_decay": ("a number >= 0", number(at_least=0)),
    "loss.stages.*.gradient_clip": ("a number > 0, or null", lambda v: v is None or number(above=0)(v)),
    "loss.stages.*.schedule": ("constant or cosine", one_of("constant", "cosine")),
    "loss.stages.*.optimizer": ("adam or sgd", one_of("adam", "sgd")),
    "loss.stages.*.trains": (f"parts of the model: {', '.join(PARTS)}", list_of(one_of(*PARTS))),
    "loss.own_window": ("true or false", lambda v: isinstance(v, bool)),
    "loss.same_episode": ("true or false", lambda v: isinstance(v, bool)),
    "loss.per_slot": ("true or false", lambda v: isinstance(v, bool)),
    "loss.weight": ("a number >= 0", number(at_least=0)),
    "loss.momentum": ("a number from 0 to 1", lambda v: number(at_least=0)(v) and v <= 1),
    "loss.later": ("a whole number >= 1, or null", lambda v: v is None or whole(1)(v)),
    "loss.batch_size": ("a whole number >= 1", whole(1)),
    "loss.open_loop": ("true or false", lambda v: isinstance(v, bool)),
    "env.splits.*.episodes": ("a whole number >= 1", whole(1)),
    "env.splits.*.length": ("a whole number >= 1", whole(1)),
    "env.splits.*.seed": ("a whole number from 0 to 6999", whole(0, 6999)),  # envs/streams.py begins at 7001
    "env.splits.*.mode": ("a name", lambda v: isinstance(v, str)),
    "env.world.num_objects": ("a whole number >= 1", whole(1)),
    "env.world.palette_seed": ("a whole number >= 0", whole(0)),
    "env.world.board": ("a whole number >= 1", whole(1)),
    "env.block_rows": ("a whole number >= 1", whole(1)),
    "env.drop_invalid": ("true or false", lambda v: isinstance(v, bool)),
    "model.size": (f"one of {', '.join(SIZES)}", one_of(*SIZES)),
    "model.graph": ("learned, given, full or none", one_of("learned", "given", "full", "none")),
    "model.sparsity": ("a number >= 0", number(at_least=0)),
    "score.structure": ("true or false", lambda v: isinstance(v, bool)),
    "seeds": ("a whole number >= 1", whole(1)),
    "jobs": ("a whole number >= 1", whole(1)),
    "gifs": ("a whole number >= 0", whole(0)),
    "log_runs": ("true or false", lambda v: isinstance(v, bool)),
    "worker": ("a whole number >= 0", whole(0)),
    "run_missing": ("true or false", lambda v: isinstance(v, bool)),
    "tune": ("true or false", lambda v: isinstance(v, bool)),
    "envs": ("the name of an env, or a list of them", _some_names),
    "reward_steps": ("a whole number >= 2", whole(2)),
    "reward_learning_rate": ("a number > 0", number(above=0)),
    "reach": ("a whole number >= 1", whole(1)),
    "ahead": ("true or false", lambda v: isinstance(v, bool)),
    "beam.width": ("a whole number >= 1", whole(1)),
    "*.depth": ("a whole number >= 1", whole(1)),  # of a planner, as what follows
    "*.hold": ("a whole number >= 1", whole(1)),
    "*.candidates": ("a whole number >= 2", whole(2)),
    "*.iterations": ("a whole number >= 1", whole(1)),
    "*.elites": ("a whole number >= 1", whole(1)),
    "*.temperature": ("a number > 0", number(above=0)),
    "*.cost": ("final or sum", one_of("final", "sum")),
    "*.smoothing": ("a number from 0 to 1", lambda v: number(at_least=0)(v) and v <= 1),
    "goal_may_equal_start": ("true or false", lambda v: isinstance(v, bool)),
    "again": ("true or false", lambda v: isinstance(v, bool)),
    "goals": ("true, false or null", lambda v: isinstance(v, bool)),
    "steps": ("a whole number >= 1", whole(1)),
    "to": ("a path", lambda v: isinstance(v, str) and v.strip() != ""),
    "out": ("a folder", lambda v: isinstance(v, str) and v.strip() != ""),
    "beside": ("the name of a folder in out=, or a list of them, for example [pushing-random]", _names),
    "protocols": ("a list of names, for example [P0,P5], or null for all", NAMES),
    "mass_spread": ("a number from 0 to 0.5", lambda v: number(at_least=0)(v) and v <= 0.5),
    "skip_frame": ("a whole number >= 1", whole(1)),
    "max_steps": ("a whole number >= 1", whole(1)),
    "save_every": ("a whole number >= 1", whole(1)),
    "horizon": ("a whole number >= 1", whole(1)),
    "plan.horizons": HORIZONS,
    "plan.episodes": ("a whole number >= 1", whole(1)),
    "plan.goal_may_equal_start": ("true or false", lambda v: isinstance(v, bool)),
    "plan.seed": ("a whole number >= 0", whole(0)),
    "cloning.episodes": ("a whole number >= 1", whole(1)),
    "cloning.starts": PROTOCOLS,
    "cloning.rounds": ("a whole number >= 0", whole(0)),
    "cloning.corrected": ("a whole number >= 1", whole(1)),
    "cloning.updates": ("a whole number >= 1", whole(1)),
    "cloning.batch_size": ("a whole number >= 1", whole(1)),
    "cloning.learning_rate": ("a number > 0", number(above=0)),
    "cloning.hidden": ("a whole number >= 1", whole(1)),
    "algo.boards": ("a whole number from 1 to 4096", whole(1, 4096)),  # tasks that train/agents/board_envs.py draws at a time
    "algo.decay": ("true or false", lambda v: isinstance(v, bool)),
    "algo.channels": ("a whole number >= 1", whole(1)),
    "algo.width": ("a whole number >= 1", whole(1)),
    "algo.hidden": ("a whole number >= 1", whole(1)),
    "algo.learner.n_*": ("a whole number >= 1", whole(1)),
    "algo.learner.batch_size": ("a whole number >= 2", whole(2)),
    "algo.learner.learning_rate": ("a number > 0", number(above=0)),
    "algo.learner.ent_coef": ("a number >= 0, or auto", lambda v: v == "auto" or number(at_least=0)(v)),
    "algo.learner.buffer_size": ("a whole number >= 1", whole(1)),
    "algo.learner.learning_starts": ("a whole number >= 0", whole(0)),
    "algo.learner.train_freq": ("a whole number >= 1", whole(1)),
    "algo.learner.gradient_steps": ("a whole number >= 1", whole(1)),
    "algo.learner.tau": ("a number > 0 and <= 1", lambda v: number(above=0)(v) and v <= 1),
    "algo.relabelled": ("a whole number >= 0", whole(0)),
    "algo.noise": ("a number >= 0", number(at_least=0)),
    "residual": ("a number > 0 and <= 1, or null", lambda v: number(above=0)(v) and v <= 1),
    "evaluate.every": ("a whole number >= 1, or null", lambda v: v is None or whole(1)(v)),
    "evaluate.episodes": ("a whole number >= 1", whole(1)),
    "evaluate.protocols": PROTOCOLS,
    "algo.learner.ga*": ("a number from 0 to 1", lambda v: number(at_least=0)(v) and v <= 1),
    "model.frames": ("a whole number >= 1, a list of numbers of frames from 0, or null",
                     lambda v: v is None or whole(1)(v) or list_of(whole(0))(v)),
    "model.frozen": ("true or false", lambda v: isinstance(v, bool)),
    "model.posterior_speeds": ("true or false", lambda v: isinstance(v, bool)),
    "model.channels": ("a whole number >= 1", whole(1)),
    "model.width": ("a whole number >= 1", whole(1)),
    "model.appearance": ("a whole number >= 0", whole(0)),
    "model.side": ("a whole number >= 1, or null", lambda v: v is None or whole(1)(v)),
    "model.hidden_share": ("a number from 0 to below 1", lambda v: number(at_least=0)(v) and v < 1),
    "model.multiplier": ("a whole number >= 1", whole(1)),
}  # fmt: skip
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
        raise Problem(f"two stages of loss '{loss.get('name')}' have the name '{twice[0]}', by which metrics are kept apart; give each one of "
                      f"its own")  # fmt: skip
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


def _check_ranges(plain: dict, optional: set[str]) -> None:
    """Raise Problem on the first value out of its range; what is not resolved yet is let through."""
    for path, value in _values(plain):
        if value == "???" or (value is None and path in optional) or "${" in str(value):
            continue
        for pattern, (expected, holds) in LIMITS.items():
            if fnmatchcase(path, pattern) and not holds(value):
                raise Problem(f"{path} must be {expected}, got {'null' if value is None else repr(value)}; set {path}=")


def check_values(cfg: DictConfig, config: str = "fit") -> None:
    """Raise Problem on the first value out of its range; null is in range where the command `config` has it by default."""
    optional = _may_be_null(config)
    _check_ranges(OmegaConf.to_container(cfg), optional)  # before a world is made of them, to see how many slots it takes
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
    _check_ranges(plain, optional)
    if (plain.get("loss") or {}).get("stages"):
        _check_stages(plain["loss"])
    splits = plain.get("env", {}).get("splits", {})
    split = plain.get("score", {}).get("split")
    if split is not None and split not in splits:
        raise Problem(f"env '{plain['env']['name']}' has no split '{split}': {nearest(str(split), splits)}")
