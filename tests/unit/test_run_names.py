"""The name of a run is text, whatever YAML reads in it."""

import pytest
from omegaconf import OmegaConf

from eval.runs import freeze, load_config


@pytest.mark.parametrize("name", ["5", "true", "1e3", "x"])
def test_a_name_is_text(name, compose, tmp_path):
    """With name=5 a run trained, wrote "run": 5 and failed ever after: results have a text there. Also for runs of before."""
    frozen = freeze(compose("fit", f"name={name}"))
    assert isinstance(frozen.name, str)
    OmegaConf.save({**frozen, "name": compose("fit", f"name={name}").name}, tmp_path / "config.yaml")
    assert load_config(tmp_path).name == frozen.name
