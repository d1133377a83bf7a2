"""Training in rounds: of equal seconds whatever they hold, or of equally many updates,
weights of each, and a resumed run that goes on."""

import json
import shutil
import time

import pytest
import torch
from pytorch_lightning import Callback, LightningModule, Trainer

import eval.planning.kept
from envs.problem import Problem
from eval.plan import plan_run
from eval.planning.kept import usual_protocol
from eval.runs import Run, read_results
from eval.runs.checkpoints import read_checkpoint
from eval.runs.ledger import enter, entries
from eval.runs.metrics_csv import by_epoch
from models.world_model import one_cycle
from train.rounds import Clock, UpdateCount, ends_of_rounds

FAST = ["trainer=minutes", "env.splits.select.episodes=30", "env.splits.valid.episodes=10", "score.split=select",
        "score.episodes=30", "score.counterfactuals=5", "goals=false", "logger=csv", "env=physics3"]  # fmt: skip

COUNTED = ["trainer=updates", "trainer.accelerator=cpu", *FAST[1:], "env.splits.train.episodes=20"]


@pytest.fixture(scope="module")
def counted(tmp_path_factory, fitted_here):
    """A finished run of 24 updates in two rounds, with hard windows, which end a pass."""
    here = tmp_path_factory.mktemp("counted")
    fitted_here(*COUNTED, "trainer.updates=24", "model=edge", "loss=infonce", "loss.epochs.minutes=2", "name=counted", cwd=here)
    return here


@pytest.fixture
def run(counted, tmp_path):
    shutil.copytree(counted, tmp_path, dirs_exist_ok=True)
    return tmp_path / "runs/counted"


class Batches(list):
    """A loader of fixed batches that remembers its epochs."""

    epoch = chances = None

    def __iter__(self):
        self.seen.append(self.epoch)
        return super().__iter__()

    seen: list


