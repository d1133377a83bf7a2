"""Runs on violated expectations: which row they belong to, what they say, and what is still to be run."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import yaml

from envs.problem import Problem
from eval.paper.sweep import Job
from eval.paper.table_specs import results_of, run_name, seeds_named
from eval.runs import run_folders
from eval.runs.results import surprise_file

TEST = "test"
USUAL = {"trees": "combined", "posterior_speeds": True, "observed": "oracle"}  # of a model of clips whose runs are shown
FOUND = "found"  # the budget that trains nothing and shows every run of runs_dir


@lru_cache
def voe_tables() -> dict:
    """voe_table.yaml."""
    return yaml.safe_load(Path(__file__).with_name("voe_table.yaml").read_text())


@dataclass(frozen=True)
class Kind:
    """What tells runs of one row from those of another.  whole: a model of clips that looks at all of a clip."""

    model: str
    loss: str
    observation: str = "pixels"
    alternate: bool = False
    whole: bool = False

    def __str__(self) -> str:
        shown = "no pixels" if self.observation != "pixels" else "pixels"
        return f"{self.model} + {self.loss}, {shown}{', whole clips' * self.whole}{', alternate' * self.alternate}"


def _pairs(overrides: Iterable[str]) -> dict[str, str]:
    return dict(override.split("=", 1) for override in overrides)


@dataclass(frozen=True)
class Row:
    """name: in tables.  run: the name by which its runs are called.  fit: overrides of train/fit.py.  ask: overrides of
    eval/surprise.py that ask the same runs otherwise."""

    name: str
    run: str
    fit: tuple[str, ...]
    ask: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str) -> "Row":
        entry = voe_tables()["rows"][name]
        base = entry.get("of", name)
        return cls(name, base, tuple(voe_tables()["rows"][base]["fit"]), tuple(entry.get("ask", ())))

    @property
    def kind(self) -> Kind:
        told = _pairs(self.fit)
        whole = told.get("model.frames") == "null"
        return Kind(told["model"], told["loss"], told.get("env.observation", "pixels"), "experiment" in told, whole)

    @property
    def file(self) -> str:
        """The results file of a run folder that holds it."""
        return f"{surprise_file(_pairs(self.ask))}.json" if self.ask else "results.json"


def config_of(place: Path) -> dict:
    """config.yaml of a run folder, read fast and unresolved."""
    try:
        found = yaml.safe_load((place / "config.yaml").read_text())
    except (OSError, ValueError, yaml.YAMLError):
        found = None
    if not isinstance(found, dict):
        raise Problem(f"{place / 'config.yaml'} is damaged; move the run out of runs_dir, or train it again")
    return found


def on_test(place: Path, results: dict) -> dict:
    """results.json of a run, with the scores of eval/surprise.py split=test in place of its own where it was scored on another
    split; the run's own where there are none."""
    protocol = results.get("protocol", {})
    asked = {} if protocol.get("split") == TEST else results_of(place, f"{surprise_file({}, TEST)}.json") or {}
    told = {key: asked[key] for key in ("metrics", "violation") if key in asked}
    return results | told | {"protocol": protocol | ({"split": TEST} if told else {})}


