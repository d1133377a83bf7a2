"""Every model, loss, env, trainer and experiment composes; every model is built and speaks the four verbs."""

import hydra
import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf
from parts import OF_CLIPS, entries, models, pair, plain
from torch.nn import functional as F

from models.abilities import Prepared
from models.interfaces import Batch

MODELS, (LOSSES, ENVS, TRAINERS) = models(), (entries(g) for g in ("loss", "env", "trainer"))

HOME = {"categorical": "chemistry_chain5_dynamic"}  # the world of models that are not at home in physics


def batch_of(size, actions, steps=2):
    torch.manual_seed(1)
    obs = torch.randint(0, 256, (size, steps + 1, 3, 50, 50), dtype=torch.uint8)
    action = F.one_hot(torch.randint(0, actions, (size, steps)), actions).float()
    return Batch(obs, action, torch.arange(size * (steps + 1)).view(size, steps + 1))


@pytest.mark.parametrize("env", ["physics3", "chemistry_full5_delayed", "chemistry_chain10"])
@pytest.mark.parametrize("model", MODELS)
def test_four_verbs(compose, model, env):
    """encode, transition, decode, rollout agree on (B, K, D); a decoded frame is a frame in [0, 1]."""
    if model in HOME and not env.startswith("chemistry"):
        pytest.skip("categorical latents are of commanded colours")
    cfg = compose("fit", f"model={model}", f"env={env}", "loss=nll")
    torch.manual_seed(0)
    world, built = instantiate(cfg.env.world), instantiate(cfg.model.module).eval()
    assert (world.spec.objects, world.spec.action.size) == (cfg.spec.objects, cfg.spec.action.size)
    batch = batch_of(3, cfg.spec.action.size)
    with torch.no_grad():
        latent = built.encode(batch.obs[:, 0])
        slots, width = latent.shape[1:]
        assert slots in (1, cfg.spec.objects) and latent.shape[0] == 3 and latent.dtype == torch.float32
        if "width" in cfg.model:
            assert slots * width == cfg.spec.objects * cfg.model.width
        one = built.transition(latent, batch.action[:, 0])
        far = built.rollout(latent, batch.action)
        frame = built.decode(latent) if built.decoder is not None else torch.zeros(3, 3, 50, 50)
    assert one.shape == latent.shape and far.shape == (3, 2, slots, width)
    assert torch.allclose(far[:, 0], one, atol=1e-6)
    assert frame.shape == (3, 3, 50, 50) and 0 <= frame.min() and frame.max() <= 1
    assert not torch.allclose(one, latent)


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if pair("lstm", loss) and "open_loop" in plain("loss", loss)])
def test_open_loop_reaches_every_objective_that_predicts(compose, loss):
    """loss.open_loop=true: in every stage that trains the transition the later actions' predictions start from predictions."""
    for flag in ("true", "false"):
        cfg = compose("fit", "model=lstm", f"loss={loss}", "env=physics3", f"loss.open_loop={flag}")
        torch.manual_seed(0)
        built, batch = instantiate(cfg.model.module), batch_of(4, 15)
        for stage in (s for s in cfg.loss.stages if "transition" in s.trains):
            seen = []
            built.predict_windows = lambda z, a: seen.append("true frames") or type(built).predict_windows(built, z, a)
            built.rollout = lambda z, a: seen.append("predictions") or type(built).rollout(built, z, a)
            objective = instantiate(stage.objective)
            if isinstance(objective, Prepared):
                objective.prepare(built, None)
            terms = objective(built, batch)
            assert seen == ["predictions" if flag == "true" else "true frames"]
            assert all(term.isfinite() for term in terms.values())


