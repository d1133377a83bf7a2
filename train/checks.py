"""What a training is refused for before anything is made:
parts that do not fit, a plan that cannot end, a graph of another world.
"""

import sys

import torch
from torch import nn

from envs.collect import FINAL
from envs.problem import Problem, nearest
from envs.protocols import CausalGraph, CausalTables
from models.abilities import Demands, DrawsGraph, Remembers
from models.native_precision import MIXED, SINGLE, fast_precision
from train.distributed import processes_of


def _has_weights(objective) -> bool:
    """Whether it is a module with a state, which the checkpoint of the model would hold, or has weights that want to learn."""
    if isinstance(objective, nn.Module):
        return bool(objective.state_dict())
    held = getattr(objective, "__dict__", {}).values()
    learned = [p for one in held if isinstance(one, nn.Module) for p in one.parameters()]
    return any(p.requires_grad for p in [*learned, *(one for one in held if isinstance(one, nn.Parameter))])


def check_parts(model, objectives, spec, stages=()) -> None:
    """Raise Problem on the first unmet need of a part of the model or of an objective,
    and on a stage that trains what is not there.
    """
    for part in (model.encoder, model.transition, model.decoder, *objectives):
        for met, sentence in part.needs(model, spec) if isinstance(part, Demands) else ():
            if not met:
                raise Problem(sentence)
    for one in objectives:
        if _has_weights(one):
            raise Problem(f"{type(one).__name__} holds weights, and stages train parts of the model alone; make them "
                          f"attributes of the transition, and read them as model.transition.<name>")  # fmt: skip
    for stage in stages:
        for name in stage.trains:
            if name not in model.PARTS or getattr(model, name) is None:
                there = [part for part in model.PARTS if getattr(model, part) is not None]
                raise Problem(
                    f"stage '{stage.name}' trains the {name}, and this model has {', '.join(there)}; choose another loss="
                )
    learned = {name for stage in stages for name in stage.trains}
    untrained = "encoder" not in learned and any(p.numel() for p in model.encoder.parameters())
    if stages and untrained and any(getattr(one, "wants_learned_encoder", False) for one in objectives):
        raise Problem(f"no stage of this loss trains the encoder, and {type(model.encoder).__name__} would stay as it was "
                      f"drawn; choose another loss=, or a model whose encoder has nothing to learn: "
                      f"model=fingers, model=tracks")  # fmt: skip


def _check_updates(updates, rounds: dict[str, int]) -> None:
    """Raise Problem where rounds would have none.  updates: of all stages, or of each.  rounds: of each stage, by its name."""
    if isinstance(updates, int):
        if updates < (count := sum(rounds.values())):
            raise Problem(
                f"trainer.updates={updates} are to be shared by {count} rounds; set it to {count} or more, "
                f"or the epochs of its stages to less"
            )
        return
    if len(updates) != len(rounds):
        raise Problem(f"trainer.updates= has {len(updates)} numbers, and the loss has {len(rounds)} "
                      f"stage{'s' if len(rounds) > 1 else ''}, {', '.join(rounds)}; "
                      f"give one for each, or one number that all share")  # fmt: skip
    for own, (stage, count) in zip(updates, rounds.items()):
        if own < count:
            raise Problem(
                f"trainer.updates= gives {own} to stage {stage}, which has {count} rounds; give it {count} or more, "
                f"or set its epochs to less"
            )


def check_plan(cfg) -> None:
    """Raise Problem on a machine, a budget, splits, stages and processes that do not fit together."""
    _check_machine(cfg)
    _check_budget(cfg)
    _check_splits(cfg)
    _check_stages(cfg)


def _check_machine(cfg) -> None:
    """Raise Problem where this machine has not what the trainer asks for."""
    if cfg.trainer.accelerator == "gpu" and not torch.cuda.is_available():
        raise Problem(
            f"trainer={cfg.trainer.name} needs a GPU and none is visible; use trainer=quick, or resume where a GPU is"
        )
    if cfg.trainer.precision == MIXED != fast_precision(cfg.trainer.accelerator):
        raise Problem(
            f"trainer.precision={MIXED} needs bfloat16, which this machine has no instructions for; "
            f"set trainer.precision={SINGLE}, or train and resume where it has"
        )
    if cfg.trainer.precision == "16-mixed" and (cfg.trainer.accelerator == "cpu" or not torch.cuda.is_available()):
        raise Problem(f"trainer.precision=16-mixed needs a GPU; set trainer.precision={SINGLE}")


