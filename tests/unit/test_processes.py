"""Two processes that share a batch compute what one computes: loss, gradients, batch statistics, weights, hard windows."""

import pytest
import torch
import torch.distributed as dist
from torch import multiprocessing

from envs.collect import collect
from envs.physics import PhysicsWorld
from losses.contrastive import Contrastive
from losses.hinge import AllPairsHinge
from losses.infonce import InfoNCE
from losses.nll import JointNLL
from models.decoders import FlatDecoder
from models.encoders import BoardMaps, FlatEncoder, SlotEncoder
from models.layers.sync_norm import share_statistics
from models.processes import agreed, count, gather, own_rows, rank
from models.transitions.causal import CausalTransition
from models.transitions.mlp import MLPTransition
from models.transitions.modular import ModularTransition
from models.world_model import WorldModel
from train.datamodule import Windows
from train.hard_windows import window_errors

PROCESSES, WINDOW, STEPS = 2, 3, 3
SPLIT = {"episodes": 5, "length": 9, "seed": 1, "mode": "train"}
OBJECTIVES = {
    "infonce": InfoNCE(), "contrastive": Contrastive(), "contrastive next": Contrastive(anchor="next"),
    "nll": JointNLL(), "learned edges": InfoNCE(), "other windows": InfoNCE(own_window=False), "hinge": AllPairsHinge(),
}  # fmt: skip

RATE = {"nll": 1e-6}  # its loss is summed over 7500 numbers


def model_of(case):
    """Encoders and decoders with batch norm, as the configs compose them."""
    torch.manual_seed(0)
    if case == "nll":  # torch's own norm is right to 1e-4 only on the layout of the medium encoder's maps, so: small
        encoder = FlatEncoder(BoardMaps(3, size="small", channels=4), 4, 16)
        return WorldModel(encoder, MLPTransition(3, 15, 4, 16), FlatDecoder(3, 4, hidden=8))
    if case == "learned edges":  # in eval mode, where its graph is no sample; its running means are told by hand
        return WorldModel(SlotEncoder(BoardMaps(3, size="patch", channels=4), 4, 16), CausalTransition(3, 15, 4, 16))
    return WorldModel(SlotEncoder(BoardMaps(3, size="patch", channels=4), 4, 16), ModularTransition(3, 15, 4, 16))


def windows_of(folder):
    """Batches of 4 windows of 15: the last one has 3, which two processes share unevenly."""
    env = {"name": "physics3", "drop_invalid": True, "splits": {"train": SPLIT}}
    world = PhysicsWorld(3)
    return Windows(collect(env, world, "train", folder, quiet=True), world.spec, WINDOW, 4 * WINDOW, 0, True)


def steps(case, part):
    """Loss of every batch, gradients of the last one, and the state after plain gradient steps, as DDP takes them."""
    model, objective = share_statistics(model_of(case)).train(), OBJECTIVES[case]
    model.transition.train(case != "learned edges")
    losses = []
    for batch in list(part)[-STEPS:]:
        torch.manual_seed(len(losses) + 100 * rank())  # noise may differ, negatives may not
        model.zero_grad()
        loss = batch.weight * torch.stack(list(objective(model, batch).values())).sum()
        loss.backward()
        if case == "learned edges":
            latent = model.encode(batch.obs.flatten(0, 1)).unflatten(0, batch.obs.shape[:2])
            model.transition.track(gather(latent.detach()), gather(batch.action))
        gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
        loss = loss.detach().clone()
        for value in [loss, *gradients.values()]:
            if count() > 1:
                dist.all_reduce(value)
            value /= count()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name in gradients:
                    parameter -= RATE.get(case, 1e-3) * gradients[name]
        losses.append(loss)
    return {"losses": torch.stack(losses), **{f"d {k}": v for k, v in gradients.items()}, **model.state_dict()}


def seen(folder):
    """Everything that is compared."""
    torch.set_num_threads(1)
    part = windows_of(folder)
    found = {case: steps(case, part) for case in OBJECTIVES}
    found["errors"] = {"errors": window_errors(model_of("infonce").eval(), part)}
    return found


def process(number, folder):
    """One of the processes; the first one writes what it saw."""
    dist.init_process_group("gloo", f"file://{folder}/meeting", world_size=PROCESSES, rank=number)
    rows = torch.arange(3.0)[: number + 1] + 10 * number  # 0 | 10 11: uneven
    assert gather(rows).tolist() == [0, 10, 11] and agreed(torch.tensor(float(number))).item() == 0
    assert gather(torch.arange(number)).tolist() == [0], "a process that holds nothing"
    found = seen(folder)
    shares = gather(torch.tensor([[len(batch.action), batch.weight] for batch in windows_of(folder)])[None])
    if number == 0:
        torch.save((found, shares), folder / "together.pt")
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """What one process saw, what two saw, and the shares of the two."""
    folder = tmp_path_factory.mktemp("p")
    alone = seen(folder)
    multiprocessing.set_forkserver_preload(["pytorch_lightning"])  # once for both: it takes longer than their work
    multiprocessing.start_processes(process, (folder,), nprocs=PROCESSES, start_method="forkserver")
    return alone, *torch.load(folder / "together.pt", weights_only=True)


@pytest.mark.parametrize("case", [*OBJECTIVES, "errors"])
def test_two_processes_are_one(case, both):
    """Within 1e-4 of the largest value of each loss, gradient, weight and buffer; a bias before a norm has no gradient but
    rounding, a hundred-thousandth of the largest one.
    """
    alone, together = both[0][case], both[1][case]
    assert alone.keys() == together.keys()
    steepest = max((float(value.abs().max()) for name, value in alone.items() if name.startswith("d ")), default=0)
    for name, one in alone.items():
        apart = float((together[name] - one).abs().max())
        assert apart <= 1e-4 * float(one.abs().max()) + (1e-5 * steepest if name.startswith("d ") else 1e-6), f"{name}: {apart}"


def test_every_window_belongs_to_one_process(both):
    """Shares add up to the batches of one process, none is empty, and weights are shares of the batch in processes."""
    sizes, weights = both[2].unbind(-1)
    assert sizes.tolist() == [[2, 2, 2, 2], [2, 2, 2, 1]]
    assert weights.sum(0).allclose(torch.full((4,), float(PROCESSES)))


def test_a_tail_too_small_joins_the_batch_before(monkeypatch, tmp_path):
    """15 windows in batches of 7: the last one of 1 cannot be shared by two; alone it stays as it is."""
    part = windows_of(tmp_path)
    part.windows_per_batch = 7
    assert [len(batch.action) for batch in part] == [7, 7, 1] and len(part) == 3
    monkeypatch.setattr("train.datamodule.count", lambda: 2)
    monkeypatch.setattr("train.datamodule.own_rows", lambda rows: rows.tensor_split(2)[1])
    assert [len(batch.action) for batch in part] == [3, 4] and len(part) == 2


def test_alone_nothing_happens():
    """No process group: the very same tensors, torch's own batch norm."""
    rows = torch.randn(3, 2, requires_grad=True)
    assert (count(), rank()) == (1, 0) and gather(rows) is rows and own_rows(rows).shape == rows.shape
    norm, shared = torch.nn.BatchNorm2d(2), share_statistics(torch.nn.BatchNorm2d(2))
    x = torch.randn(4, 2, 3, 3)
    assert torch.equal(norm(x), shared(x)) and norm.state_dict().keys() == shared.state_dict().keys()
