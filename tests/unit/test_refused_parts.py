"""Parts that do not fit together are refused in a sentence before anything is collected, and what fits trains."""

from types import SimpleNamespace

import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf
from torch.nn import functional as F

from envs.problem import Problem
from losses.inverse_action import InverseAction
from models.interfaces import Batch
from train.agents.learner import check_learner
from train.checks import check_parts, check_plan
from train.datamodule import _epoch_seed


def parts_of(compose, *overrides):
    """What train/fit.py checks: model, objectives, spec, stages."""
    cfg = compose("fit", *overrides)
    return instantiate(cfg.model.module), [instantiate(stage.objective) for stage in cfg.loss.stages], cfg.spec, cfg.loss.stages


@pytest.mark.parametrize("overrides, said", [
    (("model=modular", "loss=prediction"),
     "no stage of this loss trains the encoder, and SlotEncoder would stay as it was drawn; choose"),
    (("model=random", "loss=whitened", "loss.stages.0.trains=[decoder]"),
     "trains the decoder, and this model has encoder, transition; choose"),
    (("model=gnn", "loss=infonce", "loss.stages.0.trains=[heads]"),
     "stage 'joint' trains the heads, and this model has encoder, transition, decoder; choose"),
])  # fmt: skip
def test_stages_train_what_is_there(compose, overrides, said):
    """Seen: an encoder that was never trained, and a traceback in a folder that was opened."""
    with pytest.raises(Problem, match=said):
        check_parts(*parts_of(compose, "env=physics3", *overrides))


def test_a_likelihood_alone_wants_an_encoder_that_learned(compose):
    """It trained on latents of a classifier as it was drawn, without a word."""
    module, objectives, spec, stages = parts_of(compose, "model=categorical", "loss=inverse_action", "env=chemistry_chain5")
    with pytest.raises(Problem, match="no stage of this loss trains the encoder"):
        check_parts(module, objectives[1:], spec, stages[1:])


def test_a_loss_has_no_weights_of_its_own(compose):
    """Those of a plain class stayed as they were drawn; a module's run could not be opened after its training."""
    module, _, spec, stages = parts_of(compose, "env=physics3")
    plain, whole = SimpleNamespace(temperature=torch.nn.Parameter(torch.ones(()))), torch.nn.Linear(2, 2)
    counted = torch.nn.BatchNorm1d(2, affine=False)
    for objective in (plain, whole, SimpleNamespace(head=whole), counted):
        with pytest.raises(Problem, match="holds weights, and stages train parts of the model alone; make them attributes"):
            check_parts(module, [objective], spec, stages)
    check_parts(module, [SimpleNamespace(perceptual=torch.nn.Linear(2, 2).requires_grad_(False)), (1, 2)], spec, stages)


@pytest.mark.parametrize("overrides", [
    ("model=modular", "loss=nll"), ("model=random", "loss=whitened"), ("model=modular", "loss=infonce"),
    ("model=fingers", "loss=prediction", "env=trifinger_pushing"),
    ("model=categorical", "loss=inverse_action", "env=chemistry_chain5"),
])  # fmt: skip
def test_what_fits_is_let_through(compose, overrides):
    check_parts(*parts_of(compose, *overrides))


@pytest.mark.parametrize("overrides, said", [
    (("model=gnn", "env.observation=state", "model.slots=6"), "model.slots=6 and the table of this observation has 5 rows"),
    (("model=gnn", "model.side=32"), "model.side=32 shrinks pictures, and this observation is a board"),
    (("model=gnn", "model.side=32", "env=trifinger_pushing"),
     "model.side=32 shrinks pictures, and this observation is a table"),
    (("model=gnn", "model.side=32", "model.size=tiles", "env=voe_barrier"),
     "this observation is a picture that model.size=tiles reads whole"),
    (("model=slot_attention", "model.side=32"), "model.side=32 shrinks pictures, and this encoder reads them whole"),
    (("model=slot_attention", "model.size=whole"),
     "size 'whole' reads pictures of no board; on a board set model.size= to one of patch"),
    (("model=edge", "env=chemistry_chain5", "env.graph=[[0]]"),
     "messages pass between 2 objects or more, got num_objects=1; set model=modular"),
])  # fmt: skip
def test_models_are_built_for_what_they_see(compose, overrides, said):
    """Seen: tracebacks in the first batch, the one word 'whole', and a side that nothing read."""
    with pytest.raises(Exception, match=said):
        instantiate(compose("fit", *overrides).model.module)