@pytest.mark.parametrize("loss", LOSSES)
def test_every_budget_composes(compose, root, loss):
    """Epochs follow the trainer's budget, for the first model that the loss goes with."""
    from eval.runs import freeze

    model = next(m for m in ["modular", *MODELS, *OF_CLIPS] if pair(m, loss))
    env = HOME.get(model, "physics5")
    cfg = compose("fit", f"env={env}", f"loss={loss}", f"model={model}")
    freeze(cfg.copy())  # no interpolation is left open
    for trainer in TRAINERS:
        cfg.trainer = OmegaConf.load(root / "configs" / "trainer" / f"{trainer}.yaml")
        budgets = [
            cfg.loss[name][cfg.trainer.budget] for name in cfg.loss if name.endswith("epochs") and name != "branch_epochs"
        ]
        assert {stage.epochs for stage in cfg.loss.stages} == set(budgets)
        assert cfg.name == f"{model}-{loss}-{env}-{trainer}-s0"


def test_values_set_on_a_copy_are_those_that_hydra_composes(compose, root):
    """The fixture's shortcut: what groups give is composed once, values, added and deleted keys come after."""
    asked = [
        "model=edge", "seed=3", "env=physics3", "loss.stages.0.window=2", "+loss.stages.0.gradient_clip=1.0", "~score.split"
    ]
    with hydra.initialize_config_dir(str(root / "configs"), version_base="1.3"):
        whole = hydra.compose("fit", asked)
    assert compose("fit", *asked) == whole != compose("fit", *asked[:1]) and "split" not in whole.score


@pytest.mark.parametrize("trainer", TRAINERS)
def test_every_trainer_composes(compose, trainer):
    """Its file's name is its own."""
    from eval.runs import freeze

    assert freeze(compose("fit", f"trainer={trainer}")).trainer.name == trainer


def test_configs_of_tests_are_those_of_the_command_line(compose, root):
    """The fixture sets entries of groups and values on a copy; Hydra composes the whole:
    keys, their order and values are the same."""
    for overrides in (["model=gnn", "env=trifinger_pushing", "loss=nll"],
                      ["env=chemistry", "env.graph=chain3", "model=categorical"],
                      ["trainer=ddp", "experiment=nine_blocks", "seed=3"]):  # fmt: skip
        with hydra.initialize_config_dir(str(root / "configs"), version_base="1.3"):
            whole = hydra.compose("fit", overrides)
        ours = compose("fit", *overrides)
        assert ours == whole and OmegaConf.to_yaml(ours, resolve=True) == OmegaConf.to_yaml(whole, resolve=True)


@pytest.mark.parametrize("env", ENVS)
def test_every_env_composes(compose, env):
    """No interpolation is left open, and the file's name is the env's."""
    from eval.runs import freeze

    assert freeze(compose("fit", f"env={env}", "model=causal")).env.name == ("chemistry_chain5" if env == "chemistry" else env)


@pytest.mark.parametrize("experiment", entries("experiment"))
def test_every_experiment_composes(compose, root, experiment):
    """Its overrides name keys that exist in its command, and its values and pairs are possible."""
    from configs.limits import check_values
    from train.agents.learner import check_learner
    from train.checks import check_plan

    if "# train/manipulation.py" in (root / "configs" / "experiment" / f"{experiment}.yaml").read_text():
        check_learner(compose("manipulation", f"experiment={experiment}"))
        return
    cfg = compose("fit", f"experiment={experiment}", "trainer=quick")
    check_values(cfg)
    check_plan(cfg)


@pytest.mark.parametrize("env", [env for env in ENVS if "physics" in env or "chain" in env])
def test_every_split_can_be_drawn(compose, env):
    """Modes of the splits are modes of the world, and no two splits share a seed."""
    import numpy as np

    cfg = compose("fit", f"env={env}")
    world = instantiate(cfg.env.world)
    for split in cfg.env.splits.values():
        assert len(world.reset(2, np.random.default_rng(split.seed), split.mode)) == 2
    seeds = [split.seed for split in cfg.env.splits.values()]
    assert len(set(seeds)) == len(seeds)
