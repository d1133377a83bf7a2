"""OFPR-Net: what its heads learn from, how clips are judged, and which weights fit a backbone."""

import math
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from losses.labels import Labels, head_loss
from models.encoders.video import VideoEncoder, as_torchvision, resnet
from models.interfaces import Batch
from models.ofpr import FEATURE_HEADS, FEATURES, POSTERIOR_SPEEDS, Baseline, Head, Heads, OFNet, OFPRNet
from train.callbacks import BestWeights, Pairs


def clips(count=4, frames=6, side=32):
    torch.manual_seed(1)
    return torch.randint(0, 256, (count, frames, 3, side, side), dtype=torch.uint8)


def labels_of_barriers(count=4):
    """Only what a barrier asks for; everything else is irrelevant."""
    features = torch.tensor([-1.0 if not n else n - 1 for n in FEATURES.values()]).repeat(count, 1)
    for name in ("object_height", "object_width", "opening_width", "opening_height"):
        features[:, list(FEATURES).index(name)] = torch.linspace(0.4, 1.6, count)
    features[:, [list(FEATURES).index(name) for name in ("wall_opening", "wall_soft", "object_shape")]] = 1
    prior, posterior = torch.full((count, 13), 2), torch.full((count, 9), 2)
    posterior[:, 8] = torch.arange(count) % 2
    return {"label_features": features, "label_prior": prior, "label_posterior": posterior,
            "label_version": torch.zeros(count, 1, dtype=torch.uint8)}  # fmt: skip


def test_processes_may_share_it():
    """torch sends no short numbers from one process to another, which trees are kept in: with several, no training began."""
    dist.init_process_group("gloo", store=dist.HashStore(), world_size=1, rank=0)
    try:
        shared = DistributedDataParallel(OFPRNet(VideoEncoder(width=8), 8), find_unused_parameters=True)
    finally:
        dist.destroy_process_group()
    assert shared.module.state_dict().keys() >= {"rules.prior.feature", "rules.posterior.answer"}, "checkpoints hold them"


class Windows:
    """Training windows of one batch."""

    starts = None

    def __init__(self, labels):
        self.labels_of = lambda starts: labels


def small(kind=OFPRNet, **options):
    torch.manual_seed(0)
    return kind(VideoEncoder(width=16, channels=2), width=16, **options)


def test_the_table_of_features_is_the_published_one():
    assert len(FEATURES) == 24 and [n for n in FEATURES.values() if n] == [3, 3, 3, 3, 3, 3, 8, 8, 8, 3]
    assert POSTERIOR_SPEEDS == (6, 7, 10, 11)


@pytest.mark.parametrize("kind, heads", [(OFPRNet, 33), (OFNet, 9), (Baseline, 1)])
def test_every_clip_is_judged_from_zero_to_one(kind, heads):
    model = small(kind).eval()
    assert model.encode(clips()).shape == (4, 1, 16) and model.answers(clips()).shape == (4, heads)
    told = model.judge(clips(), torch.zeros(4, 9, dtype=torch.long))
    assert told.shape == (4,) and ((told >= 0) & (told <= 1)).all()
    if kind is OFNet:  # surprised by anything but what it reads off itself
        own = model.answers(clips()).long()
        assert not model.judge(clips(), own).any() and model.judge(clips(), (own + 1) % 3).all()


def test_what_is_observed_may_be_read_off_as_well():
    """observed=heads: the oracle is not asked, whatever it says."""
    model = small(observed="heads").eval()
    posterior = torch.zeros(4, 9, dtype=torch.long)
    assert torch.equal(model.judge(clips(), posterior), model.judge(clips(), posterior + 1))
    with pytest.raises(ValueError, match="oracle or heads, got 'eyes'"):
        small(observed="eyes")


def test_all_heads_learn_first_and_then_those_that_are_asked():
    model, objective, labels = small(), Labels(every_branch=2), labels_of_barriers()
    objective.prepare(model, Windows(labels))
    batch = Batch(clips(), torch.zeros(4, 5, 0), torch.zeros(4, 6), labels=labels)
    asked = {"object_height", "object_width", "wall_opening", "wall_soft", "opening_width", "opening_height", "object_shape",
             "passed_through"}  # fmt: skip
    for epoch, training in ((0, True), (1, True), (2, True), (0, False)):
        type(model).current_epoch = epoch
        try:
            model.train(training)
            model.zero_grad()
            sum(objective(model, batch).values()).backward()
        finally:
            del type(model).current_epoch
        learning = {
            h.name for h, net in zip(model.heads.heads, model.heads.nets) if any(p.grad is not None for p in net.parameters())
        }
        assert learning == ({h.name for h in model.heads.heads} if training and epoch < 2 else asked)


