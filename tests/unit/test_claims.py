"""Claims: each is judged by the finished runs, can fail, and says when it cannot be decided."""

import json
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from eval import tables
from eval.paper.claims import H1, RANDOM, SUCCESS, Verdict, check_claims, claims_markdown, partly_correlated, structure_helps
from eval.paper.table_specs import metrics_of, run_name

PHYSICS = ("AE + contrastive", "GNN + contrastive", "Modular + contrastive",
           "AE + NLL", "VAE + NLL", "GNN + NLL", "Modular + NLL")  # fmt: skip


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
    assert len(verdicts) == 11 and {v.holds for v in verdicts} == {None}
    assert claims_markdown(verdicts, cfg).count("cannot be decided") == 11


def test_claims_are_written_where_runs_decide_any(cfg, tmp_path, capsys):
    """A table of the robot decides none of them, and neither does one of boards before its runs."""
    asked = {**cfg, "seeds": 1, "figure": None, "rows": None, "run_missing": False, "ledger": str(tmp_path / "ledger"),
             "out": str(tmp_path / "out")}  # fmt: skip
    page = tmp_path / "out" / cfg["budget"]
    tables.run(OmegaConf.create({**asked, "table": "trifinger"}))
    assert (page / "trifinger.md").exists() and not (page / "claims.md").exists()
    assert "the paper says" not in capsys.readouterr().out
    for model in ("AE", "GNN", "Modular"):
        put(cfg, f"{model} + contrastive", "physics5", **{H1: 50.0})
    tables.run(OmegaConf.create({**asked, "table": "trifinger"}))
    assert "in 0 of 1 settings decided" in (page / "claims.md").read_text() and "the paper says" in capsys.readouterr().out


def counts(verdict) -> tuple[int, int, int]:
    return verdict.speaking, verdict.decided, verdict.asked


def test_structure_against_a_monolithic_model(cfg):
    """Both structured models must win in every setting; seeds are averaged; at the floor there is nothing to compare."""
    put(cfg, "AE + contrastive", "physics5", **{H1: 80.0})
    put(cfg, "GNN + contrastive", "physics5", **{H1: 90.0})
    put(cfg, "Modular + contrastive", "physics5", seed=0, **{H1: 70.0})
    words = "contrastive loss, H@1"
    assert counts(found(cfg, words)) == (0, 1, 9) and "Modular 70.0, AE 80.0 (no)" in found(cfg, words).figures
    put(cfg, "Modular + contrastive", "physics5", seed=1, **{H1: 95.0})
    assert counts(found(cfg, words)) == (1, 1, 9) and "Modular 82.5" in found(cfg, words).figures
    assert found(cfg, words).holds is None, "one setting of nine is not enough"
    for env in ("physics3", "physics3_unobserved", "physics5_unobserved", "chemistry_full5"):
        for row, value in (("AE", 70.0), ("GNN", 80.0), ("Modular", 90.0)):
            put(cfg, f"{row} + contrastive", env, **{H1: value})
    assert found(cfg, words).holds is True and found(cfg, words).word.startswith("holds: in 5 of 5")
    put(cfg, "AE + contrastive", "physics3", **{H1: 80.0})
    assert found(cfg, words).holds is False, "equal is not better"
    for row in ("AE", "GNN", "Modular"):
        put(cfg, f"{row} + contrastive", "physics3", **{H1: {"AE": 0.0, "GNN": 0.02, "Modular": 0.03}[row]})
    assert counts(found(cfg, words)) == (4, 4, 9)
    assert found(cfg, "RL success in 10 steps").holds is None


def test_scaling_is_the_share_that_is_kept(cfg):
    """90 to 60 keeps two thirds, 50 to 40 four fifths; from next to nothing nothing can be kept."""
    for setting in ("", "_unobserved"):
        for row, three, five in (("AE", 90.0, 60.0), ("GNN", 80.0, 40.0), ("Modular", 50.0, 40.0)):
            put(cfg, f"{row} + contrastive", f"physics3{setting}", **{H1: three})
            put(cfg, f"{row} + contrastive", f"physics5{setting}", **{H1: five})
    assert found(cfg, "scale best").holds is True
    put(cfg, "AE + contrastive", "physics5", **{H1: 80.0})
    assert counts(found(cfg, "scale best")) == (1, 2, 3) and found(cfg, "scale best").holds is False
    put(cfg, "Modular + contrastive", "physics3", **{H1: 0.02})
    assert counts(found(cfg, "scale best")) == (1, 1, 3)


def test_the_collider_with_and_without_its_ceiling(cfg):
    """Best as it is, and worst as a share of what can be had."""
    for row in PHYSICS[:4]:
        for graph, got, ceiling in (("collider", 60.0, 90.0), ("chain", 50.0, 55.0), ("full", 48.0, 50.0)):
            put(cfg, row, f"chemistry_{graph}5", **{H1: got, "bayes/hits@1/h10": ceiling})
    assert found(cfg, "10 steps as it is").holds is True and found(cfg, "as a share").holds is False
    for graph, got in (("collider", 60.0), ("chain", 50.0), ("full", 48.0)):
        put(cfg, PHYSICS[4], f"chemistry_{graph}5", **{H1: got})
    shares = found(cfg, "as a share")
    assert counts(shares)[:2] == (0, 4) and counts(found(cfg, "as it is"))[:2] == (5, 5), (
        "H@1 without a ceiling is no share of one"
    )


