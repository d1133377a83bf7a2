"""The promise that `final` is scored under one setting of a row alone, which the ledger freezes when it is scored first.

    <ledger>/frozen/<env>/<row>.json    the setting under which a row was first scored on `final`

Everything is chosen on `select`. A row is what tables compare, a model under a loss, and may be named by `row=` in
train/fit.py.
"""

import json
from pathlib import Path

from filelock import FileLock
from omegaconf import DictConfig, OmegaConf

from envs.collect import FINAL, check_seed
from envs.graphs import adjacency
from envs.problem import Problem
from envs.whole_files import write_whole
from eval.runs.before import plain_loss
from eval.runs.entry import named
from eval.runs.identity import differing
from eval.runs.results import read_object
from eval.runs.run import Run, splits_of_today

SELECT = "select"
# the seed of goals that are asked under the frozen setting alone; those of seed 0 were asked all through development
KEPT_TASKS = 31
# drawn worlds (env.world.scm_seed) that are scored on `final`; before that `categorical` alone was measured there, on `test`
KEPT_WORLDS = range(10, 15)


def row_of(config: DictConfig) -> str:
    """What tables compare: `row` of the config, or the model and the loss."""
    own = config.row if "row" in config else None  # runs of before do not say
    return str(own or f"{config.model.name} + {config.loss.name}")


def setting_of(config: DictConfig) -> dict:
    """What is frozen: model, loss, trainer, and the data of training; of the world all but the number of the drawn one, and of
    the model all but the graph that follows from it.
    """
    plain = OmegaConf.to_container(config, resolve=True)
    kept = {key: plain[key] for key in ("model", "loss", "trainer", "env") if key in plain}
    if "stages" in kept.get("loss", {}):
        kept["loss"] = plain_loss(kept["loss"], kept.get("trainer", {}).get("budget"))
    env = kept.get("env", {})
    splits = {name: plan for name, plan in env.get("splits", {}).items() if name in ("train", "valid")}
    world = {key: value for key, value in env.get("world", {}).items() if key not in ("scm_seed", "workers")}
    transition = kept.get("model", {}).get("module", {}).get("transition")
    if (
        isinstance(transition, dict)
        and transition.get("parents") is not None
        and transition["parents"] == _graph(env.get("world", {}))
    ):
        transition["parents"] = "of the drawn world"
    return kept | {"env": env | {"splits": splits, "world": world}}


def _graph(world: dict) -> list | None:
    """[child][parent] of a drawn world, as configs write it; None of a world whose graph no config names or that was saved."""
    if world.get("scm") or "scm_seed" not in world:
        return None
    return adjacency(world.get("graph"), world.get("num_objects"), world.get("numbering", "causal"), world["scm_seed"])


def _frozen_file(ledger: str | Path, env: str, row: str) -> Path:
    return Path(ledger) / "frozen" / env / f"{named(row)}.json"


def open_final(run: Run, ledger: str | Path | None) -> None:
    """Let a run be scored on `final`, and freeze its setting for its row.

    Raises Problem without a ledger, on a drawn world that was chosen on, and where the row was frozen under another setting.
    """
    config = run.config
    if ledger is None:
        raise Problem(
            "split 'final' is scored under one setting of a row, which a ledger keeps; name it: ledger=results/ledger"
        )
    world, row, setting = config.env.world.get("scm_seed"), row_of(config), setting_of(config)
    env = run.env_with(FINAL)
    final = env["splits"].get(FINAL)
    for split in ("train", "valid", config.score.split):
        check_seed(env, split)
    episodes = {"splits": setting["env"]["splits"] | {FINAL: final}}
    if world is not None and world not in KEPT_WORLDS:
        raise Problem(f"split 'final' is asked of the drawn worlds {KEPT_WORLDS[0]} to {KEPT_WORLDS[-1]}, "
                      f"which nobody chose on, got env.world.scm_seed={world}; train the frozen setting there")  # fmt: skip
    path = _frozen_file(ledger, config.env.name, row)
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        frozen = _frozen(path, row)
        if frozen is None:
            write_whole(path, json.dumps({"row": row, "first": config.name, "setting": setting, FINAL: final}, indent=1) + "\n")
        elif other := differing(frozen.get("setting"), setting) or differing(_episodes(frozen, env), episodes):
            raise Problem(f"row '{row}' was scored on '{FINAL}' of {config.env.name} under another setting ({path}): {other}; "
                          f"expected that one; choose on split={SELECT}, or give what differs a row= of its own")  # fmt: skip
    run.final_is_open = True


def _episodes(frozen: dict, env: dict) -> dict:
    """What a row was trained on and scored on; files of before do not say the latter,
    which was that of configs/env where it is known.
    """
    final = frozen.get(FINAL) or splits_of_today(env["name"]).get(FINAL) or env["splits"].get(FINAL)
    return {"splits": frozen["setting"]["env"].get("splits", {}) | {FINAL: final}}


def frozen_setting(ledger: str | Path, env: str, row: str) -> DictConfig:
    """The setting of a row that is frozen, empty where none is. Raises Problem on a damaged file."""
    return OmegaConf.create((_frozen(_frozen_file(ledger, env, row), row) or {}).get("setting") or {})


def _frozen(path: Path, row: str) -> dict | None:
    """What a file of frozen settings says; None where there is none. Raises Problem on a damaged one."""
    found = read_object(path)
    if found is None and path.exists():
        raise Problem(f"{path} says under which setting row '{row}' is frozen, and is damaged; take it from the history again")
    return found


def check_overrides(ledger: str | Path, env: str, row: str, overrides: list[str]) -> None:
    """Raise Problem where a row was frozen under another value of a key than overrides give: it would be trained for nothing.

    overrides: key=value; what chooses a group, as trainer=minutes, is not held against it.
    """
    path, frozen = _frozen_file(ledger, env, row), frozen_setting(ledger, env, row)
    for key, value in dict(override.split("=", 1) for override in overrides).items():  # of one key the last stands
        there, asked = OmegaConf.select(frozen, key), OmegaConf.from_dotlist([f"value={value}"]).value
        if "." in key and there is not None and there != asked:
            raise Problem(f"row '{row}' was scored on '{FINAL}' of {env} under another setting ({path}): {key} {there}, "
                          f"got {asked}; give what was chosen now a row of its own, "
                          f"or take that setting from the history again")  # fmt: skip


def check_select(run: Run) -> None:
    """Raise Problem where a drawn world that is kept for `final` is asked for `select`."""
    world = run.config.env.world.get("scm_seed")
    if world in KEPT_WORLDS:
        raise Problem(f"split '{SELECT}' is for choosing, and drawn world {world} is kept for '{FINAL}'; choose on "
                      f"env.world.scm_seed=0 to 4")  # fmt: skip
