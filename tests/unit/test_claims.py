"""Claims: each is judged by the runs that are there, can fail, and says when it cannot be told."""

import json
from pathlib import Path

import pytest

from eval.claims import H1, RANDOM, SUCCESS, Verdict, check_claims, claims_markdown, partly_correlated, structure_helps
from eval.panels import run_name

PHYSICS = ("AE + contrastive", "GNN + contrastive", "Modular + contrastive", "AE + NLL", "VAE + NLL", "GNN + NLL", "Modular + NLL")


@pytest.fixture
def cfg(tmp_path):
    return {"budget": "2min", "seeds": 2, "runs_dir": str(tmp_path)}


def put(cfg, row, env, seed=0, file="results.json", **metrics):
    folder = Path(cfg["runs_dir"]) / run_name(row, env, "2min", seed)
    folder.mkdir(exist_ok=True)
    path = folder / file
    before = json.loads(path.read_text())["metrics"] if path.exists() else {}
    path.write_text(json.dumps({"metrics": before | {key.replace("__", "/"): value for key, value in metrics.items()}}))


def found(cfg, words) -> Verdict:
    (verdict,) = [v for v in check_claims(cfg) if words in v.claim]
    return verdict


def test_without_runs_nothing_can_be_told(cfg):
    verdicts = check_claims(cfg)
    assert len(verdicts) == 11 and {v.word for v in verdicts} == {"cannot be told"}
    assert claims_markdown(verdicts, cfg).count("cannot be told") == 11


def test_structure_against_a_monolithic_model(cfg):
    """Both structured models must win in every setting that is there; seeds are averaged."""
    put(cfg, "AE + contrastive", "physics5", **{H1: 80.0})
    put(cfg, "GNN + contrastive", "physics5", **{H1: 90.0})
    put(cfg, "Modular + contrastive", "physics5", seed=0, **{H1: 70.0})
    words = "contrastive loss, H@1"
    assert found(cfg, words).holds is False and "Modular 70.0, AE 80.0 (no)" in found(cfg, words).figures
    put(cfg, "Modular + contrastive", "physics5", seed=1, **{H1: 95.0})
    assert found(cfg, words).holds is True and "Modular 82.5" in found(cfg, words).figures
    put(cfg, "AE + contrastive", "physics3", **{H1: 99.0})
    put(cfg, "GNN + contrastive", "physics3", **{H1: 90.0})
    put(cfg, "Modular + contrastive", "physics3", **{H1: 99.5})
    assert found(cfg, words).holds is False and found(cfg, "RL success in 10 steps").holds is None


def test_scaling_is_the_share_that_is_kept(cfg):
    """90 to 60 keeps two thirds, 50 to 40 four fifths."""
    for row, three, five in (("AE", 90.0, 60.0), ("GNN", 80.0, 40.0), ("Modular", 50.0, 40.0)):
        put(cfg, f"{row} + contrastive", "physics3", **{H1: three})
        put(cfg, f"{row} + contrastive", "physics5", **{H1: five})
    assert found(cfg, "scale best").holds is True
    put(cfg, "AE + contrastive", "physics5", **{H1: 80.0})
    assert found(cfg, "scale best").holds is False


def test_the_collider_with_and_without_its_ceiling(cfg):
    """Best as it is, and worst as a share of what can be had."""
    for graph, got, ceiling in (("collider", 60.0, 90.0), ("chain", 50.0, 55.0), ("full", 48.0, 50.0)):
        put(cfg, "AE + NLL", f"chemistry_{graph}5", **{H1: got, "ceiling/hits@1/h10": ceiling})
    assert found(cfg, "10 steps as it is").holds is True and found(cfg, "as a share").holds is False


def test_rank_correlation(cfg):
    """Perfect agreement is more than partial, a shuffled order is not, and four models tell nothing."""
    for n, row in enumerate(PHYSICS):
        put(cfg, row, "physics5", **{H1: float(n), SUCCESS: 2.0 * n, RANDOM: 0.0})
    assert found(cfg, "H@1 and RL success").holds is False and "1.00 over 7 models" in found(cfg, "H@1 and RL success").figures
    for n, row in enumerate(PHYSICS):
        put(cfg, row, "physics5", **{SUCCESS: float((3 * n) % 7)})
    assert found(cfg, "H@1 and RL success").holds is True
    for n, row in enumerate(PHYSICS[:4]):
        put(cfg, row, "physics3", **{H1: float(n), SUCCESS: float(n)})
    assert "physics3" not in found(cfg, "H@1 and RL success").figures


def test_most_is_more_than_half(cfg):
    for n, row in enumerate(PHYSICS):
        put(cfg, row, "physics5", **{SUCCESS: 1.0 if n < 4 else 50.0, RANDOM: 0.0})
    verdict = found(cfg, "slightly better than a random")
    assert verdict.holds is True and "4 of 7" in verdict.figures
    put(cfg, PHYSICS[0], "physics5", **{SUCCESS: 9.0})
    assert found(cfg, "slightly better than a random").holds is False


def test_functions_take_any_reader():
    """A claim asks for rows, envs and keys by name and nothing else."""
    asked = []
    structure_helps(lambda row, env, key: asked.append((row, env, key)), H1, "x")
    partly_correlated(lambda row, env, key: asked.append((row, env, key)), H1, "x")
    assert {key for _, _, key in asked} == {H1, SUCCESS} and ("VAE + NLL", "chemistry_full5", SUCCESS) in asked