def used(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_a_round_lasts_as_long_as_it_is_given(tmp_path):
    clock, windows = Clock(seconds=0.2, count=2, before=0, folder=tmp_path), Batches(range(3))
    windows.seen = []
    count = sum(used(0.03) is None for _ in clock.round(windows, 0))
    assert 0.2 <= clock.used < 0.3 and 4 <= count <= 7
    assert windows.seen[:2] == [0, 1], "a second pass has an order of its own"
    sum(used(0.03) is None for _ in clock.round(windows, 1))
    assert 0.4 <= clock.used < 0.5 and 100_000 in windows.seen and clock.progress == 1


def test_a_round_has_one_batch_at_least(tmp_path):
    clock, windows = Clock(seconds=0.01, count=1, before=0, folder=tmp_path), Batches("ab")
    windows.seen = []
    used(0.02)
    assert list(clock.round(windows, 0)) == ["a"]


def test_a_pass_goes_on_where_hard_windows_are_found(tmp_path):
    """Lightning takes the first batch of a stage that goes on before the epoch begins."""
    clock, windows = Clock(seconds=10, count=2, before=0, folder=tmp_path), Batches("abc")
    windows.seen = []
    batches = iter(clock.round(windows, 1))
    assert next(batches) == "a"
    windows.chances = torch.ones(3)
    assert [next(batches) for _ in range(3)] == ["b", "c", "a"] and windows.seen == [100_000, 100_000, 100_001]


def test_rounds_share_the_updates_of_all_stages(tmp_path):
    """What whole numbers leave over is spread, a pass may end within a round, and no batch is lost where one begins anew."""
    windows, given = Batches("abc"), []
    windows.seen = []
    for stage, rounds in enumerate((2, 1)):
        count = UpdateCount(ends_of_rounds(17, (2, 1), stage), before=2 * stage, folder=tmp_path)
        for number in range(rounds):
            for _ in range(len(list(count.round(windows, number)))):
                count.on_before_optimizer_step(None, None, None)
            given.append(count.done)
        assert count.progress == 1
    assert given == [5, 11, 6]
    half = UpdateCount([5, 11], before=0, folder=tmp_path)
    half.load_state_dict({"used": 3.0, "done": 5})
    assert half.progress == 5 / 11 and half.used >= 3


def test_every_stage_may_have_updates_of_its_own():
    assert [ends_of_rounds([7, 2], (3, 1), stage) for stage in (0, 1)] == [[2, 4, 7], [2]]
    assert [ends_of_rounds(8, (3, 1), stage) for stage in (0, 1)] == [[2, 4, 6], [2]]


def test_stages_make_the_updates_that_each_is_given(tmp_path, fitted_here):
    """A decoder makes those of the last stage dear; by one number it would have as many as the others."""
    fitted_here(*COUNTED, "trainer.updates=[4,9,2]", "model=ae", "loss=nll", "loss.epochs.minutes=1", "name=apart",
                "env.observation=state", "ledger=ledger", cwd=tmp_path)  # fmt: skip
    (entry,) = entries(tmp_path / "ledger")
    assert [(one["stage"], one["updates"]) for one in entry["rounds"]] == [
        ("reconstruction", 4),
        ("prediction", 9),
        ("finetune", 2),
    ]
    assert entry["scores"]["select"]["protocol"]["budget"] == "15 updates"


def test_a_run_goes_on_with_its_updates(tmp_path, run, command_here):
    """The weights of earlier rounds stay."""
    for name in ("checkpoints/model.ckpt", "checkpoints/0-joint.ckpt", "results.json"):
        (run / name).unlink()
    path = run / "config.yaml"  # of a run whose third round was not reached
    path.write_text(path.read_text().replace("updates: 24\n", "updates: 37\n").replace("epochs: 2\n", "epochs: 3\n"))
    before = read_checkpoint(run / "checkpoints/round-2.ckpt")["state_dict"]
    done = command_here("train/fit.py", "resume=runs/counted", "goals=false", "ledger=ledger", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (entry,) = entries(tmp_path / "ledger")
    assert [one["updates"] for one in entry["rounds"]] == [12, 24, 37] and all(one["cpu_s"] > 0 for one in entry["rounds"])
    assert entry["scores"]["select"]["protocol"]["budget"] == "37 updates"
    after, end = (read_checkpoint(run / f"checkpoints/{name}.ckpt")["state_dict"] for name in ("round-2", "model"))
    assert all(torch.equal(before[name], weights) for name, weights in after.items())
    assert any(not torch.equal(before[name], weights) for name, weights in end.items())
    losses = list(by_epoch(run / "metrics.csv", "val/loss")["joint", "val/loss"].values())
    best = read_checkpoint(run / f"checkpoints/round-{1 + losses.index(min(losses))}.ckpt")["state_dict"]
    assert all(torch.equal(best[name], weights) for name, weights in end.items()), (
        "those of the least validation loss are scored"
    )


def test_rounds_reach_goals(tmp_path, run, monkeypatch):
    """Curves had no goals: planning knew the best weights alone.
    What is learned for a round is not taken for what is kept of the end."""
    few = usual_protocol() | {"episodes": 20, "horizons": [1], "reward_steps": 20}
    monkeypatch.setattr(eval.planning.kept, "usual_protocol", lambda: few)
    for number in (1, 2):
        plan_run(Run.open(run, round=number), **few)
    assert not list(run.glob("checkpoints/distance-*")) and "plan" not in read_results(run)
    (one, two) = json.loads(enter(run, tmp_path / "ledger").read_text())["rounds"]
    assert one["plan"]["protocol"]["round"] == 1 and one["plan"]["protocol"]["weights"] != two["plan"]["protocol"]["weights"]
    assert 0 <= two["plan"]["metrics"]["plan/success/h1"] <= 100 and two["plan"]["metrics"]["plan/true/greedy/h1"] == 100
    for path in (tmp_path / "ledger").glob("*/*.json"):
        broken = json.loads(path.read_text())
        broken["rounds"][0]["plan"]["metrics"]["plan/success/h1"] = 101
        path.write_text(json.dumps(broken))
    with pytest.raises(Problem, match="says plan/success/h1 101 .round 1, goals."):
        list(entries(tmp_path / "ledger"))


@pytest.mark.filterwarnings("ignore")
def test_the_rate_follows_the_updates(tmp_path):
    """That of an update is what share of all were made before it: none before the first."""
    rates = []

    class RecordsRates(LightningModule):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))

        def training_step(self, batch):
            rates.append(self.optimizers().param_groups[0]["lr"])
            return (self.weight * batch.mean()).sum()

        def configure_optimizers(self):
            optimizer = torch.optim.SGD(self.parameters(), lr=1.0)
            schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: count.progress)
            return [optimizer], [{"scheduler": schedule, "interval": "step"}]

        def train_dataloader(self):
            return count.round(batches, self.current_epoch)

    batches = Batches(torch.ones(3, 1))
    batches.seen = []
    count = UpdateCount([5, 10], before=0, folder=tmp_path)
    Trainer(max_epochs=2, callbacks=[Counted(count)], accelerator="cpu", logger=False, enable_checkpointing=False,
            enable_progress_bar=False, reload_dataloaders_every_n_epochs=1,
            enable_model_summary=False).fit(RecordsRates())  # fmt: skip
    assert rates == pytest.approx([n / 10 for n in range(10)])