@pytest.mark.parametrize("algo, said", [
    ({"name": "ppo", "relabelled": 4}, "algo=ppo has no replay buffer to relabel goals in; leave algo.relabelled= out"),
    ({"name": "ppo", "noise": 0.1}, "algo=ppo has no noise beside its own distribution; leave algo.noise= out"),
    ({"name": "sac", "decay": False}, "nothing of algo=sac falls over the training; leave algo.decay= out"),
])  # fmt: skip
def test_keys_of_another_algorithm_are_refused(algo, said):
    """Tracebacks, or runs under another hash in which nothing else differed."""
    pytest.importorskip("stable_baselines3")
    with pytest.raises(Problem, match=said):
        check_learner(OmegaConf.create({"algo": algo | {"learner": {"_target_": f"stable_baselines3.{algo['name'].upper()}"}}}))


def test_precision_that_lightning_would_change_is_refused(compose):
    """On a processor it takes bfloat16 instead, and the config said otherwise."""
    with pytest.raises(Problem, match="trainer.precision=16-mixed needs a GPU; set trainer.precision=32-true"):
        check_plan(compose("fit", "trainer.precision=16-mixed"))


@pytest.mark.parametrize("asked", ["env.splits.valid.seed=1", "env.splits.test.seed=1"])
def test_splits_with_the_episodes_of_training_are_refused(asked, compose):
    """198 of 200 episodes by which the best epoch is chosen were those of training."""
    check_plan(compose("fit"))
    with pytest.raises(Problem, match="has the seed of split 'train', 1, and so its episodes; set env.splits"):
        check_plan(compose("fit", asked))


def test_more_slots_than_objects_name_the_same_commands():
    """Seen: six slots for five objects passed every check and ended in a ValueError of the first batch."""
    obs, index = torch.zeros(2, 3, 3, 50, 50), torch.tensor([[3, 11], [0, 24]])
    batch = Batch(obs, F.one_hot(index, 25).float(), torch.arange(6).view(2, 3))
    looked = []

    class Seen:
        def __init__(self, slots):
            self.encoder, self.slots = self, slots

        def look(self, frames):
            torch.manual_seed(0)
            appearance = torch.randn(len(frames), 6, 5)[:, : self.slots]
            looked.append(appearance)
            return appearance, torch.ones(len(frames), self.slots, 25) / 25

    five, six = (InverseAction()(Seen(slots), batch)["command"] for slots in (5, 6))
    assert torch.equal(five, six)
    target, choice = index // 5, index % 5
    told = looked[0].view(2, 3, 5, 5)[:, 1:].gather(2, target[..., None, None].expand(-1, -1, 1, 5))[:, :, 0]
    assert torch.allclose(five, F.cross_entropy(told.flatten(0, 1), choice.flatten()))


def test_every_seed_and_epoch_has_an_order_of_its_own():
    """Seen: the eleventh round of a seed drew what the first of the next one did."""
    epochs = [100_000 * round + number for round in (0, 1, 9, 10, 11, 99) for number in range(50)]
    assert len({_epoch_seed(seed, epoch) for seed in range(100) for epoch in epochs}) == 100 * len(epochs)
    assert _epoch_seed(3, 900_007) == 3 * 1_000_003 + 900_007, "ten rounds are drawn as before"
    assert 0 <= _epoch_seed(2**32 - 1, 99_999_999) < 2**63


def test_the_first_remedy_of_a_recurrent_state_is_the_last(compose):
    """It asked for model=vae, which the next sentence refused."""
    with pytest.raises(Problem, match="set model=rssm"):
        check_parts(*parts_of(compose, "env=physics3", "model=modular", "loss=recurrent_state"))
