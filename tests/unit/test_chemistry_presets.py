"""Graph, dynamics and delay are arguments of one env: the presets are these with a name, and data files are called alike."""

import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from configs import command
from configs.limits import check_values
from envs.collect import collect
from envs.problem import Problem


@pytest.mark.parametrize("preset, asked", [
    ("chemistry_chain5", ["env.graph=chain5"]), ("chemistry_chain10", ["env.graph=chain10"]),
    ("chemistry_full5_dynamic", ["env.graph=full5", "env.dynamic=true"]),
    ("chemistry_collider5_delayed", ["env.graph=collider5", "env.delay=1"]),
])  # fmt: skip
def test_arguments_and_preset_are_one_env(preset, asked, compose, tmp_path):
    """The same config, the same name, the same file."""
    one, other = compose("fit", f"env={preset}"), compose("fit", "env=chemistry", *asked)
    plain = [OmegaConf.to_container(cfg, resolve=True) for cfg in (one, other)]
    assert plain[0] == plain[1] and plain[0]["env"]["name"] == preset
    plain[0]["env"]["splits"]["valid"]["episodes"] = 2
    first = collect(plain[0]["env"], instantiate(one.env.world), "valid", tmp_path, quiet=True).path
    assert collect(plain[0]["env"], instantiate(other.env.world), "valid", tmp_path, quiet=True).path == first
    assert first.name.startswith(f"{preset}-valid-")


@pytest.mark.parametrize("asked, name", [
    (["env.delay=3"], "chemistry_chain5_delayed-3"),
    (["env.delay=poisson", "env.dynamic=true"], "chemistry_chain5_dynamic_delayed-poisson"),
    (["env.graph='0->{1-2}'"], "chemistry_graph-"), (["env.graph=[[0,0],[1,0]]"], "chemistry_graph-"),
])  # fmt: skip
def test_names_tell_the_arguments(asked, name, compose):
    """Also where no preset has them; a graph as large as it says gives so many objects."""
    cfg = compose("fit", "env=chemistry", *asked)
    check_values(cfg)
    assert cfg.env.name.startswith(name) and cfg.spec.objects == instantiate(cfg.env.world).num_objects


@pytest.mark.parametrize("asked, said", [
    ("env.graph=chian5", "chian5"), ("env.graph='0->>1'", "at character 4"),
    ("env.dynamic=5", "env.dynamic must be true or false"),
    ("env.delay=0", "a whole number of steps >= 1, or poisson; got 0"),
])  # fmt: skip
def test_bad_arguments_are_told(asked, said, compose):
    with pytest.raises(Problem) as problem:
        check_values(compose("fit", "env=chemistry", asked))
    assert said in str(problem.value)


def test_an_entry_that_is_called_by_its_arguments_is_accepted():
    """Names of other entries must be those of their files."""
    command.check("fit", ["env=chemistry", "env.graph=full5"])
