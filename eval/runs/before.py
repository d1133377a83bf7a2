"""Configs of older runs as they would be written today: keys that have other names now, sizes that now have one home, and
keys that came later."""

CLASSES = {  # that have another name today
    "models.encoders.categorical.CodeEncoder": "models.encoders.categorical.CategoricalEncoder",
    "models.transitions.pairwise_lstm.WitnessTransition": "models.transitions.pairwise_lstm.PairwiseLSTMTransition",
    "losses.inverse_action.CodeLikelihood": "losses.inverse_action.CategoricalLikelihood",
    "envs.trifinger.interventions.curriculum.Turn": "envs.trifinger.interventions.curriculum.Phase",
}
MODELS = {"codes": "categorical", "witness": "pairwise_lstm"}
_KEYS = {"looks": "appearance", "turns": "phases"}
_KEYS_OF = {"models.transitions.causal.CausalTransition": {"codes": "categories"}}

HEADS = {  # of encoders -> the size of their maps where the config says none
    "models.encoders.SlotEncoder": "medium", "models.encoders.FlatEncoder": "medium",
    "models.encoders.VariationalEncoder": "medium", "models.encoders.categorical.CategoricalEncoder": "patch",
}  # fmt: skip
DECODERS = ("models.decoders.SlotDecoder", "models.decoders.FlatDecoder")
OWNED = ("models.transitions.gnn.GNNTransition", "models.transitions.causal.CausalTransition")
SIZES = ("num_objects", "num_colors", "action_size", "board", "factors")  # that an env said beside its world


def with_names_of_today(node):
    """A plain part of a config in which every class, key and size has the name of today."""
    if isinstance(node, list):
        return [with_names_of_today(item) for item in node]
    if not isinstance(node, dict):
        return node
    target = node.get("_target_")
    target = CLASSES.get(target, target) if isinstance(target, str) else target
    keys = _KEYS | _KEYS_OF.get(target, {}) if isinstance(target, str) else _KEYS
    node = {keys.get(key, key): with_names_of_today(value) for key, value in node.items()}
    if node.get("size") == "cells":
        node["size"] = "patch"
    return {**node, "_target_": target} if target is not None else node


def _encoder(node: dict) -> dict:
    slots, table, board = node.pop("num_objects"), node.pop("factors", 0), node.pop("board", 5)
    size, channels = node.pop("size", HEADS[node["_target_"]]), node.pop("channels", 32)
    if table:
        trunk = {"_target_": "models.encoders.Entities", "slots": slots, "numbers": table, "values": "binary"}
    else:
        trunk = {"_target_": "models.encoders.BoardMaps", "slots": slots, "board": board, "size": size, "channels": channels}
    if "num_colors" in node:
        node["choices"] = node.pop("num_colors")
    return {**node, "trunk": trunk}


def _decoder(node: dict) -> dict:
    slots, table, board = node.pop("num_objects"), node.pop("factors", 0), node.pop("board", 5)
    shape = [slots, table] if table else [10 * board, 10 * board, 3]
    said = {"slots": slots, "shape": shape, "board": 0 if table else board}
    return {**node, **said, "values": "binary", "variance": "unit", "side": None}


def _part(node):
    """A node of a model, with everything below it."""
    if not isinstance(node, dict):
        return node
    node = {key: _part(value) for key, value in node.items()}
    target, sized = node.get("_target_"), "num_objects" in node
    if target in HEADS and sized:
        return _encoder(node)
    if target in DECODERS and sized:
        return _decoder(node)
    if target in OWNED and sized and node.get("owners") is None:
        return {**node, "owners": node["num_objects"]}
    return node


def _agent(config: dict) -> dict:
    """The config of a model-free agent; those of before were all PPO's and rewarded densely."""
    if not isinstance(config.get("algo"), dict):
        return config
    later = {"logger": {"name": "csv"}, "evaluate": {"every": None}}
    later |= {"reward": "dense", "residual": None} if "curriculum" in config else {}
    return {**later, **config, "algo": {"name": "ppo", **config["algo"]}}


def as_of_today(config: dict) -> dict:
    """A plain config of a run; one of today comes back as it is.  Values of a strange kind are left to the checks."""
    config = _agent(config)
    config = {
        **config,
        **{part: with_names_of_today(config[part]) for part in ("model", "loss", "curriculum") if part in config},
    }
    env, model = config.get("env"), config.get("model")
    if isinstance(model, dict) and isinstance(model.get("name"), str):
        model["name"] = MODELS.get(model["name"], model["name"])
    if not isinstance(env, dict) or not isinstance(model, dict) or "num_objects" not in env or "spec" in config:
        return config
    asked = {"slots": env["num_objects"]}
    encoder = (model.get("module") or {}).get("encoder") or {}
    if encoder.get("_target_") == "models.encoders.SlotEncoder":
        asked["appearance"] = encoder.get("appearance", 0)
    env = {key: value for key, value in env.items() if key not in SIZES}
    return {**config, "env": env, "model": {**asked, **model, "module": _part(model.get("module"))}}


def plain_loss(loss: dict, budget: str | None) -> dict:
    """A loss without what came later and trains nothing else than before: rounds where the budget is none of minutes, the
    hinge's second negative where there is none, and frames that are left out where none are."""
    found = dict(loss)
    if budget != "minutes":
        found |= {key: {k: v for k, v in of.items() if k != "minutes"} for key, of in loss.items()
                  if key.endswith("epochs") and isinstance(of, dict)}  # fmt: skip
    if loss.get("name") == "contrastive" and not loss.get("same_episode"):
        found.pop("same_episode", None)
        found["stages"] = [{**stage, "objective": {k: v for k, v in stage["objective"].items() if k != "same_episode"}}
                           for stage in loss["stages"]]  # fmt: skip
    if loss.get("name") == "infonce_open_loop":
        found.pop("batch_size", None)  # its stage says it
    if "later" in loss and loss["later"] is None:
        del found["later"]
    found["stages"] = [_without_later(stage) for stage in found["stages"]]
    return found


def _without_later(stage: dict) -> dict:
    objective = stage.get("objective")
    if not isinstance(objective, dict) or objective.get("later", 0) is not None:
        return stage
    return {**stage, "objective": {key: value for key, value in objective.items() if key != "later"}}