class Counted(Callback):
    """The count of updates alone, without what is kept of a world model."""

    def __init__(self, count):
        self.on_before_optimizer_step = count.on_before_optimizer_step


def test_time_and_updates_are_not_both_asked_for(tmp_path, command_here):
    done = command_here("train/fit.py", *COUNTED, "trainer.updates=37", "+trainer.cpu_minutes=1", cwd=tmp_path)
    assert done.returncode != 0 and "got both, trainer.cpu_minutes=1 and trainer.updates=37" in done.stderr


def test_updates_are_at_least_as_many_as_rounds(tmp_path, command_here):
    done = command_here("train/fit.py", *COUNTED, "trainer.updates=9", cwd=tmp_path)
    assert done.returncode != 0 and "trainer.updates=9 are to be shared by 10 rounds; set it to 10 or more" in done.stderr
    for updates, why in (("[20,20]", "has 2 numbers, and the loss has 1 stage, joint; give one for each"),
                         ("[9]", "gives 9 to stage joint, which has 10 rounds; give it 10 or more"),
                         ("[0]", "trainer.updates must be a whole number >= 1, or a list of them, "
                                 "one for each stage, got [0]")):  # fmt: skip
        done = command_here("train/fit.py", *COUNTED, f"trainer.updates={updates}", cwd=tmp_path)
        assert done.returncode != 0 and why in done.stderr, done.stderr


def test_the_rate_is_that_of_one_cycle():
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=4000, pct_start=0.05, cycle_momentum=False)
    for step in range(3999):
        assert optimizer.param_groups[0]["lr"] == pytest.approx(one_cycle(step / 3999), abs=5e-3)
        optimizer.step()
        schedule.step()


