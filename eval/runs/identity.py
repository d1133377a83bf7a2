"""Which experiment a config is: what decides its science, its hash, and where two configs differ."""

import hashlib
import json
import re
from collections.abc import Iterator

from omegaconf import DictConfig, OmegaConf

from eval.runs.before import plain_loss

_BEFORE = {"board": 5, "own_window": True}  # of keys that came later
_BEFORE_OF_WORLD = {"camera": "eyes", "drawn": 1, "motion": None}  # the same of a world: they change no hash
_OF_WORLD = ("graph", "dynamic", "delay")  # of chemistry; they stand below env.world as well
_NOT_SCIENCE = (  # `spec` follows from env.world, name_part is a table of before
    "name", "data_dir", "runs_dir", "resume", "overwrite", "logger", "experiment", "hydra", "goals", "data", "spec",
    "name_part", "row", "ledger", "evaluate",
)  # fmt: skip


def family(env: str) -> str:
    """The family of an env by its name: physics of physics5_unobserved."""
    return env.partition("_")[0].rstrip("0123456789")


def _science(cfg: DictConfig) -> dict:
    found = {k: v for k, v in OmegaConf.to_container(cfg, resolve=True).items() if k not in _NOT_SCIENCE}
    if isinstance(found.get("env"), dict):
        found["env"] = {k: v for k, v in found["env"].items() if k not in _OF_WORLD}
        if isinstance(world := found["env"].get("world"), dict):
            found["env"]["world"] = {k: v for k, v in world.items() if k not in _BEFORE_OF_WORLD or v != _BEFORE_OF_WORLD[k]}
    if isinstance(found.get("loss"), dict) and "stages" in found["loss"]:  # their names name files and train nothing
        loss = plain_loss(found["loss"], (found.get("trainer") or {}).get("budget"))
        found["loss"] = {**loss, "stages": [{**stage, "name": ""} for stage in loss["stages"]]}
    return found


def config_hash(cfg: DictConfig, seed: bool = True) -> str:
    """Names the science of a run: equal hashes, equal experiment; paths and loggers do not count.

    seed=False: equal for runs that differ in nothing but their seed.
    """
    science = {k: v for k, v in _science(cfg).items() if seed or k != "seed"}
    return hashlib.sha256(json.dumps(science, sort_keys=True).encode()).hexdigest()[:12]


def differences(before: DictConfig, now: DictConfig) -> str | None:
    """Where two configs mean another experiment, 'key: before, now'; None where they are the same.

    The most telling three are named: the seed, then another env, model, loss or trainer as such, then single keys.

    What runs of before do not say, because the code did not know it, had the value in `_BEFORE`; splits to test on that
    were added since change no training.
    """
    return differing(_science(before), _science(now))


def differing(before: dict, now: dict) -> str | None:
    """`differences` of what two configs hold."""

    def walk(a, b, path) -> Iterator[tuple[str, str]]:
        if a == "nothing" and path and (path[:2] == ("env", "splits") or b == _BEFORE.get(path[-1])):
            return
        if isinstance(a, dict) and isinstance(b, dict):
            another = len(path) == 1 and a.get("name") != b.get("name")  # what it holds follows
            for key in ["name"] if another else dict.fromkeys([*a, *b]):
                yield from walk(a.get(key, "nothing"), b.get(key, "nothing"), (*path, key))
        elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
            for i, (x, y) in enumerate(zip(a, b)):
                yield from walk(x, y, (*path, str(i)))
        elif a != b:
            yield ".".join(path), f"{a} there, {b} here"

    found = dict(walk(before, now, ()))
    first = sorted(found, key=lambda key: (key != "seed", not re.fullmatch(r"\w+\.name", key)))
    shown = [f"{key}: {found[key]}" for key in first[:3]]
    return "; ".join([*shown, *([f"and {len(found) - 3} more"] if len(found) > 3 else [])]) or None
