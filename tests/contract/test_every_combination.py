"""Every model with every loss on every kind of world: it is trained, or refused in one sentence whose remedy is trained."""

import copy
import re
import sys
import types
from functools import cache

import pytest
import torch
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf, open_dict
from parts import OF_CLIPS, entries, pair, plain

from envs.collect import collect
from envs.problem import Problem
from eval.runs.trusted import find_class
from models.abilities import Prepared
from models.encoders import FlatEncoder
from train.checks import check_parts
from train.datamodule import EpisodeData
from train.dry_run import check_shapes

PUSHING = ("env=trifinger_pushing", "env.world.workers=1", "env.world.skip_frame=4")
KINDS = {  # what is done and what is shown -> overrides that name the world; none: the clip
    "object actions, image": ("env=chemistry", "env.graph=chain3"),
    "object actions, table": ("env=chemistry", "env.graph=chain3", "env.observation=state"),
    "vector action, table": PUSHING,
    "vector action, image": (*PUSHING, "env.observation=pixels"),
    "no action, clip": (),
}  # fmt: skip
REFUSED = {  # models that no loss trains there, as they stand
    "object actions, image": {"fingers", "tracks"},
    "object actions, table": {"fingers", "random", "causal", "slot_attention"},
    "vector action, table": {"categorical", "random", "causal", "slot_attention"},
    "vector action, image": {"categorical", "fingers", "tracks"},
    "no action, clip": {"categorical", "fingers", "tracks"},
}
MODELS = [model for model in entries("model") if model not in OF_CLIPS]
LABELS = "labels"  # the loss of models of whole clips, whose worlds have labels: tests/unit/test_ofpr.py
LOSSES = [loss for loss in entries("loss") if loss != LABELS]
SPLITS = {"train": {"episodes": 3, "length": 4, "seed": 1}, "valid": {"episodes": 1, "length": 4, "seed": 2}}
WINDOW, TRANSITIONS = 2, 8
THIN = {"hidden": 32, "units": 48}  # layers at most so wide; 48: the blocks of rim and scoff divide it
REMEDY = re.compile(r"\b(?:model|loss)(?:\.\w+)?=\w+")


def thin(part) -> None:
    """Narrower layers of a model, in place: whether it is trained is asked, and not how well."""
    for key, value in part.items():
        if isinstance(value, DictConfig):
            thin(value)
        elif key in THIN and isinstance(value, int):
            part[key] = min(value, THIN[key])


@pytest.fixture(scope="module")
def clip(root):
    """The clip of docs/extend.md as class of a module `envs.clip`, and its `env` as a config holds it."""
    text = re.search(r"# envs/mine.py\n(.*?)```", (root / "docs/extend.md").read_text(), re.S).group(1)
    module = types.ModuleType("envs.clip")
    exec(text, vars(module))  # noqa: S102  our own page
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "envs.clip", module)
        yield {"name": "clip", "observation": "pixels", "world": {"_target_": "envs.clip.Discs"}, "drop_invalid": False}


@pytest.fixture(scope="module")
def attempt(compose, clip, tmp_path_factory):
    """attempt(kind, model, loss, keys) -> None where every stage was trained for one step, or the sentence of the refusal.

    keys: further overrides below `model`. A world is recorded once, and a model is built once for it.
    """
    folder = tmp_path_factory.mktemp("data")

    @cache
    def recorded(kind):
        env = OmegaConf.to_container(compose("fit", *KINDS[kind]).env, resolve=True) if KINDS[kind] else dict(clip)
        env["splits"] = {name: {**split, "mode": "train"} for name, split in SPLITS.items()}
        world = instantiate(env["world"])
        files = [collect(env, world, split, folder / kind, quiet=True) for split in SPLITS]
        data = EpisodeData(*files, world.spec, 0, world.observation)
        data.cut(WINDOW, TRANSITIONS)
        return env, data, world

    @cache
    def composed(override):
        return compose("fit", override)

    @cache
    def stages_of(loss):
        return OmegaConf.to_container(composed(f"loss={loss}").loss.stages, resolve=True)

    @cache
    def objectives_of(loss):
        return [instantiate(stage["objective"]) for stage in stages_of(loss)]

    @cache
    def built(kind, model, keys):
        """(model, spec), or the sentence with which it refuses the world."""
        cfg, (env, data, _) = composed(f"model={model}").copy(), recorded(kind)
        with open_dict(cfg):
            cfg.env = env
        thin(cfg.model.module)
        cfg.merge_with_dotlist(list(keys))
        torch.manual_seed(0)
        try:
            net = instantiate(cfg.model.module)
        except InstantiationException as error:  # configs/command.py tells its cause
            assert isinstance(error.__cause__, ValueError)
            return str(error.__cause__)
        net.fit_normalisation(data.train)
        return net, cfg.spec

    @cache
    def tried(kind, model, loss, keys=()):
        made = built(kind, model, keys)
        if isinstance(made, str):
            return made
        objectives = copy.deepcopy(objectives_of(loss))
        try:
            check_parts(made[0], objectives, made[1])
        except Problem as problem:
            return str(problem)
        check_shapes(made[0], objectives, recorded(kind)[2].shown, recorded(kind)[2].spec)  # refuses none that may train
        for stage, objective in zip(stages_of(loss), objectives):
            train_one_step(made[0], objective, stage, recorded(kind)[1])
        return None

    return tried


