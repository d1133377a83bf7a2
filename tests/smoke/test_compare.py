"""docs/compare.md: a model that is no run of ours is scored, and boards are stepped, as the page says."""

import re


def test_the_snippets_of_the_page_run(root, tmp_path, monkeypatch, capsys):
    """In a small world. Who predicts the start has the scores of the floor."""
    monkeypatch.chdir(tmp_path)
    scoring, acting = re.findall(r"```python\n(.*?)```", (root / "docs/compare.md").read_text(), re.S)
    small = scoring.replace('["env=physics5"]', '["env=physics3", "env.splits.test.episodes=60"]')
    assert small != scoring
    exec(small, {})
    printed = dict(line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines() if re.match(r"(test|floor)/\S+ +[\d.]+$", line))
    for score in ("hits@1/h10", "mrr/h1", "cf_hits@1/mean/h10"):
        assert printed[f"test/{score}"] == printed[f"floor/copy/{score}"]
    assert float(printed["test/cf_hits@1/mean/h1"]) == 33.33 and len(list((tmp_path / "data").glob("physics3-test-*.h5"))) == 1
    names = {}
    exec(acting, names)
    assert names["frames"].shape == (8, 50, 50, 3) == names["info"]["goal"].shape
