"""What every test shares: one thread, no network, small worlds, composed configs, a command runner."""

import os

os.environ["WANDB_MODE"] = "offline"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["CUDA_VISIBLE_DEVICES"] = ""  # before torch: the same suite with and without a GPU
os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"

import contextlib
import copy
import functools
import gc
import io
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest
import torch

torch.set_num_threads(1)
hypothesis.settings.register_profile("tests", deadline=None, max_examples=40, derandomize=True)
hypothesis.settings.load_profile("tests")

ROOT = Path(__file__).resolve().parents[1]
LASTING = {str(ROOT / "configs"), "hydra.conf", ""}  # where files lie that no test changes; "": what Hydra's plugins registered
LONG = ("smoke", "golden")  # folders whose tests train
SMALL = [
    "trainer=smoke", "logger=csv", "env.splits.train.episodes=6", "env.splits.valid.episodes=3",
    "env.splits.test.episodes=20", "score.counterfactuals=10",
]  # fmt: skip


# what `make test` installs, and whole subjects are asked with: without one of them it must not pass
WANTED = ("pybullet", "pinocchio", "gymnasium", "stable_baselines3") if os.environ.get("ALL_EXTRAS") else ()


def _not_skipped(report):
    """The same report; a failure where a test is skipped for want of one of WANTED."""
    if report.skipped and any(f"could not import '{name}" in str(report.longrepr) for name in WANTED):
        report.outcome, report.longrepr = "failed", f"{report.longrepr[-1]}; make test installs it: remove .venv and try again"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return _not_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    return _not_skipped((yield))


def pytest_collection_modifyitems(items):
    """Files of a minute first, so that no process waits for another's at the end: the order in which xdist gives them out."""
    items.sort(key=lambda item: item.path.parent.name not in LONG)


