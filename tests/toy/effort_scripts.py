"""train/fit.py, eval/score.py and eval/plan.py that only write what the real ones enter into the ledger,
and how tests run tables with them."""

import json
from pathlib import Path

import pytest
from omegaconf import OmegaConf

import eval.effort.command
import eval.paper.sweep
from eval.effort.command import run_study
from eval.effort.settings import drawn, rows_of
from eval.paper.sweep import missing, run_jobs
from eval.tables import expected_minutes

ENV = "physics3"
BEST = sorted(range(8), key=lambda n: (-drawn(n)["learning_rate"], n))  # draws, by their scores


def write_scripts(folder: Path) -> None:
    """Both below a folder; scores grow with the learning rate, and a little with the seed; floors do not."""
    (folder / "train").mkdir()
    (folder / "eval").mkdir()
    common = (
        "import sys, json, pathlib\n"
        "told = dict(a.split('=', 1) for a in sys.argv[1:])\n"
        "place = pathlib.Path(told['ledger']) / 'physics3'; place.mkdir(parents=True, exist_ok=True)\n"
        "keys = ['hits@1', 'cf_hits@1/mean', 'cf_hits@1/several']\n"
        "def scores(kind, v): return {f'{kind}/{k}/h{h}': v for k in keys for h in (1, 5, 10)}\n"
        "def metrics(v): return scores('test', v) | scores('floor/copy', 15.0) | "
        "{f'plan/success/h{h}': v for h in (1, 5, 10)}\n"
    )
    (folder / "train/fit.py").write_text(common + (
        "name = told['name']; split = told['score.split']\n"
        "folder = pathlib.Path(told['runs_dir']) / name; (folder / 'checkpoints').mkdir(parents=True)\n"
        "for kept in ['model', 'round-1', 'round-2', 'round-5']: (folder / f'checkpoints/{kept}.ckpt').write_text('')\n"
        "facts = dict.fromkeys(['run', 'model', 'loss', 'env', 'setting_hash'], 'x') | "
        "{'seed': 0, 'metrics': {}, 'timing': {}}\n"
        "facts |= {'weights': name, 'protocol': {'split': 'select', 'budget': 'minutes', 'pool': 1, 'distinct': {'h1': 1}}}\n"
        "(folder / 'results.json').write_text(json.dumps(facts))\n"
        "value = 1e4 * float(told['loss.learning_rate']) + int(told['seed']) % 90\n"
        "rounds = [{'round': n, 'stage': 'joint', 'cpu_s': 60.0 * n, 'updates': n, 'scores': {}} for n in range(1, 11)]\n"
        "entry = {'run': name, 'row': told['row'].strip('\"'), 'env': 'physics3', 'seed': int(told['seed']), "
        "'rounds': rounds,\n"
        "         'weights': name, 'scores': {split: {'metrics': metrics(value)}}}\n"
        "part = place / f'{name}-abc.part'; part.write_text(json.dumps(entry)); part.rename(part.with_suffix('.json'))\n"
    ))  # fmt: skip
    (folder / "eval/score.py").write_text(common + (
        "path = place / (pathlib.Path(told['run']).name + '-abc.json'); entry = json.loads(path.read_text())\n"
        "value = entry['scores']['select']['metrics']['test/hits@1/h1']\n"
        "if 'round' in told:\n"
        "    for n in json.loads(told['round']): entry['rounds'][n - 1]['scores']['final'] = "
        "{'metrics': metrics(value - 10 + n)}\n"
        "else: entry['scores']['final'] = {'metrics': metrics(value - 1)}\n"
        "path.write_text(json.dumps(entry))\n"
    ))  # fmt: skip
    (folder / "eval/plan.py").write_text(common + (
        "path = place / (pathlib.Path(told['run']).name + '-abc.json'); entry = json.loads(path.read_text())\n"
        "h, = json.loads(told['horizons']); reached = entry['scores']['select']['metrics'][f'plan/success/h{h}'] - 2\n"
        "plan = lambda reached, **protocol: {'metrics': {f'plan/success/h{h}': reached}, 'protocol': protocol}\n"
        "if 'round' in told:\n"
        "    for n in json.loads(told['round']): entry['rounds'][n - 1]['plan'] = plan(reached - 20 + n)\n"
        "else: entry['plans'] = {'final': plan(reached, seed=int(told['seed']))}\n"
        "path.write_text(json.dumps(entry))\n"
    ))  # fmt: skip


@pytest.fixture
def cfg(tmp_path, compose):
    found = OmegaConf.to_container(compose("tables"))
    return found | {"table": "causes", "envs": [ENV], "seeds": 2, "ledger": str(tmp_path / "ledger"),
                    "runs_dir": str(tmp_path / "runs"), "out": str(tmp_path / "out"),
                    "data_dir": str(tmp_path / "data")}  # fmt: skip


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    """Commands that enter scores in a moment."""
    write_scripts(tmp_path)
    monkeypatch.setattr(eval.paper.sweep, "ROOT", tmp_path)


@pytest.fixture
def no_charts(monkeypatch):
    """They take most of a table's time."""
    monkeypatch.setattr(eval.effort.command, "replace_chart", lambda figure, path: None)


def tuned_and_run(cfg) -> tuple:
    """One seed of a row in the main table.  -> the row, the file of its entry, and what that holds."""
    cfg |= {"rows": ["edge + InfoNCE"], "seeds": 1}
    run_study("causes", cfg | {"tune": True}, run_missing)
    run_study("causes", cfg, run_missing)
    (path,) = (Path(cfg["ledger"]) / ENV).glob("*.json")
    return *rows_of(cfg["rows"]), path, json.loads(path.read_text())


def run_missing(jobs, minutes, cfg, on_gpu):
    assert expected_minutes(jobs, minutes, 2) >= 0
    return run_jobs(missing(jobs), 2, eval.paper.sweep.ROOT / "logs", lambda _: None)