def train_one_step(net, objective, stage, data):
    """Begin the stage as train/stages.py does: its loss is finite and reaches every part that it trains; rollouts work."""
    data.cut(WINDOW, TRANSITIONS)
    net.configure_stage(objective, stage["trains"], stage["learning_rate"])
    if isinstance(objective, Prepared):
        objective.prepare(net, data.train)
    if getattr(objective, "encoder_is_fixed", False):
        data.keep_latents(net)
    net.on_train_epoch_start()
    net.zero_grad()
    batch = next(iter(data.train))
    loss = net.training_step(batch, 0)
    assert loss.shape == () and loss.isfinite()
    loss.backward()
    parts = {name: list(getattr(net, name).parameters()) for name in ("encoder", "transition", "decoder") if getattr(net, name)}
    reached = {name for name, of in parts.items() if any(p.grad is not None and p.grad.any() for p in of)}
    assert reached == {name for name in stage["trains"] if parts[name]}
    with torch.no_grad():
        latent = net.eval().encode(data.train.frames(data.train.starts[:2]))
        far = net.rollout(latent, batch.action[:2])
    assert far.shape == (2, WINDOW, *latent.shape[1:]) and far.isfinite().all()


def follow(attempt, kind, model, loss, sentence, keys=()):
    """Set what a refusal says, and what the next one says, until a combination is trained."""
    for _ in range(3):
        assert "\n" not in sentence and ". " not in sentence and sentence[-1] != "." and REMEDY.search(sentence), sentence
        for remedy in REMEDY.findall(sentence):
            group, value = remedy.split("=")
            loss = value if group == "loss" else loss
            model, keys = (value, ()) if group == "model" else (model, (*keys, remedy) if "." in group else keys)
        if (sentence := attempt(kind, model, loss, keys)) is None:
            return
    raise AssertionError(f"the remedies lead to no model that is trained: {sentence}")


@pytest.mark.filterwarnings("ignore:You are trying to `self.log")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_combination_is_trained_or_refused(attempt, kind, model):
    """None is left out; those whose latents fit the loss, and whose model fits the world, are trained."""
    if kind.startswith("vector"):
        pytest.importorskip("pybullet")
    for loss in LOSSES:
        sentence = attempt(kind, model, loss)
        assert (sentence is None) == (pair(model, loss) and model not in REFUSED[kind]), (loss, sentence)
        if sentence is not None:
            follow(attempt, kind, model, loss, sentence)


@pytest.mark.filterwarnings("ignore:You are trying to `self.log")
@pytest.mark.parametrize("model", [model for model in MODELS if model not in REFUSED["object actions, image"]])
def test_fewer_slots_than_owners_are_refused(attempt, model):
    """Some transitions once trained to the end, with objects that had no slot; flat models have one vector for all objects."""
    loss = next(loss for loss in LOSSES if pair(model, loss))
    sentence = attempt("object actions, image", model, loss, ("model.slots=2",))
    if issubclass(find_class(plain("model", model)["module"]["encoder"]["_target_"]), FlatEncoder):
        assert sentence is None
        return
    assert sentence == ("actions belong to 3 objects and the model has 2 slots; expected a slot for each object, "
                        "set model.slots=3 or more")  # fmt: skip
    follow(attempt, "object actions, image", model, loss, sentence, ("model.slots=2",))


@pytest.mark.parametrize("model", [*MODELS, *OF_CLIPS])
def test_labels_are_for_models_of_clips_alone(attempt, model):
    """Labels train no other model, and no other loss trains a model of clips; each is told what to set."""
    for loss in LOSSES if model in OF_CLIPS else [LABELS]:
        assert REMEDY.search(attempt("no action, clip", model, loss)), loss
