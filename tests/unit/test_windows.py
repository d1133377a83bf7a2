"""Windows of episodes: what a batch holds, in which order, and which windows are hard."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from envs.collect import collect
from envs.physics import PhysicsWorld
from envs.problem import Problem
from envs.spec import Action, EnvSpec, Observation
from losses.objective import distinct_frames
from losses.whitened import WhitenedPrediction
from train import hard_windows
from train.datamodule import EpisodeData, Windows
from train.hard_windows import HardWindows, window_errors
from train.rounds import Round

EPISODES, LENGTH, WINDOW = 6, 9, 3


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    split = {"episodes": EPISODES, "length": LENGTH, "seed": 1, "mode": "train"}
    env = {"name": "physics3", "drop_invalid": True, "splits": {"train": split}}
    return collect(env, PhysicsWorld(3), "train", tmp_path_factory.mktemp("d"), quiet=True)


def windows(file, seed=0, shuffle=True, batch=6):
    return Windows(file, PhysicsWorld(3).spec, WINDOW, batch, seed, shuffle)


def test_a_batch_holds_the_rows_of_the_file(file):
    """Frames, actions and frame names of a window are those of its rows; no window crosses an episode."""
    part, columns = windows(file), file.read("pixels", "action")
    ends = set(file.ep_offset + file.ep_len - 1)
    for start in part.starts.tolist():
        assert not ends & set(range(start, start + WINDOW))
    batch = part.gather(part.starts[:4])
    for i, start in enumerate(part.starts[:4].tolist()):
        assert np.array_equal(batch.obs[i].permute(0, 2, 3, 1).numpy(), columns["pixels"][start : start + WINDOW + 1])
        assert batch.action[i].argmax(-1).tolist() == columns["action"][start : start + WINDOW].tolist()
        assert torch.equal(batch.obs_id[i], part.obs_id[start : start + WINDOW + 1])


def test_an_epoch_shows_every_transition_once_in_number(file):
    """As many transitions as the file holds; another epoch, another order; the same epoch, the same order."""
    part = windows(file)
    seen = sum(batch.action.shape[0] * WINDOW for batch in part)
    assert seen == EPISODES * LENGTH
    first, again = [b.action for b in part], [b.action for b in part]
    assert all(torch.equal(a, b) for a, b in zip(first, again))
    part.epoch = 1
    assert not all(torch.equal(a, b.action) for a, b in zip(first, part))


def test_likely_windows_are_drawn_first(file):
    """With chances on few windows those come up in every epoch, and in a mixed order."""
    part = windows(file)
    likely = torch.zeros(len(part.starts))
    likely[::3] = 1
    part.chances = likely + 1e-9
    drawn = torch.cat([batch.obs_id[:, 0] for batch in part])
    wanted = part.obs_id[part.starts[::3]]
    assert set(wanted.tolist()) <= set(drawn.tolist())
    one = torch.full((len(part.starts),), 1e-9)
    one[5] = 1.0
    part.chances, part.obs_id, places = one, torch.arange(len(part.obs)), set()
    for part.epoch in range(8):
        drawn = torch.cat([batch.obs_id[:, 0] for batch in part])
        places |= set((drawn == part.obs_id[part.starts[5]]).nonzero().flatten().tolist())
    assert places != {0}, "the likeliest is not the first of every epoch"


def test_errors_name_the_windows_with_the_wrong_transition(file):
    """A model that is right but for one transition is wrong about exactly the windows that hold it."""
    part = windows(file)
    part.obs_id = torch.arange(len(part.obs))  # as if no frame came twice
    wrong = int(file.ep_offset[2]) + 4

    class Table:
        """The latent of a frame is its row; the transition adds one row, but not at `wrong`."""

        device, rows = "cpu", 0

        def encode(self, obs):
            first, Table.rows = Table.rows, Table.rows + len(obs)
            return torch.arange(first, Table.rows).float()[:, None, None]

        def transition(self, latent, action):
            return latent + 1 + 2 * (latent == wrong)

    errors = window_errors(Table(), part)
    holds = (part.starts <= wrong) & (wrong < part.starts + WINDOW)
    assert torch.equal(errors > 0, holds) and errors[holds].allclose(torch.tensor(4 / WINDOW))


@pytest.mark.parametrize("window", [1, 3, LENGTH])
def test_errors_are_asked_for_where_they_decide_anything(file, window, monkeypatch):
    """An epoch of single steps, or of whole episodes, holds every window; the errors of all were once computed for it, and
    decided nothing. Of others an epoch has room for a part, and the hard ones come into it more often, each at most once."""
    part, asked = Windows(file, PhysicsWorld(3).spec, window, 6, 0, True), []
    hard = torch.arange(len(part.starts)) % 9 == 0

    def errors(model, windows):
        asked.append(windows)
        return hard.float()

    monkeypatch.setattr(hard_windows, "window_errors", errors)
    trainer = SimpleNamespace(current_epoch=1, precision_plugin=SimpleNamespace(forward_context=nullcontext))
    HardWindows(part, 0.75).on_train_epoch_start(trainer, SimpleNamespace(eval=lambda: None, on_train_epoch_start=lambda: None))
    assert part.hold_all == (window != 3) and len(asked) == (window == 3) == (part.chances is not None)
    part.obs_id = torch.arange(len(part.obs))  # as if no frame came twice
    drawn = [torch.cat([batch.obs_id[:, 0] for batch in part]) for part.epoch in range(20)]
    assert all(len(one.unique()) == len(one) == EPISODES * LENGTH // window for one in drawn)
    share = torch.isin(torch.cat(drawn), part.starts[hard]).float().mean()
    even = hard.float().mean()
    assert share > 1.5 * even if window == 3 else share == even, "and fewer than the share asks for: there are not so many"


def test_equal_frames_are_encoded_once(file):
    """Every row gets the latent of its own frame, and the encoder sees each picture one time."""
    part, seen = windows(file), []

    class Sum:
        device = "cpu"

        def encode(self, obs):
            seen.append(obs)
            return obs.double().flatten(1).cumsum(1)[:, ::2500].float()[:, None]

    latent, model = part.encode(Sum()), Sum()
    assert torch.equal(latent, model.encode(part.frames(torch.arange(len(part.obs)))))
    assert len(torch.cat(seen[:-1])) == len(part.obs_id.unique()) < len(part.obs_id)


def test_validation_walks_once_over_everything(file):
    """No window twice, one fixed order whatever the epoch."""
    part = windows(file, shuffle=False)
    frames = torch.cat([batch.obs_id[:, 0] for batch in part])
    part.epoch = 5
    assert torch.equal(frames, torch.cat([batch.obs_id[:, 0] for batch in part])) and len(frames) == EPISODES * LENGTH // WINDOW


def test_a_window_longer_than_the_episodes_is_refused(file):
    """The sentence names both lengths."""
    with pytest.raises(Problem, match="window=10 is longer than the episodes of .*9 actions"):
        Windows(file, PhysicsWorld(3).spec, 10, 6, 0, True)


def test_actions_are_one_hot(file):
    """Rows of any shape."""
    part = windows(file)
    rows = torch.tensor([[0, 1], [2, 3]])
    assert torch.equal(part.actions(rows), F.one_hot(part.action[rows], 15).float())


def test_kept_codes_are_those_of_the_rows(file):
    """Windows on codes computed beforehand hold the codes of their frames, and no frames."""
    part = windows(file)
    part.latent = torch.arange(2.0 * len(part.obs)).view(-1, 1, 2)
    batch = part.gather(part.starts[:4])
    assert batch.obs is None and batch.latent.shape == (4, WINDOW + 1, 1, 2)
    assert torch.equal(batch.latent[:, :, 0, 0], 2.0 * (part.starts[:4, None] + torch.arange(WINDOW + 1)))


def test_whole_episodes_are_not_copied(file):
    """Ten thousand of them are most of a gigabyte; shorter windows are the same rows."""
    (whole,), (short,) = file.windows("pixels", steps=LENGTH), file.windows("pixels", steps=LENGTH - 2, count=EPISODES)
    assert (
        whole.shape[:2] == (EPISODES, LENGTH + 1)
        and np.shares_memory(whole, whole.reshape(-1, *whole.shape[2:]))
        and not whole.flags.owndata
    )
    assert (
        np.array_equal(whole.reshape(-1, *whole.shape[2:]), file.read("pixels")["pixels"])
        and np.array_equal(whole[:, : LENGTH - 1], short)
    )
    (more,) = file.windows("pixels", steps=LENGTH - 2, count=3 * EPISODES)
    assert len(more) == 3 * EPISODES and np.array_equal(more[::3], short)


def test_a_round_that_goes_on_has_the_windows_of_an_uninterrupted_one_but_for_the_first_batch(file):
    """The rest of its first pass was once that of the next one."""

    def starts(part, known):
        part.chances = known
        taken = []
        for batch in Round(SimpleNamespace(over=lambda number, given: given == 20), part, 1):
            part.chances = hard  # as where training goes on: said after the first batch is drawn
            taken.append(batch.obs_id[:, 0])
        return taken

    part = windows(file)
    part.obs_id = torch.arange(len(part.obs))  # as if no frame came twice
    hard = torch.linspace(0.1, 1, len(part.starts))
    whole, resumed = starts(part, hard), starts(part, None)
    assert len(whole) == len(resumed) == 20 > 2 * len(part), "more than two passes"
    assert not torch.equal(whole[0], resumed[0])
    assert all(torch.equal(a, b) for a, b in zip(whole[1:], resumed[1:]))
    assert not torch.equal(whole[0], whole[len(part)]), "each pass has an order of its own"


def test_a_stage_begins_without_the_errors_of_the_stage_before(file):
    data = EpisodeData(file, file, PhysicsWorld(3).spec, 0)
    data.cut(WINDOW, 6)
    data.train.chances = torch.ones(len(data.train.starts))
    data.cut(WINDOW, 6)
    assert data.train.chances is None


@pytest.mark.parametrize("most", [20, 10_000])
def test_whitening_is_fitted_to_as_many_frames_as_it_says(file, most, monkeypatch):
    """It took half as many again, and none of how episodes end."""
    part, fitted = windows(file), []
    part.frames = fitted.append
    monkeypatch.setattr(WhitenedPrediction, "FRAMES", most)
    WhitenedPrediction().prepare(SimpleNamespace(encoder=SimpleNamespace(fit=lambda frames: None)), part)
    rows = set(fitted[0].tolist())
    assert len(fitted[0]) == len(rows) == min(most, EPISODES * (LENGTH + 1)) and {0, EPISODES * (LENGTH + 1) - 1} <= rows
    if most > len(part.obs):
        assert rows == set(range(len(part.obs)))


def test_real_numbers_are_encoded_as_they_are():
    """Ids of real numbers are of what they are rounded to, for the ranking:
    numbers that differ by less were trained on as one."""
    spec = EnvSpec({"table": Observation("objects", (1, 1), "real", resolution=0.01)}, Action(1), 1)
    table = torch.tensor([0.600, 0.603, 0.603, 0.606])[None, :, None, None]
    frames, index = distinct_frames(table, torch.tensor([[1, 1, 1, 1]]))
    assert frames.flatten().tolist() == pytest.approx([0.600, 0.603, 0.606]) and index.tolist() == [0, 1, 1, 2]
    columns = {"objects": table[0].numpy(), "action": np.zeros((4, 1), np.float32)}
    read = lambda *names: {name: columns[name] for name in names}  # noqa: E731
    part = Windows(
        SimpleNamespace(spec=None, ep_len=np.array([4]), ep_offset=np.array([0]), read=read), spec, 1, 4, 0, False, "table"
    )
    assert len(part.obs_id.unique()) == 2, "one outcome in the ranking"
    model = SimpleNamespace(device="cpu", encode=lambda obs: obs)
    assert part.encode(model).flatten().tolist() == table.flatten().tolist()