def _check_budget(cfg) -> None:
    """Raise Problem on a time or a number of updates that several processes would share, or that are not enough."""
    processes, kinds = processes_of(cfg), {"cpu_minutes": "is the time", "updates": "is the number of updates"}
    asked = [key for key in kinds if cfg.trainer.get(key)]
    if asked and processes > 1:
        raise Problem(f"trainer.{asked[0]}= {kinds[asked[0]]} of one process, and {processes} are asked for; "
                      f"set trainer.devices=1, or trainer=ddp")  # fmt: skip
    if len(asked) > 1:
        raise Problem(f"a training has so much time or so many updates, and got both, "
                      f"trainer.{asked[0]}={cfg.trainer[asked[0]]} and trainer.{asked[1]}={cfg.trainer[asked[1]]}; "
                      f"leave one of them out")  # fmt: skip
    if updates := cfg.trainer.get("updates"):
        _check_updates(updates, {stage.name: stage.epochs for stage in cfg.loss.stages})


def _check_splits(cfg) -> None:
    """Raise Problem on splits that are missing, that share episodes with training, that are final, or too short."""
    for split in ("train", "valid", cfg.score.split):  # a resumed run is not checked elsewhere
        if split not in cfg.env.splits:
            raise Problem(f"env '{cfg.env.name}' has no split '{split}': {nearest(split, cfg.env.splits)}")
    train = cfg.env.splits.train
    for split in {"valid", cfg.score.split} - {"train"}:
        own = cfg.env.splits[split]
        if "mode" in train and (own.seed, own.get("mode")) == (train.seed, train.mode):
            raise Problem(f"split '{split}' of env '{cfg.env.name}' has the seed of split 'train', {own.seed}, and so its "
                          f"episodes; set env.splits.{split}.seed= to another")  # fmt: skip
    if cfg.score.split == FINAL:
        raise Problem(
            "split 'final' is scored after a setting was chosen, by eval/score.py split=final; set score.split=select"
        )
    if max(cfg.score.horizons) > cfg.env.splits[cfg.score.split].length:
        raise Problem(
            f"score.horizons={list(cfg.score.horizons)} reach beyond the episodes of split '{cfg.score.split}' "
            f"({cfg.env.splits[cfg.score.split].length} actions); shorten the horizons or set "
            f"env.splits.{cfg.score.split}.length="
        )


def _check_stages(cfg) -> None:
    """Raise Problem on a stage whose windows, frames or processes do not fit its clips, its batch and its splits."""
    processes = processes_of(cfg)
    for number, stage in enumerate(cfg.loss.stages):
        if stage.get("hard_share", 0) and "transition" not in stage.trains:
            raise Problem(
                f"loss.stages.{number}.hard_share={stage.hard_share} draws windows by the errors of the transition, and stage "
                f"'{stage.name}' does not train it; set it to 0"
            )
        looked_at = cfg.model.get("frames")
        asked = looked_at if looked_at is None or isinstance(looked_at, int) else max(looked_at) + 1
        if asked is not None and asked > stage.window + 1:
            raise Problem(
                f"model.frames={looked_at} asks for {asked} frames, and a clip has {stage.window + 1}; "
                f"set model.frames= to less"
            )
        if processes > max(1, stage.batch_size // stage.window):
            raise Problem(
                f"trainer.devices and trainer.nodes ask for {processes} processes, and a batch of stage '{stage.name}' is "
                f"{max(1, stage.batch_size // stage.window)} windows; set loss.stages.{number}.batch_size="
                f"{processes * stage.window} or more"
            )
        for split in ("train", "valid"):
            if stage.window > cfg.env.splits[split].length:
                raise Problem(
                    f"loss.stages.{number}.window={stage.window} is longer than the episodes of split '{split}' "
                    f"({cfg.env.splits[split].length} actions); shorten it or set env.splits.{split}.length="
                )
            windows = cfg.env.splits[split].episodes * (cfg.env.splits[split].length // stage.window)
            if windows < processes:
                raise Problem(
                    f"{processes} processes cannot share the {windows} windows of split '{split}'; set trainer.devices= to "
                    f"fewer or env.splits.{split}.episodes= to more"
                )


def check_graph(world, transition) -> None:
    """Raise Problem on a given graph that is not the world's, and on learned edges in a world whose effects are delayed."""
    graph = transition.graph if isinstance(transition, DrawsGraph) else None
    known = isinstance(world, CausalGraph) and world.parents.tolist()
    if graph == "given" and known and (transition.fixed.numpy() > 0).tolist() != known:
        raise Problem(
            "model.graph=given has another graph than the world; set env.world.graph= to that of env.world.scm=, "
            "and env.world.numbering=causal, so that it is not renumbered"
        )
    if graph == "learned" and isinstance(world, CausalTables) and world.model.delays is not None:
        raise Problem("model.graph=learned learns effects within a step, this env delays them; use model.graph=none or full")


def tell_untrained_memory(transition, stages) -> None:
    """On stderr, where no window has a second step for a memory to be read at:
    rollouts go on from weights as they were drawn.
    """
    windows = [stage.window for stage in stages if "transition" in stage.trains]
    if isinstance(transition, Remembers) and windows and max(windows) == 1:
        print(f"warning: windows of one step train no memory, and {type(transition).__name__} has one, which every prediction "
              f"after the first reads; set loss.window=2 or more", file=sys.stderr, flush=True)  # fmt: skip
