"""Config groups and which model goes with which loss, as the parts say by themselves."""

from functools import cache
from pathlib import Path
from types import SimpleNamespace

import yaml

from eval.runs.trusted import find_class
from models.abilities import Demands

CONFIGS = Path(__file__).resolve().parents[2] / "configs"


OF_ONE_TABLE = ("fingers", "tracks")  # read tables alone; see tests/unit/test_fingers.py, tests/unit/test_surprise.py
OF_CLIPS = ("ofpr", "of", "always_expected")  # judge whole clips and predict no frames; see tests/unit/test_ofpr.py


def entries(group):
    return sorted(p.stem for p in (CONFIGS / group).glob("*.yaml") if not p.name.startswith("_"))


def models():
    """Model configs that go with any observation and speak all verbs."""
    return [name for name in entries("model") if name not in (*OF_ONE_TABLE, *OF_CLIPS)]


def _merged(base, more):
    def over(key, value):
        before = base.get(key)
        return _merged(before if isinstance(before, dict) else {}, value) if isinstance(value, dict) else value

    return {**base, **{key: over(key, value) for key, value in more.items()}}


@cache
def plain(group, name):
    """An entry with what it begins with; to be read, not changed."""
    own = yaml.safe_load((CONFIGS / group / f"{name}.yaml").read_text())
    for base in own.pop("defaults", []):
        own = own if base == "_self_" else _merged(plain(group, base), own)
    return own


@cache
def pair(model, loss):
    """Whether no objective of a loss refuses the model's kind of latent."""
    encoder = object.__new__(find_class(plain("model", model)["module"]["encoder"]["_target_"]))
    decoder = plain("model", model)["module"].get("decoder")
    decoder = decoder and object.__new__(find_class(decoder["_target_"]))
    transition = plain("model", model)["module"].get("transition")
    transition = transition and object.__new__(find_class(transition["_target_"]))
    asked = SimpleNamespace(
        encoder=SimpleNamespace(gives=getattr(type(encoder), "gives", "vectors")), decoder=decoder, transition=transition
    )
    spec = SimpleNamespace(action=SimpleNamespace(discrete=True, owners=3), objects=3, paints=True)
    classes = [find_class(stage["objective"]["_target_"]) for stage in plain("loss", loss)["stages"]]
    return all(met for c in classes if issubclass(c, Demands) for met, _ in object.__new__(c).needs(asked, spec))
