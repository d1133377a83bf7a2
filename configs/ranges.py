"""Ranges of values: one line for each key that has one."""

import math
from collections.abc import Callable


def whole(low: int, high: int = 2**63 - 1) -> Callable:
    """A whole number from low to high."""
    return lambda v: isinstance(v, int) and not isinstance(v, bool) and low <= v <= high


def number(above: float = -math.inf, at_least: float = -math.inf, at_most: float = math.inf) -> Callable:
    """A finite number within bounds."""
    return lambda v: (
        isinstance(v, int | float) and not isinstance(v, bool) and abs(v) < math.inf and above < v and at_least <= v <= at_most
    )


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
FLAG = "true or false", lambda v: isinstance(v, bool)
FOLDER = "a folder", lambda v: isinstance(v, str)
COUNT, FROM_ZERO = ("a whole number >= 1", whole(1)), ("a whole number >= 0", whole(0))
POSITIVE, NOT_NEGATIVE = ("a number > 0", number(above=0)), ("a number >= 0", number(at_least=0))
SHARE = "a number from 0 to 1", number(at_least=0, at_most=1)
HORIZONS = ("a list of whole numbers >= 1, for example [1,5,10]", list_of(whole(1)))
POOL = ("a whole number >= 2", whole(2))
PROBES = ("a list of names of eval/probes, or null", list_of(lambda v: isinstance(v, str)))
NAMES = list_of(lambda v: isinstance(v, str | int))  # a number among them is a name that does not exist, and is told near ones
PROTOCOLS = ("a list of protocols, for example [P0,P5]", NAMES)
WEIGHTS = "prediction", "variance", "covariance", "weight", "steady_weight", "dynamics", "representation", "free"  # of a loss
SWITCHES = "reference", "open_loop", "own_window", "same_episode", "per_slot"
LIMITS = {
    "data_dir": FOLDER,
    "runs_dir": FOLDER,
    "data.stream": ("true, false or auto", lambda v: v == "auto" or isinstance(v, bool)),
    "data.memory_gb": POSITIVE,
    "seed": ("a whole number from 0 to 4294967295", whole(0, 2**32 - 1)),
    "name": ("one name without slashes", lambda v: v is not None and str(v) not in ("", ".", "..") and "/" not in str(v)),
    "ledger": FOLDER,
    "row": ("a name", lambda v: isinstance(v, str) and v != ""),
    "rows": ("the name of a row, or a list of them", _some_names),
    "split": ("the name of a split, or a list of them", _some_names),
    "mode": ("the name of a mode, or a list of them", _some_names),
    "table": ("a table, or a list of them", lambda v: v != []),
    "figure": ("a figure, or a list of them", lambda v: v != []),
    "overwrite": FLAG,
    "score.horizons": HORIZONS,
    "score.episodes": POOL,
    "score.counterfactuals": FROM_ZERO,
    "score.probes": PROBES,
    "horizons": HORIZONS,
    "episodes": POOL,
    "counterfactuals": FROM_ZERO,
    "probes": PROBES,
    "round": ("a whole number >= 1, or a list of them", lambda v: whole(1)(v) or list_of(whole(1))(v)),
    "context": COUNT,
    "of_clip": ("a list of peak and mean", list_of(one_of("peak", "mean"))),
    "decoded": FLAG,
    "trees": ("combined, normal or direct", one_of("combined", "normal", "direct")),
    "posterior_speeds": FLAG,
    "observed": ("oracle or heads", one_of("oracle", "heads")),
    "curves": FROM_ZERO,
    "nodes": ("a list of whole numbers >= 0, for example [0,2,4,6]", list_of(whole(0))),
    "sigma": NOT_NEGATIVE,
    "trainer.accelerator": ("auto, cpu or gpu", one_of("auto", "cpu", "gpu")),
    "trainer.precision": (f"one of {', '.join(PRECISIONS)}", one_of(*PRECISIONS)),
    "trainer.gradient_clip": POSITIVE,
    "trainer.devices": ("a whole number >= 1, or auto", lambda v: v == "auto" or whole(1)(v)),
    "trainer.nodes": COUNT,
    "trainer.cpu_minutes": POSITIVE,
    "trainer.budget": ("smoke, quick, minutes or paper", one_of("smoke", "quick", "minutes", "paper")),
    "trainer.updates": (
        "a whole number >= 1, or a list of them, one for each stage",
        lambda v: whole(1)(v) or list_of(whole(1))(v),
    ),
    "loss.stages": ("a list of one stage or more", list_of(lambda v: isinstance(v, dict))),
    "loss.stages.*.epochs": COUNT,
    "loss.stages.*.batch_size": COUNT,
    "loss.stages.*.window": COUNT,
    "loss.stages.*.learning_rate": POSITIVE,
    "loss.stages.*.hard_share": SHARE,
    "loss.stages.*.weight_decay": NOT_NEGATIVE,
    "loss.stages.*.gradient_clip": ("a number > 0, or null", lambda v: v is None or number(above=0)(v)),
    "loss.stages.*.schedule": ("constant or cosine", one_of("constant", "cosine")),
    "loss.stages.*.optimizer": ("adam or sgd", one_of("adam", "sgd")),
    "loss.stages.*.trains": (f"parts of the model: {', '.join(PARTS)}", list_of(one_of(*PARTS))),
    "loss.stages.*.objective.sigma": POSITIVE,
    "loss.stages.*.objective.hinge": NOT_NEGATIVE,
    "loss.stages.*.objective.*squared_weight": NOT_NEGATIVE,
    "loss.stages.*.objective.directions": COUNT,
    **{f"loss.stages.*.objective.{name}": NOT_NEGATIVE for name in WEIGHTS},
    **{f"loss.stages.*.objective.{name}": FLAG for name in SWITCHES},
    "loss.squared_weight": NOT_NEGATIVE,
    "loss.own_window": FLAG,
    "loss.same_episode": FLAG,
    "loss.per_slot": FLAG,
    "loss.weight": NOT_NEGATIVE,
    "loss.momentum": SHARE,
    "loss.later": ("a whole number >= 1, or null", lambda v: v is None or whole(1)(v)),
    "loss.batch_size": COUNT,
    "loss.open_loop": FLAG,
    "loss.reference": FLAG,
    "loss.as_published": FLAG,
    "loss.clips": COUNT,
    "env.splits.*.episodes": COUNT,
    "env.splits.*.length": COUNT,
    "env.splits.*.seed": ("a whole number from 0 to 6999", whole(0, 6999)),  # envs/streams.py begins at 7001
    "env.splits.*.mode": ("a name", lambda v: isinstance(v, str)),
    "env.world.num_objects": COUNT,
    "env.world.palette_seed": FROM_ZERO,
    "env.world.board": COUNT,
    "env.block_rows": COUNT,
    "env.drop_invalid": FLAG,
    "env.full": FLAG,
    "env.world.hidden_weights": FLAG,
    "env.world.skip_broken": FLAG,
    "env.world.record_depth": FLAG,
    "env.world.record_mask": FLAG,
    "model.size": (f"one of {', '.join(SIZES)}", one_of(*SIZES)),
    "model.graph": ("learned, given, full or none", one_of("learned", "given", "full", "none")),
    "model.sparsity": NOT_NEGATIVE,
    "score.structure": FLAG,
    "seeds": COUNT,
    "jobs": COUNT,
    "gifs": FROM_ZERO,
    "log_runs": FLAG,
    "project": ("a name", lambda v: isinstance(v, str) and v.strip() != ""),
    "worker": FROM_ZERO,
    "run_missing": FLAG,
    "tune": FLAG,
    "envs": ("the name of an env, or a list of them", _some_names),
    "reward_steps": ("a whole number >= 2", whole(2)),
    "reward_learning_rate": POSITIVE,
    "reach": COUNT,
    "ahead": FLAG,
    "beam.width": COUNT,
    "*.depth": COUNT,  # of a planner, as what follows
    "*.hold": COUNT,
    "*.candidates": ("a whole number >= 2", whole(2)),
    "*.iterations": COUNT,
    "*.elites": COUNT,
    "*.temperature": POSITIVE,
    "*.cost": ("final or sum", one_of("final", "sum")),
    "*.smoothing": SHARE,
    "*.closed": FLAG,
    "goal_may_equal_start": FLAG,
    "again": FLAG,
    "goals": ("true, false or null", lambda v: isinstance(v, bool)),
    "steps": COUNT,
    "to": ("a path", lambda v: isinstance(v, str) and v.strip() != ""),
    "out": ("a folder", lambda v: isinstance(v, str) and v.strip() != ""),
    "beside": ("the name of a folder in out=, or a list of them, for example [pushing-random]", _names),
    "protocols": ("a list of names, for example [P0,P5], or null for all", NAMES),
    "dense_weights": ("a list of numbers, for example [750,250,0], or null", list_of(number())),
    "fractional_weight": ("a number, or null", number()),
    "mass_spread": ("a number from 0 to 0.5", number(at_least=0, at_most=0.5)),
    "skip_frame": COUNT,
    "max_steps": COUNT,
    "save_every": COUNT,
    "horizon": COUNT,
    "plan.horizons": HORIZONS,
    "plan.episodes": COUNT,
    "plan.goal_may_equal_start": FLAG,
    "plan.seed": FROM_ZERO,
    "cloning.episodes": COUNT,
    "cloning.starts": PROTOCOLS,
    "cloning.rounds": FROM_ZERO,
    "cloning.corrected": COUNT,
    "cloning.updates": COUNT,
    "cloning.batch_size": COUNT,
    "cloning.learning_rate": POSITIVE,
    "cloning.hidden": COUNT,
    "algo.boards": ("a whole number from 1 to 4096", whole(1, 4096)),  # tasks that train/agents/board_envs.py draws at a time
    "algo.decay": FLAG,
    "algo.channels": COUNT,
    "algo.width": COUNT,
    "algo.hidden": COUNT,
    "algo.learner.n_*": COUNT,
    "algo.learner.batch_size": ("a whole number >= 2", whole(2)),
    "algo.learner.learning_rate": POSITIVE,
    "algo.learner.ent_coef": ("a number >= 0, or auto", lambda v: v == "auto" or number(at_least=0)(v)),
    "algo.learner.buffer_size": COUNT,
    "algo.learner.learning_starts": FROM_ZERO,
    "algo.learner.train_freq": COUNT,
    "algo.learner.gradient_steps": COUNT,
    "algo.learner.tau": ("a number > 0 and <= 1", number(above=0, at_most=1)),
    "algo.learner.vf_coef": NOT_NEGATIVE,
    "algo.learner.max_grad_norm": POSITIVE,
    "algo.learner.target_entropy": ("a number, or auto", lambda v: v == "auto" or number()(v)),
    "algo.relabelled": FROM_ZERO,
    "algo.noise": NOT_NEGATIVE,
    "residual": ("a number > 0 and <= 1, or null", number(above=0, at_most=1)),
    "evaluate.every": ("a whole number >= 1, or null", lambda v: v is None or whole(1)(v)),
    "evaluate.episodes": COUNT,
    "evaluate.protocols": PROTOCOLS,
    "algo.learner.ga*": SHARE,
    "model.frames": ("a whole number >= 1, a list of numbers of frames from 0, or null",
                     lambda v: v is None or whole(1)(v) or list_of(whole(0))(v)),
    "model.frozen": FLAG,
    "model.posterior_speeds": FLAG,
    "model.channels": COUNT,
    "model.width": COUNT,
    "model.hidden": COUNT,
    "model.slots": COUNT,
    "model.appearance": FROM_ZERO,
    "model.side": ("a whole number >= 1, or null", lambda v: v is None or whole(1)(v)),
    "model.hidden_share": ("a number from 0 to below 1", lambda v: number(at_least=0)(v) and v < 1),
    "model.multiplier": COUNT,
    "model.module.encoder.trunk.iterations": COUNT,
}  # fmt: skip
