"""What planning found is kept: in a run's results.json under the usual protocol, else in a file named by what differs."""

import hashlib
import json
from pathlib import Path

from filelock import FileLock
from omegaconf import OmegaConf

from envs.whole_files import write_whole
from eval.planning.planners import CONFIGS, planners, settings
from eval.runs import read_results
from eval.runs.results import holds_plan, read_object

# keys of configs/plan.yaml that are no part of a protocol
_COMMAND = ("defaults", "hydra", "run", "data_dir", "again", "ledger", "round")
_LONGEST = 120  # characters of what differs in the name of a file


def asked_of(composed: dict) -> dict:
    """The protocol in a composed config of eval/plan.py, of planners their settings alone."""
    known = planners()
    kept = {key: settings(value) if key in known else value for key, value in composed.items() if key not in _COMMAND}
    return {key: value for key, value in kept.items() if value or key not in known}


def usual_protocol() -> dict:
    """What configs/plan.yaml asks of every run."""
    return asked_of({**OmegaConf.to_container(OmegaConf.load(CONFIGS / "plan.yaml")), **planners()})


def file_name(asked: dict) -> str:
    """results.json for the usual protocol; another gets a name of its own and never takes that place."""
    usual, known = usual_protocol(), planners()
    parts = [f"{k}{asked[k]}" for k in asked if (k in usual or k in known) and k != "planners" and asked[k] != usual.get(k)]
    parts += [f"round{asked['round']}"] if "round" in asked else []
    name = "-".join("".join("_" if c == "," else c for c in part if c.isalnum() or c in ".-_,") for part in parts)
    if len(name) > _LONGEST:  # file systems end names at 255 characters, and a lock's name is longer
        name = f"{name[:_LONGEST - 9]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return f"plan-{name}.json" if name else "results.json"


def _plans_of_before(path: Path) -> dict | None:
    """What another protocol's file holds; none where it is not there or damaged, then it is made anew."""
    found = read_object(path)
    return found if found is not None and holds_plan(found) else None


def read_plans(folder: Path, asked: dict) -> dict:
    """What the file of a protocol holds; {} where it is not there or damaged."""
    path = folder / file_name(asked)
    return read_results(folder) if path.name == "results.json" else _plans_of_before(path) or {}


def kept_metrics(folder: Path, asked: dict, digest: str) -> set[str]:
    """Metrics that were reached with the weights of this digest under this protocol."""
    before = read_plans(folder, asked)
    return set(before["metrics"]) if before.get("plan", {}).get("weights") == digest else set()


def keep(folder: Path, asked: dict, metrics: dict, timing: dict, digest: str | None = None) -> dict:
    """Add what was reached to the file of its protocol, read again now: planning takes minutes.  -> what the file holds

    digest: of the weights; what other weights reached goes.
    """
    with FileLock(folder / ".results.lock"):
        results, path = read_results(folder), folder / file_name(asked)
        if path.name != "results.json":
            named = ("run", "model", "loss", "env", "seed", "config_hash", "versions")
            results = _plans_of_before(path) or {key: results[key] for key in named if key in results} | {"metrics": {}}
        plan = results.get("plan", {"planners": [], "timing": {}})
        if digest is not None and plan.get("weights", digest) != digest:
            plan = {"planners": [], "timing": {}}
            results["metrics"] = {k: v for k, v in results["metrics"].items() if not k.startswith("plan/")}
        kept = results["metrics"] | {k: round(float(v), 4) for k, v in metrics.items()}
        kept |= {k.replace("/model_closed", ""): v for k, v in kept.items() if k.startswith("plan/success/model_closed/")}
        played = [name for name in planners() if any(k.startswith(f"plan/success/{name}/") for k in kept)]
        protocol = {key: value for key, value in asked.items() if key not in planners() or key in played}
        timing = plan["timing"] | {k: round(v, 2) for k, v in timing.items()}
        weights = {} if digest is None else {"weights": digest}
        results |= {"metrics": kept, "plan": {**protocol, "planners": played, "timing": timing, **weights}}
        write_whole(path, json.dumps(results, indent=2))
    return results