def test_rank_correlation(cfg):
    """Perfect agreement is more than partial, a shuffled order is not, and four models tell nothing."""
    words = "H@1 and RL success"
    for n, row in enumerate(PHYSICS):
        put(cfg, row, "physics5", **{H1: float(n), SUCCESS: 2.0 * n})
    assert counts(found(cfg, words)) == (0, 1, 9) and "1.00 over 7 models" in found(cfg, words).figures
    for n, row in enumerate(PHYSICS):
        put(cfg, row, "physics5", **{SUCCESS: float((3 * n) % 7)})
    assert counts(found(cfg, words)) == (1, 1, 9)
    for n, row in enumerate(PHYSICS[:4]):
        put(cfg, row, "physics3", **{H1: float(n), SUCCESS: float(n)})
    assert "physics3" not in found(cfg, words).figures


def test_most_is_more_than_half_of_all(cfg):
    """Four of seven models, each against the random policy; while one is missing nothing is told."""
    words = "slightly better than a random"
    for env in ("physics5", "physics5_unobserved"):
        for n, row in enumerate(PHYSICS):
            assert env not in found(cfg, words).figures
            put(cfg, row, env, **{SUCCESS: 1.0 if n < 4 else 50.0, RANDOM: 0.0})
    assert found(cfg, words).holds is True and "4 of 7" in found(cfg, words).figures
    put(cfg, PHYSICS[0], "physics5", **{SUCCESS: 9.0})
    assert found(cfg, words).holds is False


def test_another_run_under_a_rows_name_is_not_the_row(cfg):
    """Env, seed, loss and epochs are looked at: a folder's name proves nothing."""
    put(cfg, "AE + NLL", "physics5", **{H1: 99.0})
    path = next(Path(cfg["runs_dir"]).glob("*/results.json"))
    assert metrics_of("AE + NLL", "physics5", 0, cfg) == {H1: 99.0}
    for told in ({"env": "physics3"}, {"seed": 1}, {"loss": "contrastive"}, {"protocol": {"epochs": [2, 2, 999]}}):
        path.write_text(json.dumps({"metrics": {H1: 99.0}, **told}))
        assert metrics_of("AE + NLL", "physics5", 0, cfg) is None
    path.write_text(json.dumps({"metrics": {H1: 99.0}, "protocol": {"epochs": [2, 2, 2]}, "loss": "nll"}))
    assert metrics_of("AE + NLL", "physics5", 0, cfg) == {H1: 99.0}
    for damaged in ("[]", "null", "{", "\udcff"):
        path.write_bytes(damaged.encode("utf-8", "surrogateescape"))
        assert metrics_of("AE + NLL", "physics5", 0, cfg) is None


def test_functions_take_any_reader():
    """A claim asks for rows, envs and keys by name and nothing else."""
    asked = []
    structure_helps(lambda row, env, key: asked.append((row, env, key)), H1, "x")
    partly_correlated(lambda row, env, key: asked.append((row, env, key)), H1, "x")
    assert {key for _, _, key in asked} == {H1, SUCCESS} and ("VAE + NLL", "chemistry_full5", SUCCESS) in asked


@pytest.mark.parametrize("row", ["AE + NLL", "PPO (model-free)"])
def test_runs_of_worlds_of_before_fill_no_table(row, tmp_path):
    """Objects in causal order and other causal models: env, seed, model, loss and epochs of such a run are the row's."""
    env, cfg = "chemistry_chain5", {"budget": "2min", "runs_dir": str(tmp_path)}
    folder = tmp_path / run_name(row, env, "2min", 0)
    folder.mkdir()
    (folder / "results.json").write_text(json.dumps({"metrics": {H1: 1.0}}))
    world = "env:\n  world:\n    graph: chain5\n    scm_seed: 0\n"
    (folder / "config.yaml").write_text(world)
    assert metrics_of(row, env, 0, cfg) is None
    (folder / "config.yaml").write_text(f"{world}    numbering: permuted\n")
    assert metrics_of(row, env, 0, cfg) == {H1: 1.0}


def test_the_ledger_has_what_the_folder_no_longer_has(tmp_path):
    """A row's run that was entered on another machine counts, its other splits and plans too;
    another run of the name does not."""
    cfg = {"runs_dir": str(tmp_path / "runs"), "budget": "paper", "seeds": 1, "ledger": str(tmp_path / "ledger")}
    name = run_name("AE + NLL", "physics5", "paper", 0)
    entry = {"run": name, "row": "ae + nll", "env": "physics5", "seed": 0, "model": "ae", "loss": "nll", "split": "test",
             "scores": {split: {"metrics": {H1: value}, "protocol": {"epochs": [100]}}
                        for split, value in (("test", 7.0), ("zero-shot", 5.0))},
             "plans": {"fewer-1": {"metrics": {"plan/success/h10": 3.0}, "protocol": {}}}}  # fmt: skip
    place = tmp_path / "ledger/physics5"
    place.mkdir(parents=True)
    (place / f"{name}-0.json").write_text(json.dumps(entry))
    asked = [metrics_of("AE + NLL", "physics5", 0, cfg, file) for file in
             ("results.json", "results-zero-shot.json", "plan-modefewer-1.json", "results-test-v3.json")]  # fmt: skip
    assert asked == [{H1: 7.0}, {H1: 5.0}, {"plan/success/h10": 3.0}, None]
    assert metrics_of("AE + NLL", "physics5", 0, cfg | {"ledger": None}) is None
    (place / f"{name}-0.json").write_text(json.dumps(entry | {"loss": "contrastive"}))
    assert metrics_of("AE + NLL", "physics5", 0, cfg) is None
