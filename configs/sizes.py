"""Sizes of models: the spec of the world, read once as `cfg.spec`, and the trunk that fits an observation."""

import json
from functools import lru_cache

from omegaconf import DictConfig, OmegaConf

from envs.problem import Problem

CELLS = range(5, 10)  # along a side of a board that BoardMaps reads
WHOLE = {"whole": "SceneMaps", "tiles": "SceneTiles"}  # sizes that keep all of a map of a picture of no board
BESIDE = ("shown", "slots", "paints")  # keys of `cfg.spec` that are not the world's own


def spec_of(world: DictConfig, observation: str) -> DictConfig:
    """`${spec_of:${env.world},${env.observation}}`: `EnvSpec.to_dict()` of the world of a config, and beside it

    shown: the observation that models see, and in it `board`: cells along a side of the board it shows, 0: no board.
    slots: of models, the rows of a table, or the objects.
    paints: whether an action sets the appearance of its object.
    Raises the world's Problem on bad arguments.
    """
    plain = world if isinstance(world, dict) else OmegaConf.to_container(world, resolve=True)
    return _spec_of(json.dumps(plain), str(observation))


@lru_cache(maxsize=32)
def _spec_of(world: str, observation: str) -> DictConfig:
    """Read-only, since every `${spec}` of a config asks for it anew and is given the same one."""
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate

    from envs.protocols import Painting, ShowsBoard

    plain = json.loads(world)
    if not str(plain.get("_target_")).startswith("envs."):
        raise Problem(f"env.world names a class of the package envs, got '{plain.get('_target_')}'; set env.world._target_=")
    try:
        made = instantiate(plain)
    except InstantiationException as error:
        cause = error.__cause__ or error
        if isinstance(cause, Problem):
            raise cause from None
        why = " ".join(str(cause).split()).removesuffix(", set env var HYDRA_FULL_ERROR=1 to see chained exception.")
        raise Problem(f"env.world cannot be made: {why}; set env.world._target_= and the keys beside it") from error
    spec = made.spec
    shown = spec.shown(observation)
    slots = shown.shape[0] if len(shown.shape) == 2 else spec.objects
    found = spec.to_dict()
    side = made.cells_along if isinstance(made, ShowsBoard) and len(shown.shape) == 3 else 0
    board = side if side in CELLS else 0  # pictures of other worlds may be as large as those of a board
    beside = dict(zip(BESIDE, (found["observations"][observation] | {"board": board}, slots, isinstance(made, Painting))))
    whole = OmegaConf.create({**found, **beside})
    OmegaConf.set_readonly(whole, True)
    return whole


def trunk_of(shown: DictConfig, slots: int, size: str, channels: int, side: int | None = None) -> DictConfig:
    """`${trunk_of:${spec.shown},slots,size,channels,side}`: the trunk of an observation.

    A table: Entities.  Frames of a board: BoardMaps of a size.  Any other picture: ConvMaps, shrunk to a side, or of size
    `whole` SceneMaps, of `tiles` SceneTiles. Raises Problem on other slots than rows of a table, and on a side that nothing
    reads.
    """
    shape, board = list(shown["shape"]), shown["board"]
    if len(shape) == 2 and slots != shape[0]:
        raise Problem(
            f"model.slots={slots} and the table of this observation has {shape[0]} rows, each of which is a slot; "
            f"leave model.slots= out"
        )
    if side is not None and (len(shape) == 2 or size in WHOLE or board):
        whole = f"a picture that model.size={size} reads whole"
        shown_as = "a table" if len(shape) == 2 else "a board" if board else whole
        raise Problem(f"model.side={side} shrinks pictures, and this observation is {shown_as}; leave model.side= out")
    if len(shape) == 2:
        node = {"_target_": "models.encoders.Entities", "slots": slots, "numbers": shape[1], "values": shown["values"]}
    elif size in WHOLE and not board:
        node = {"_target_": f"models.encoders.{WHOLE[size]}", "slots": slots, "height": shape[0], "width": shape[1],
                "colors": shape[2]}  # fmt: skip
    elif board:
        node = {"_target_": "models.encoders.BoardMaps", "slots": slots, "board": board, "size": size, "channels": channels}
    else:
        node = {"_target_": "models.encoders.ConvMaps", "slots": slots, "height": shape[0], "width": shape[1],
                "colors": shape[2], "channels": channels, **({} if side is None else {"side": side})}  # fmt: skip
    return OmegaConf.create(node)


def whole_shape(shown: DictConfig, side: int | None) -> list[int]:
    """`${whole_shape:${spec.shown},${model.side}}`: the shape of an observation for an encoder that shrinks no pictures. Raises
    Problem on a side that it would not read."""
    if side is not None:
        raise Problem(f"model.side={side} shrinks pictures, and this encoder reads them whole; leave model.side= out")
    return shown["shape"]


def colors_of(shown: DictConfig) -> int:
    """`${colors_of:${spec.shown}}`: colours of a picture, three for each camera."""
    if len(shown["shape"]) != 3:
        raise Problem(f"a video encoder reads pictures (H, W, C), and this env.observation shows a table of shape "
                      f"{tuple(shown['shape'])}; set env.observation=pixels, or another model=")  # fmt: skip
    return shown["shape"][2]


def categorical_width(spec: DictConfig) -> int:
    """`${categorical_width:${spec}}`: choices of one owner, and positions of a map."""
    shape, board = spec["shown"]["shape"], spec["shown"]["board"]
    return choices(spec) + (1 if len(shape) == 2 else board**2 or shape[0] * shape[1] // 64)


def choices(spec: DictConfig) -> int:
    """`${choices:${spec}}`: actions of one owner; 0 where actions are not discrete."""
    action = spec["action"]
    return action["size"] // action["owners"] if action["discrete"] else 0


def name_part(observation: str) -> str:
    """`${name_part:${env.observation}}`: the part of a run's name for its observation, empty for frames."""
    return "" if observation == "pixels" else f"-{observation}"


for resolver in (spec_of, trunk_of, whole_shape, colors_of, categorical_width, choices, name_part):
    OmegaConf.register_new_resolver(resolver.__name__, resolver, replace=True)