def test_a_loss_of_labels_is_a_plain_sum():
    """Squared error of numbers, cross entropy of classes, by hand."""
    heads = (Head("a", "label_features", 0, 0), Head("b", "label_features", 1, 3), Head("c", "label_features", 2, 0))
    model = small()
    model.heads = Heads(heads, 16)
    labels = {"label_features": torch.tensor([[0.5, 1.0, 3.0], [1.5, 0.0, 4.0]])}
    latent = torch.randn(2, 2, 1, 16)
    terms = Labels()(model, Batch(None, torch.zeros(2, 1, 0), torch.zeros(2, 2), latent, labels=labels))
    number, classes, other = model.heads(latent[:, 0])
    errors = [(out[:, 0] - labels["label_features"][:, n]).pow(2).mean() for n, out in ((0, number), (2, other))]
    assert torch.allclose(terms["numbers"], sum(errors))
    assert (
        torch.allclose(terms["classes"], nn.functional.cross_entropy(classes, torch.tensor([1, 0]))) and terms["posterior"] == 0
    )


def test_a_yes_or_no_that_is_undecided_costs_ln_2():
    undecided, sure = torch.zeros(4, 1), torch.tensor([[9.0], [-9.0], [9.0], [-9.0]])
    told = torch.tensor([1, 0, 1, 0])
    head = Head("a", "label_version", 0, 1)
    assert head_loss(head, undecided, told).item() == pytest.approx(math.log(2)) and head_loss(head, sure, told).item() < 1e-3


def test_heads_without_labels_of_theirs_are_left_out():
    labels = labels_of_barriers()["label_features"]
    told = {head.name for head in FEATURE_HEADS if not head.irrelevant(labels)}
    assert told == {"object_height", "object_width", "wall_opening", "wall_soft",
                    "opening_width", "opening_height", "object_shape"}  # fmt: skip


def published(state):
    """Under the names of 3D-ResNets-PyTorch, as data parallelism writes them."""
    names = {}
    for key, value in state.items():
        for a, b in (
            ("stem.0", "conv1"),
            ("stem.1", "bn1"),
            ("conv1.0", "conv1"),
            ("conv1.1", "bn1"),
            ("conv2.0", "conv2"),
            ("conv2.1", "bn2"),
        ):
            if key.startswith(f"{a}.") or f".{a}." in key:
                key = key.replace(a, b)
                break
        names[f"module.{key}"] = value
    return names


def test_published_weights_fit_the_backbone_they_are_of(tmp_path):
    from torchvision.models.video.resnet import VideoResNet

    torch.manual_seed(0)
    net = resnet("r3d_18", 700)
    assert isinstance(net, VideoResNet)
    state = net.state_dict()
    names = published(state)
    assert "module.layer1.0.bn1.running_mean" in names and "module.conv1.weight" in names
    assert as_torchvision(names).keys() == state.keys()


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    """A file of weights of the small network, and one of another width."""
    folder = tmp_path_factory.mktemp("w")
    for name, width in (("fits", 16), ("wide", 20)):
        torch.save({"state_dict": VideoEncoder(width=width, channels=2).net.state_dict()}, folder / f"{name}.pth")
    (folder / "text.pth").write_text("weights")
    torch.save({"state_dict": nn.Linear(2, 2)}, folder / "code.pth")
    torch.save({"epoch": 1, "model": 2.0}, folder / "numbers.pth")
    return folder


def told(encoder):
    return [sentence for met, sentence in encoder.needs(None, None) if not met]


@pytest.mark.parametrize("name, says", [
    ("wide", r"does not fit backbone small: 2 of \d+ weights differ, first .* \(expected \(16,\), got \(20,\)\)"),
    ("numbers", r"cannot be read as weights \(KeyError\)"), ("text", "cannot be read as weights|is refused"),
    ("none", "is no file"), ("code", "is refused"),
])  # fmt: skip
def test_weights_that_do_not_fit_are_told(frozen, name, says):
    (sentence,) = told(VideoEncoder(width=16, channels=2, weights=str(frozen / f"{name}.pth")))
    assert re.search(says, sentence) and sentence.startswith(f"model.weights={frozen}") and "choose another" in sentence


def test_a_frozen_backbone_keeps_its_weights_and_statistics(frozen):
    encoder = VideoEncoder(width=16, channels=2, weights=str(frozen / "fits.pth"), frozen=True)
    assert not told(encoder)
    encoder.begin()
    before = {name: part.clone() for name, part in encoder.state_dict().items()}
    assert not encoder.train().training
    encoder(clips())
    stored = torch.load(frozen / "fits.pth", weights_only=True)["state_dict"]
    assert all(torch.equal(part, before[name]) for name, part in encoder.state_dict().items())
    assert torch.equal(before["net.0.weight"], stored["0.weight"])


def test_a_frozen_backbone_that_has_learned_nothing_is_refused():
    (sentence,) = told(VideoEncoder(width=16, channels=2, frozen=True))
    assert sentence.startswith("model.frozen=true keeps the backbone as it stands")