class Runs:
    """Finished runs below a folder.  cfg: of eval/tables.py.  seeds: that they may have."""

    def __init__(self, cfg: dict) -> None:
        self._cfg = cfg
        self.folder, self.budget = Path(cfg["runs_dir"]), cfg["budget"]
        self._epochs = voe_tables()["budgets"][self.budget].get("epochs")

    def place(self, row: Row, env: str, seed: int) -> Path | None:
        """The folder of a run, there or not; none where no run was found."""
        if self.budget != FOUND:
            return self.folder / run_name(row.run, env, self.budget, seed)
        places = self._by_kind.get((row.kind, env, seed), [])
        if len(places) > 1:
            raise Problem(f"{places[0]} and {places[1]} are both {row.kind} on {env} with seed {seed}; move one of them out of "
                          f"runs_dir")  # fmt: skip
        return places[0] if places else None

    @property
    def seeds(self) -> set[int]:
        return {seed for _, _, seed in self._by_kind} if self.budget == FOUND else seeds_named(self._cfg | {"ledger": None})

    def results(self, row: Row, env: str, seed: int) -> dict | None:
        """results.json of a finished run; none where there is none, or where its folder holds a run of something else."""
        place = self.place(row, env, seed)
        found = place and results_of(place, "results.json")
        if not found:
            return None
        wanted = {"env": env, "seed": seed, "model": row.kind.model, "loss": row.kind.loss}
        epochs = found.get("protocol", {}).get("epochs", [])
        return on_test(place, found) if found | wanted == found and self._epochs in (None, *epochs) else None

    def asked(self, row: Row, env: str, seed: int, results: dict) -> dict | None:
        """What the row shows of a run: its results, or the file of another way of asking, none where it is missing."""
        return results_of(self.place(row, env, seed), row.file) if row.ask else results

    @cached_property
    def _by_kind(self) -> dict[tuple, list[Path]]:
        """(kind, env, seed) -> folders, of every run below the folder that is scored; read once."""
        found: dict[tuple, list[Path]] = {}
        for place in run_folders(self.folder):
            own = results_of(place, "results.json")
            if own and own.get("env") in voe_tables()["envs"].values():
                config = config_of(place)
                env, model = config.get("env", {}), config.get("model", {})
                if any(model.get(key, usual) != usual for key, usual in USUAL.items()):
                    continue  # asked otherwise from the start: no row has it
                whole = model.get("frames", ()) is None
                kind = Kind(own["model"], own["loss"], env.get("observation", "pixels"), bool(env.get("stored_as")), whole)
                found.setdefault((kind, own["env"], own["seed"]), []).append(place)
        return found

    def others(self, rows: list[Row]) -> list[Row]:
        """Rows of runs that were found and that no given row names, except of the alternate reality."""
        known = {row.kind for row in rows}
        kinds = (
            {kind for kind, _, _ in self._by_kind if kind not in known and not kind.alternate} if self.budget == FOUND else ()
        )
        fits = {kind: (f"model={kind.model}", f"loss={kind.loss}", f"env.observation={kind.observation}",
                       *["model.frames=null"] * kind.whole) for kind in kinds}  # fmt: skip
        return [Row(str(kind), str(kind), fits[kind]) for kind in sorted(kinds, key=str)]


def jobs_of(rows: list[Row], cfg: dict) -> list[Job]:
    """A training for every run, env and seed, then every way of asking it that some row wants."""
    if "minutes" not in voe_tables()["budgets"][cfg["budget"]]:  # it trains nothing
        return []
    runs, wanted = Runs(cfg), {}
    for row in rows:
        for env in voe_tables()["envs"].values():
            for seed in range(cfg["seeds"]):
                wanted.setdefault(run_name(row.run, env, cfg["budget"], seed), (env, seed, []))[2].append(row)
    return [Job(name, lambda what=what, name=name: _left(name, *what, runs, cfg)) for name, what in wanted.items()]


def _left(name: str, env: str, seed: int, rows: list[Row], runs: Runs, cfg: dict) -> list[tuple[str, ...]]:
    own, budget = rows[0], voe_tables()["budgets"][cfg["budget"]]
    there, steps = runs.results(own, env, seed), []
    if there is None:
        steps.append(("train/fit.py", *own.fit, *budget["fit"], f"env={env}", f"seed={seed}", f"name={name}", "logger=csv",
                      f"data_dir={cfg['data_dir']}", f"runs_dir={cfg['runs_dir']}", "score.horizons=[1]"))  # fmt: skip
    lacking = [row for row in rows if row.ask and (there is None or runs.asked(row, env, seed, there) is None)]
    return steps + [("eval/surprise.py", f"run={Path(cfg['runs_dir']) / name}", "curves=0", *row.ask) for row in lacking]


def told_of(found: list[dict]) -> str:
    """What the shown runs say of themselves: training, clips, and how world models were asked."""
    epochs = sorted({str(sum(one.get("protocol", {}).get("epochs", []))) for one in found}, key=int)
    minutes = sorted(one["timing"]["fit_s"] / 60 for one in found if "fit_s" in one.get("timing", {}))
    violations = [one.get("violation", {}) for one in found]
    pairs = sorted({one["pairs"]["surprising"] for one in violations if "surprising" in one.get("pairs", {})})
    splits = sorted({one["protocol"]["split"] for one in found if "split" in one.get("protocol", {})})
    predicted = [one["violation"] for one in found if "of_clip" in one.get("violation", {}) and one.get("loss") != "labels"]
    asked = {json.dumps(one.get("horizons", one.get("horizon"))) for one in predicted}
    ways = {one["of_clip"] for one in predicted}
    ahead, clips = ", ".join(sorted(asked)), ", ".join(sorted(ways))
    parts = [f"epochs {', '.join(epochs)}" if epochs else "",
             f"training {minutes[0]:.1f} to {minutes[-1]:.1f} minutes a run" if minutes else "",
             f"{', '.join(map(str, pairs))} pairs a category, of split {', '.join(splits)}" if pairs else "",
             f"world models asked {ahead} frames ahead, {clips} of a clip" if ways else ""]  # fmt: skip
    return "; ".join(filter(None, parts)) or "no run is there"
