"""Rows of a table of equal effort, the settings that they draw, and the one that is chosen: by one criterion, on `select`."""

import hashlib
import json
import random
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import mean

import yaml

from envs.problem import Problem, nearest
from envs.whole_files import write_whole
from eval.runs.final import FINAL, KEPT_WORLDS
from eval.runs.identity import family
from eval.runs.run import CONFIGS

QUOTED = """; a name with a comma is quoted once more: "rows=['edge + hinge, same episode']\""""
MAIN = "causes"  # the main table of causes.yaml


@lru_cache
def causes() -> dict:
    """causes.yaml."""
    return yaml.safe_load(Path(__file__).with_name("causes.yaml").read_text())


@lru_cache
def _stages(loss: str) -> list[dict]:
    return yaml.safe_load((CONFIGS / "loss" / f"{loss}.yaml").read_text())["stages"]


@dataclass(frozen=True)
class Row:
    """name: in tables and in the ledger.  fit: overrides of train/fit.py.  told: what it knows beforehand.  without: keys of a
    drawn setting that it has not.  worlds: physics or chemistry, None: both.  probes: that it is asked beside those of the
    table.  remark: what to know of it, below the main table.
    """

    name: str
    fit: tuple[str, ...]
    told: tuple[str, ...]
    without: tuple[str, ...] = ()
    worlds: str | None = None
    probes: tuple[str, ...] = ()
    remark: str = ""

    def fits(self, env: str) -> bool:
        """Whether it is made for an env."""
        return self.worlds in (None, family(env))

    @property
    def slug(self) -> str:
        """The row's name as it stands in the names of its runs."""
        return re.sub(r"[^a-z0-9]+", "_", self.name.lower()).strip("_")

    def overrides(self, setting: dict) -> list[str]:
        """A drawn setting as overrides of train/fit.py. Keys that the row lacks (`without`) are left out; a key of stages is
        set in every stage that reads it."""
        stages = self.stages
        every, moving = range(len(stages)), [n for n, stage in enumerate(stages) if "transition" in stage["trains"]]
        found = [f"loss.learning_rate={setting['learning_rate']}", f"loss.window={setting['window']}"]
        found += [] if "width" in self.without else [f"model.width={setting['width']}"]
        found += [f"loss.stages.{n}.weight_decay={setting['weight_decay']}" for n in every]
        if (own := causes()["strengths"].get(self.loss)) is not None:
            found.append(f"{own['key']}={own['values'][setting['strength']]}")
        return found + [f"loss.stages.{n}.hard_share={setting['hard_share']}" for n in moving]

    def rounds(self, count: int, each: int = 1) -> list[str]:
        """Overrides that share `count` rounds among the stages."""
        return [f"loss.stages.{n}.epochs={rounds}" for n, rounds in enumerate(self._shared(count, each))]

    def rounds_before_transition(self, count: int) -> int:
        """How many of `count` rounds pass before a stage trains the transition."""
        first = next(n for n, stage in enumerate(self.stages) if "transition" in stage["trains"])
        return sum(self._shared(count)[:first])

    def _shared(self, count: int, each: int = 1) -> list[int]:
        """Rounds of every stage: at least `each`; the last stages take the remainder."""
        stages = len(self.stages)
        few, more = divmod(max(count, each * stages), stages)
        return [few + (n >= stages - more) for n in range(stages)]

    @property
    def model(self) -> str:
        """The entry of configs/model that the row trains."""
        return self._groups["model"]

    @property
    def loss(self) -> str:
        """The entry of configs/loss that the row is trained by."""
        return self._groups["loss"]

    @property
    def _groups(self) -> dict[str, str]:
        return dict(part.split("=", 1) for part in self.fit)

    @property
    def stages(self) -> list[dict]:
        """The stages of the row's loss, as its config lists them."""
        return _stages(self.loss)