def test_what_is_no_clip_is_told():
    with pytest.raises(ValueError, match=r"reads clips \(B, T, C, H, W\), got \(4, 3, 32, 32\)"):
        small().encode(clips()[:, 0])
    with pytest.raises(ValueError, match="no video backbone 'r3d34', known: fused, small, r3d_18, r3d_34; set model.backbone="):
        VideoEncoder(backbone="r3d34")


def test_a_vector_too_short_to_halve_is_told():
    """Layers of no width would answer with constants."""
    with pytest.raises(ValueError, match="got width=4; set model.width= to 8 or more"):
        Heads([Head("one", "label_features", 0, 0)], width=4)


def test_the_fused_backbone_looks_at_the_frames_that_are_named():
    """Other frames change nothing; none named: sixteen spread over the clip, and of a short one some twice."""
    torch.manual_seed(0)
    encoder, obs = VideoEncoder(width=8, backbone="fused", channels=2, frames=[1, 4]).eval(), clips(2, 6)
    other = obs.clone()
    other[:, [0, 2, 3, 5]] = 0
    assert torch.equal(encoder(obs).mean, encoder(other).mean)
    other[:, 4] = 0
    assert not torch.equal(encoder(obs).mean, encoder(other).mean)
    assert VideoEncoder(width=8, backbone="fused", channels=2)(obs).mean.shape == (2, 1, 8)
    with pytest.raises(ValueError, match=r"model.frames=\[1, 4\] looks at frame 4, and the clips have 4 frames"):
        encoder(obs[:, :4])
    with pytest.raises(ValueError, match=r"one frame or more, got frames=\[\]"):
        VideoEncoder(backbone="fused", frames=[])


def test_numbers_are_learned_in_their_spread():
    """scaled: the heads of numbers begin at the mean of the labels, and an error of one spread counts as one."""
    model, labels = small(), labels_of_barriers()
    objective = Labels(scaled=True)
    objective.prepare(model, Windows(labels))
    widths = labels["label_features"][:, 1]
    with torch.no_grad():
        for net in model.heads.nets:
            net[-1].weight.zero_()
    told = model.heads(torch.randn(4, 1, 16))[1][:, 0]
    assert torch.allclose(told, widths.mean().expand(4))
    assert head_loss(model.heads.heads[1], told[:, None], widths, objective.spread[1]).item() == pytest.approx(1, abs=1e-4)
    assert objective.spread[20] == 1 and objective.spread[2] == 0.1  # classes; a number that all clips have alike


def scores(*epochs):
    """(best epoch, state) after epochs of (hit rate, AUC, loss)."""
    best, kept = None, BestWeights(Path("nowhere"), by_pairs=True)
    for number, values in enumerate(epochs):
        names = ("val/hit_rate", "val/auc", "val/loss")
        metrics = {name: torch.tensor(value) for name, value in zip(names, values)}
        if kept.check_monitor_top_k(SimpleNamespace(callback_metrics=metrics)):
            best = number
    return best, kept.state_dict()["scores"]


def test_the_best_epoch_has_the_best_pairs():
    """Hit rate first, then AUC, then the loss; a smaller loss alone is no reason."""
    assert scores((0.5, 0.9, 1.0), (0.75, 0.5, 9.0), (0.5, 0.9, 0.1))[0] == 1
    assert scores((0.75, 0.5, 1.0), (0.75, 0.625, 9.0), (0.75, 0.5, 0.1)) == (1, [0.75, 0.625, -9.0])
    assert scores((0.75, 0.5, 1.0), (0.75, 0.5, 0.5), (0.75, 0.5, 0.5))[0] == 1


def test_pairs_are_judged_by_their_trials():
    """The versions lie in different orders; what is logged is the hit rate of pairs of one trial."""

    class Model:
        def __init__(self):
            self.trainer = SimpleNamespace(strategy=SimpleNamespace(batch_to_device=lambda batch, device: batch))
            self.device, self.logged = "cpu", {}
            self.clips, self.judge_latent = (lambda batch: batch.latent), (lambda latent, posterior: latent)
            self.log = lambda name, value, **_: self.logged.update({name: value})

    def windows(trials, surprise):
        part = SimpleNamespace(starts=torch.arange(len(trials)), windows_per_batch=2,
                               labels={"label_trial": torch.tensor(trials)[:, None]})  # fmt: skip
        part.gather = lambda s: Batch(
            None, None, None, torch.tensor(surprise)[s], labels={"label_posterior": torch.zeros(len(s), 9)}
        )
        return part

    model = Model()
    Pairs(windows([7, 5, 6], [0.2, 0.0, 0.4]), windows([5, 6, 7], [0.1, 0.4, 0.3])).on_validation_epoch_end(None, model)
    assert model.logged["val/hit_rate"] == pytest.approx(2.5 / 3) and model.logged["val/auc"] == pytest.approx(5.5 / 9)