def test_three_stages_share_the_time_and_rounds_are_scored(tmp_path, fitted_here, command_here):
    fitted_here(*FAST, "model=ae", "loss=nll", "loss.epochs.minutes=1", "trainer.cpu_minutes=0.03",
                "env.splits.train.episodes=20", "name=timed", "ledger=ledger", cwd=tmp_path)  # fmt: skip
    run = tmp_path / "runs/timed"
    told = by_epoch(run / "metrics.csv", "cpu_seconds", "updates")
    ends = [told[stage, "cpu_seconds"][0] for stage in ("reconstruction", "prediction", "finetune")]
    assert ends == sorted(ends) and ends[0] > 0.6 and ends[2] > 1.8
    weights = [read_checkpoint(run / f"checkpoints/round-{n}.ckpt")["state_dict"] for n in (1, 2, 3)]
    assert not torch.equal(*(some["decoder.mlp.0.weight"] for some in (weights[0], weights[2])))
    done = command_here("eval/score.py", "run=runs/timed", "round=[1,2]", "ledger=ledger", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (entry,) = entries(tmp_path / "ledger")
    assert [one["round"] for one in entry["rounds"]] == [1, 2, 3] and entry["rounds"][2]["scores"] == {}
    first = json.loads((run / "results-round1.json").read_text())
    assert entry["rounds"][0]["scores"]["select"]["metrics"] == first["metrics"] and first["protocol"]["round"] == 1
    assert entry["scores"]["select"]["metrics"] != first["metrics"], "those of the end are others"
    ends = read_checkpoint(run / "checkpoints/model.ckpt")["state_dict"]
    assert all(torch.equal(ends[name], last) for name, last in weights[2].items()), "of the last stage"
    done = command_here("eval/score.py", "run=runs/timed", "round=7", cwd=tmp_path)
    assert done.returncode != 0 and "it has 1, 2, 3; set round= to one of them" in done.stderr


def test_a_resumed_stage_remembers_what_it_used(tmp_path):
    clock = Clock(seconds=1, count=2, before=0, folder=tmp_path)
    clock.load_state_dict({"used": 1.5})
    assert 1.5 <= clock.used < 1.7 and clock.progress > 0.74


def test_one_process_has_a_clock(tmp_path, command_here):
    done = command_here("train/fit.py", *FAST, "model=ae", "loss=nll", "+trainer.devices=2", cwd=tmp_path)
    assert done.returncode != 0 and "trainer.cpu_minutes= is the time of one process, and 2 are asked for" in done.stderr
    done = command_here("train/fit.py", *COUNTED, "model=ae", "loss=nll", "+trainer.devices=2", cwd=tmp_path)
    assert (
        done.returncode != 0 and "trainer.updates= is the number of updates of one process, and 2 are asked for" in done.stderr
    )


def test_a_training_that_diverges_is_entered(tmp_path, command_here):
    """Why it could not end is in the ledger, and the same run is not taken for one that was not tried."""
    done = command_here("train/fit.py", *FAST, "model=ae", "loss=contrastive", "loss.learning_rate=1e30",
                        "trainer.precision=32-true", "trainer.cpu_minutes=0.05", "env.splits.train.episodes=20",
                        "name=far", "ledger=ledger", cwd=tmp_path)  # fmt: skip
    assert done.returncode != 0 and "loss is not finite" in done.stderr
    (entry,) = entries(tmp_path / "ledger")
    assert entry["run"] == "far" and "loss is not finite" in entry["diverged"] and entry["scores"] == {}


def test_a_run_goes_on_with_its_rounds(tmp_path, fitted_here, command_here):
    """Killed in a round: what was used counts, rounds that are there stay, and the ledger may be another."""
    fitted_here(*FAST, "model=edge", "loss=infonce", "loss.epochs.minutes=2", "trainer.cpu_minutes=0.04",
                "env.splits.train.episodes=6", "name=broken", cwd=tmp_path)  # fmt: skip
    run = tmp_path / "runs/broken"
    for name in ("checkpoints/model.ckpt", "checkpoints/0-joint.ckpt", "results.json"):
        (run / name).unlink()
    path = run / "config.yaml"  # of a run whose third round was not reached
    path.write_text(
        path.read_text().replace("cpu_minutes: 0.04\n", "cpu_minutes: 0.06\n").replace("epochs: 2\n", "epochs: 3\n")
    )
    done = command_here("train/fit.py", "resume=runs/broken", "goals=false", "ledger=elsewhere", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (entry,) = entries(tmp_path / "elsewhere")
    assert [one["round"] for one in entry["rounds"]] == [1, 2, 3] and "select" in entry["scores"]
    ends = [one["cpu_s"] for one in entry["rounds"]]
    assert 2.4 < ends[1] < 3.6 <= ends[2] < 5 and entry["rounds"][2]["updates"] > entry["rounds"][1]["updates"]