def rows_of(only: list[str] | str | None) -> list[Row]:
    """The rows of these names, none named: all. Raises Problem on a name that is none."""
    known = causes()["rows"]
    only = [only] if isinstance(only, str) else only
    for name in only or ():
        if name not in known:
            # a part of a name, which the shell's quotes do not hold together
            inner = any(str(name) in one.split(", ") for one in known)
            raise Problem(f"there is no row '{name}': {nearest(str(name), known)}{QUOTED if inner else ''}")
    parts = {
        name: {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
        for name, row in known.items()
    }
    return [Row(name, **row) for name, row in parts.items() if only is None or name in only]


def envs_of(cfg: dict) -> list[str]:
    """Those that a command asks for. Raises Problem on a name that is none, on a world that no probes or no drawn worlds are
    said for, or whose frames do not show what rows without a memory are asked, and where drawn worlds are too few for the
    seeds.
    """
    envs = [cfg["envs"]] if isinstance(cfg["envs"], str) else list(cfg["envs"])
    for env in envs:
        if not (CONFIGS / "env" / f"{env}.yaml").exists():
            raise Problem(
                f"there is no env '{env}': {nearest(str(env), (p.stem for p in (CONFIGS / 'env').glob('[!_]*.yaml')))}"
            )
        if family(env) not in causes()["probes"]:
            raise Problem(f"table {MAIN} asks physics and chemistry, and '{env}' is neither; set envs=")
        if family(env) == "chemistry" and env not in causes()["worlds"]:
            raise Problem(f"{env} is a drawn world, and nobody says which are for choosing and which for '{FINAL}'; "
                          f"add it to worlds: in eval/effort/causes.yaml, or set envs=")  # fmt: skip
        if (_config(env).get("world") or {}).get("hidden_weights"):
            raise Problem(
                f"the frames of {env} do not show the weights that every row is asked for, "
                f"and rows keep no memory of those before; set envs="
            )
        if env in causes()["worlds"] and cfg["seeds"] > len(KEPT_WORLDS):
            raise Problem(f"seeds={cfg['seeds']} asks for as many drawn worlds of {env}, and {len(KEPT_WORLDS)} are kept for "
                          f"'{FINAL}'; set seeds={len(KEPT_WORLDS)} or fewer")  # fmt: skip
    return envs


def _config(env: str) -> dict:
    """The content of configs/env/<env>.yaml, without what it inherits."""
    return yaml.safe_load((CONFIGS / "env" / f"{env}.yaml").read_text())


def drawn(number: int) -> dict:
    """Setting `number`, from 0, the same for every row: of each key one value, dealt so that none is left out."""
    draws, setting = causes()["tune"]["draws"], {}
    for key, values in causes()["space"].items():
        dealt = (values * draws)[:draws]
        random.Random(f"{key} of settings").shuffle(dealt)
        setting[key] = dealt[number]
    return setting


def probes(env: str, more: bool = False) -> list[str]:
    """What runs of an env are asked for; more: what is asked once, of a run of the main table that has ended."""
    told = causes()["probes"]
    return [*told["always"], *(told[family(env)] if more else [])]


def worth(metrics: dict, of: str = "test/") -> float:
    """The criterion, percent.  of: whose, a model's or that of a floor.  Raises KeyError where a horizon was not scored."""
    told, horizons = causes(), causes()["horizons"]
    key = told["criterion"] if told["criterion"].format(horizons[0]) in metrics else told["fallback"]
    return mean(metrics[key.replace("test/", of).format(h)] for h in horizons)


def _protocol_digest(row: Row) -> str:
    """Of how a row is tuned: a choice under another space, budget or criterion is another."""
    told = causes()
    draws = [row.overrides(drawn(n)) for n in range(told["tune"]["draws"])]
    whole = {key: told["studies"][MAIN][key] for key in ("minutes", "rounds")}
    protocol = [row.fit, draws, told["tune"], whole, told["criterion"], told["fallback"], told["horizons"]]
    return hashlib.sha256(json.dumps(protocol, sort_keys=True).encode()).hexdigest()[:12]


def chosen_file(ledger: Path, env: str, row: Row) -> Path:
    """Where the choice of a row is kept."""
    return ledger / "chosen" / env / f"{row.slug}.json"


def _tried(row: Row, env: str, scored: dict[int, dict]) -> list[dict]:
    """Every draw with its worth and that of copying in its latents, null where its training diverged.  scored: draw -> metrics
    on `select`, none of one that diverged.

    Raises Problem where a draw is missing or was not asked what the criterion needs.
    """
    draws = causes()["tune"]["draws"]
    if missing := [n for n in range(draws) if n not in scored]:
        raise Problem(f"row '{row.name}' has {len(scored)} of {draws} drawn settings on {env}, draw {missing[0]} is missing; "
                      f"run: python eval/tables.py table={MAIN} tune=true")  # fmt: skip
    worths = {
        name: [_worth(row, env, scored[n], of) for n in range(draws)]
        for name, of in (("worth", "test/"), ("copying", "floor/copy/"))
    }
    return [{"draw": n, "setting": drawn(n)} | {name: of[n] for name, of in worths.items()} for n in range(draws)]


def _worth(row: Row, env: str, metrics: dict, of: str = "test/") -> float | None:
    try:
        return round(worth(metrics, of), 4) if metrics else None
    except KeyError as error:
        raise Problem(f"a drawn setting of row '{row.name}' on {env} was not asked {error}; remove its entry, and run: python "
                      f"eval/tables.py table={MAIN} tune=true") from error  # fmt: skip


def finalists(row: Row, env: str, scored: dict[int, dict]) -> list[int]:
    """The best draws, of equal ones the first, which are trained as long as the table.  Raises Problem as `_tried` does, and
    where every draw diverged.
    """
    whole = [one for one in _tried(row, env, scored) if one["worth"] is not None]
    if not whole:
        raise Problem(
            f"every drawn setting of row '{row.name}' diverged on {env}; change its loss, or space: in eval/effort/causes.yaml"
        )
    best = sorted(whole, key=lambda one: (-one["worth"], one["draw"]))
    return [one["draw"] for one in best[: causes()["tune"]["finalists"]]]


def choose(ledger: Path, env: str, row: Row, scored: dict[int, dict], ended: dict[int, dict]) -> dict:
    """Write which of the drawn settings is best, with the worth of all.  scored: draw -> metrics on `select` after
    `tune.minutes`, none of a training that diverged; ended: the same of the finalists, trained as long as the table, which
    alone decide.

    Of equal ones the first.  Raises Problem as `finalists` does, where one of these is missing, and where all of them diverged.
    """
    asked, path = finalists(row, env, scored), chosen_file(ledger, env, row)
    if missing := [n for n in asked if n not in ended]:
        raise Problem(f"row '{row.name}' has {len(asked) - len(missing)} of {len(asked)} finalists on {env}, "
                      f"draw {missing[0]} is missing; run: python eval/tables.py table={MAIN} tune=true")  # fmt: skip
    tried = _tried(row, env, scored)
    for n in asked:
        tried[n]["worth_at_end"] = _worth(row, env, ended[n])
    whole = [tried[n] for n in asked if tried[n]["worth_at_end"] is not None]
    if not whole:
        raise Problem(f"every finalist of row '{row.name}' diverged on {env}; change its loss, or space: or tune.finalists: in "
                      f"eval/effort/causes.yaml")  # fmt: skip
    best = max(whole, key=lambda one: (one["worth_at_end"], -one["draw"]))
    found = {"row": row.name, "env": env, "criterion": causes()["criterion"], "mark": _protocol_digest(row),
             "chosen": best["draw"], "setting": best["setting"], "overrides": row.overrides(best["setting"]),
             "tried": tried}  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(found, indent=1) + "\n")
    return found


def choice(ledger: Path, env: str, row: Row) -> dict | None:
    """What was chosen for a row, on the env or on that whose settings it takes, or None.

    Raises Problem on a file that is damaged.
    """
    path = chosen_file(ledger, causes()["tuned_on"].get(env, env), row)
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text())
        if found["mark"] != _protocol_digest(row):
            raise Problem(f"{path} was chosen among other settings, or by another criterion, than causes.yaml says today; "
                          f"choose anew with: python eval/tables.py table={MAIN} tune=true")  # fmt: skip
        best = found["tried"][found["chosen"]]
        if best["worth"] is None or not isinstance(best["worth_at_end"], float | int):
            raise ValueError("worth")
        return {key: found[key] for key in ("chosen", "setting", "overrides", "tried")}
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise Problem(f"{path} is no choice of a setting ({type(error).__name__}); take it from the history again, "
                      f"or choose anew with: python eval/tables.py table={MAIN} tune=true") from error  # fmt: skip
