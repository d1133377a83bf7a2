"""The Python of docs/trifinger.md runs as it stands, from the first line to the last."""

import re

import pytest

pytest.importorskip("pybullet")


def test_the_page_runs(root, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (root / "docs/trifinger.md").read_text(), re.S)
    assert len(blocks) == 5
    names: dict = {}
    for block in blocks:
        exec(compile(block, "docs/trifinger.md", "exec"), names)
    assert "did you mean 'tool_block/mass'" in capsys.readouterr().out
    env = names["env"]
    assert env.success() == {"fractional_success": 0.0, "success": False}
    assert env.observe().shape == (28 + 2 * 17 + 2 * 11,) and env.intervene(env.sample_goal("a")).accepted