def pytest_collection_finish():
    """What is imported by now stays: the garbage collector need not look through it for every config that is composed."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def configs_are_read_once():
    """Hydra looks for every file at each start and parses it anew; ours and its own stay as they are while tests run.
    And it composes all beforehand to read `hydra.mode`, which nobody sets.
    """
    from hydra._internal.config_repository import ConfigRepository
    from hydra._internal.hydra import Hydra

    def once(method):
        found = {}

        def asked(repository, config_path):
            paths = tuple(source.path for source in repository.sources)
            if not LASTING.issuperset(paths):  # a folder of the test's own
                return method(repository, config_path)
            if (paths, config_path) not in found:
                found[paths, config_path] = method(repository, config_path)
            return copy.deepcopy(found[paths, config_path])

        return asked

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Hydra, "get_mode", lambda *_, **__: None)
        for name in ("load_config", "config_exists", "group_exists"):
            patch.setattr(ConfigRepository, name, once(getattr(ConfigRepository, name)))
        yield


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def small() -> list[str]:
    """Overrides that make `fit` a matter of seconds."""
    return list(SMALL)


@pytest.fixture(scope="session")
def compose():
    """compose(command, *overrides) -> config, as the command line would compose it.

    What an entry of a group gives is composed once and set on a copy, as are values; an experiment chooses groups, so it is
    composed whole.
    """
    import hydra
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from omegaconf import open_dict

    import configs  # noqa: F401  what yaml alone cannot compute
    from configs.overrides import groups

    groups_of = functools.cache(groups)

    @functools.cache
    def whole(command: str, *chosen: str):
        with hydra.initialize_config_dir(str(ROOT / "configs"), version_base="1.3"):
            return hydra.compose(command, list(chosen))

    def of_groups(command: str, *chosen: str):
        names = [choice.split("=")[0] for choice in chosen]
        if not set(names) <= set(groups_of(command)) - {"experiment"}:
            return copy.deepcopy(whole(command, *chosen))
        config = copy.deepcopy(whole(command))
        with open_dict(config):
            for name, choice in zip(names, chosen):
                config[name] = whole(command, choice)[name]
        return config

    def build(command: str, *overrides: str):
        chosen = [o for o in overrides if o.split("=")[0].lstrip("+~") in groups_of(command) or o.startswith("hydra")]
        config = of_groups(command, *chosen)
        values = OverridesParser.create().parse_overrides([o for o in overrides if o not in chosen])
        ConfigLoaderImpl._apply_overrides_to_config(values, config)
        return config

    return build


@pytest.fixture(scope="session")
def command():
    """command("train/fit.py", ..., cwd=...) -> finished process; CPU only, one thread."""

    def start(script: str, *arguments: str, cwd) -> subprocess.CompletedProcess:
        env = {**os.environ, "COLUMNS": "120"}
        return subprocess.run(
            [sys.executable, str(ROOT / script), *arguments], cwd=cwd, env=env, capture_output=True, text=True, timeout=900
        )

    return start


def started_here(patch: pytest.MonkeyPatch, script: str, *arguments: str, cwd) -> subprocess.CompletedProcess:
    """A command in this process, seconds less for each start; argv, path and folder are those of `patch` until it ends."""
    patch.setattr(sys, "argv", [str(ROOT / script), *arguments])
    patch.setattr(sys, "path", list(sys.path))
    patch.chdir(cwd)
    out, err = io.StringIO(), io.StringIO()
    code, on_closed_pipe = 0, signal.getsignal(signal.SIGPIPE)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            runpy.run_path(str(ROOT / script), run_name="__main__")
    except SystemExit as end:
        code = end.code
    finally:
        signal.signal(signal.SIGPIPE, on_closed_pipe)  # --help sets it for the rest of its process
    told = f"{code}\n" if isinstance(code, str) else ""  # as the interpreter ends: the sentence, and 1
    code = 1 if told else code or 0
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue() + told)


@pytest.fixture
def command_here(monkeypatch):
    """As `command`, but in this process."""
    return functools.partial(started_here, monkeypatch)


@pytest.fixture(scope="module")
def fitted_here():
    """As `command_here`, for the one finished run that the tests of a file share."""

    def start(*arguments: str, cwd) -> subprocess.CompletedProcess:
        with pytest.MonkeyPatch.context() as patch:
            done = started_here(patch, "train/fit.py", *arguments, cwd=cwd)
        assert done.returncode == 0, done.stderr[-2000:]
        return done

    return start


@pytest.fixture(scope="session")
def toy_configs(tmp_path_factory) -> Path:
    """Configurations that know env=square_clips, the toy world of tests/toy."""
    import shutil

    folder = tmp_path_factory.mktemp("toy") / "configs"
    shutil.copytree(ROOT / "configs", folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "tests/toy/square_clips.yaml", folder / "env/square_clips.yaml")
    LASTING.add(str(folder))
    return folder


@pytest.fixture
def square_clips(toy_configs, tmp_path, monkeypatch):
    """A folder in which commands of this process know env=square_clips."""
    import envs
    from configs import command, overrides
    from eval import runs

    for module in (command, overrides):
        monkeypatch.setattr(module, "HERE", toy_configs)
    monkeypatch.setattr(runs, "CONFIGS", toy_configs)
    monkeypatch.setattr(envs, "__path__", [*envs.__path__, str(ROOT / "tests/toy")])
    yield tmp_path
    sys.modules.pop("envs.square_clips", None)


@pytest.fixture
def fitted_clips(square_clips, command_here):
    """fitted_clips(*overrides) -> (folder, results) of a run on the toy world, the only one of the test."""
    import json

    def fit(*overrides: str) -> tuple[Path, dict]:
        toy = ("env=square_clips", "trainer=smoke", "logger=csv", "score.horizons=[1]")
        done = command_here("train/fit.py", *toy, *overrides, cwd=square_clips)
        assert done.returncode == 0, done.stderr[-2000:]
        (folder,) = (square_clips / "runs").iterdir()
        return folder, json.loads((folder / "results.json").read_text())

    return fit


@pytest.fixture(scope="module")
def human_study(tmp_path_factory):
    """A study of 14 clips a list and 4 lists."""
    from tiny_study import tiny_study

    return tiny_study(tmp_path_factory.mktemp("study") / "study")


@pytest.fixture
def trials(human_study, tmp_path, monkeypatch):
    """The database of a human trial in an empty folder, for every test its own, which does not wait for the disk."""
    from eval.humans import database

    monkeypatch.setattr(database, "SYNCHRONOUS", "OFF")
    opened = database.Database(human_study, tmp_path / database.NAME)
    yield opened
    opened.close()


@pytest.fixture
def train_in(monkeypatch):
    """train_in(cfg, folder, data, stop_at=None, logger=None) -> weights; stop_at (stage, epoch): break off there, -> None."""
    from hydra.utils import instantiate
    from omegaconf import OmegaConf
    from pytorch_lightning import seed_everything

    from envs.collect import collect
    from train.callbacks import SeedEpochs
    from train.datamodule import EpisodeData
    from train.stages import train_stages

    class Stop(Exception):
        pass

    def train(cfg, folder, data, stop_at=None, logger=None):
        (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
        world, env = instantiate(cfg.env.world), OmegaConf.to_container(cfg.env)
        files = [collect(env, world, split, data, quiet=True) for split in ("train", "valid")]
        seed_everything(cfg.seed, workers=False, verbose=False)
        model = instantiate(cfg.model.module)
        begin = SeedEpochs.on_train_epoch_start

        def breaking(self, trainer, module):
            if (self.stage, trainer.current_epoch) == stop_at:
                raise Stop
            begin(self, trainer, module)

        with monkeypatch.context() as patch:
            patch.setattr(SeedEpochs, "on_train_epoch_start", breaking)
            try:
                train_stages(cfg, model, EpisodeData.of(cfg, *files, world), folder, logger)
            except Stop:
                return None
        return torch.load(folder / "checkpoints" / "model.ckpt", weights_only=True)["state_dict"]

    return train
