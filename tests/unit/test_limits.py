"""Values that cannot be are refused by name, before anything runs; every default passes."""

import pytest

from configs.limits import check_values
from configs.ranges import LIMITS
from envs.problem import Problem

COMMANDS = (
    "fit", "score", "noisy", "adaptation", "collect", "report", "dashboard", "agent", "plan", "protocols",
    "manipulation", "tables", "surprise", "ledger", "learning", "clone", "publish",
)  # fmt: skip
REFUSED = {
    "loss.stages.0.window=0": "window must be a whole number >= 1, got 0",
    "loss.stages.0.batch_size=-5": "batch_size must be a whole number >= 1, got -5",
    "loss.stages.0.learning_rate=fast": "learning_rate must be a number > 0, got 'fast'",
    "loss.stages.0.hard_share=1.5": "hard_share must be a number from 0 to 1, got 1.5",
    "loss.stages.0.trains=[encodr]": "trains must be parts of the model: encoder, transition, decoder",
    "+loss.stages.0.gradient_clip=0": "gradient_clip must be a number > 0, or null, got 0",
    "model.side=0": "model.side must be a whole number >= 1, or null, got 0",
    "model.size=tile": "model.size must be one of patch, small, medium, large, whole, tiles, got 'tile'",
    "model.size=null": "large, whole, tiles, got null; set model.size=",
    "loss.stages.0.schedule=linear": "must be constant or cosine, got 'linear'",
    "loss.epochs.quick=0": "epochs must be a whole number >= 1, got 0",
    "score.horizons=[]": "score.horizons must be a list of whole numbers >= 1",
    "score.horizons=5": "score.horizons must be a list of whole numbers >= 1",
    "score.episodes=1": "score.episodes must be a whole number >= 2, got 1",
    "score.counterfactuals=-1": "score.counterfactuals must be a whole number >= 0, got -1",
    "score.split=tset": "has no split 'tset': did you mean 'test'?",
    "loss.open_loop=maybe": "loss.open_loop must be true or false, got 'maybe'",
    "trainer.precision=foo": "trainer.precision must be one of 32-true",
    "trainer.budget=foo": "trainer.budget must be smoke, quick, minutes or paper, got 'foo'; set trainer.budget=",
    "env.splits.train.episodes=abc": "episodes must be a whole number >= 1, got 'abc'",
    "env.splits.test.mode=5": "env.splits.test.mode must be a name, got 5",
    "env.world.num_objects=five": "env.world.num_objects must be a whole number >= 1, got 'five'",
    "env.world.num_objects=2.5": "num_objects must be a whole number >= 1, got 2.5",
    "env.world.palette_seed=-1": "palette_seed must be a whole number >= 0, got -1",
    "env.splits.train.seed=7000": "seed must be a whole number from 0 to 6999, got 7000",
    "env.world.hidden_weights=no": "env.world.hidden_weights must be true or false, got 'no'",
    "model=slot_attention model.module.encoder.trunk.iterations=0": "iterations must be a whole number >= 1, got 0",
    "name=a/b": "name must be one name without slashes, got 'a/b'",
    "seed=-1": "seed must be a whole number from 0 to 4294967295, got -1",
    "seed=true": "seed must be a whole number",
    "seed=null": "seed must be a whole number from 0 to 4294967295, got null; set seed=",
    "ledger=5": "ledger must be a folder, got 5",
    "row=5": "row must be a name, got 5",
    "name=null": "name must be one name without slashes, got null",
    "data_dir=null": "data_dir must be a folder, got null",
    "runs_dir=null": "runs_dir must be a folder, got null",
    "score.episodes=null": "score.episodes must be a whole number >= 2, got null",
    "loss.stages=[]": "loss.stages must be a list of one stage or more, got []",
    "~loss.stages.0.window": "stage 0 of loss 'infonce' lacks window; a stage says name, objective, trains",
    "+loss.stages.0.weight_deccay=1": "stage 0 of loss 'infonce' has no key 'weight_deccay': did you mean 'weight_decay'?",
    "loss=nll loss.stages.1.name=reconstruction": "two stages of loss 'nll' have the name 'reconstruction'",
    "loss=contrastive loss.stages.0.objective.sigma=0": "objective.sigma must be a number > 0, got 0",
    "loss=hinge loss.stages.0.objective.hinge=-1": "objective.hinge must be a number >= 0, got -1",
    "loss=vicreg loss.stages.0.objective.variance=-3": "objective.variance must be a number >= 0, got -3",
    "loss=recurrent_state loss.stages.0.objective.free=abc": "objective.free must be a number >= 0, got 'abc'",
    "loss=contrastive loss.reference=no_thanks": "loss.reference must be true or false, got 'no_thanks'",
    "loss=contrastive loss.stages.0.objective.reference=no_thanks": "reference must be true or false, got 'no_thanks'",
    "env=chemistry env.graph=5": "env.graph must be a preset as chain5",
    "env=chemistry env.graph=null": "env.graph must be a preset as chain5",
    "env=chemistry_chain5 env.world.graph=full5": "env.graph=chain5 differ, and this env is called 'chemistry_chain5' by the",
    "env=chemistry_chain5 env.world.delay=1": "env.world.delay=1 and env.delay=None differ",
    "model.slots=0": "model.slots must be a whole number >= 1, got 0",
    "model.slots=abc": "model.slots must be a whole number >= 1, got 'abc'",
    "loss=sigreg loss.stages.0.objective.directions=0": "objective.directions must be a whole number >= 1, got 0",
    "loss=infonce_open_loop loss.squared_weight=-1": "loss.squared_weight must be a number >= 0, got -1",
    "loss.stages.0.objective=InfoNCE": "the objective of stage 0 of loss 'infonce' names no class",
}


@pytest.mark.parametrize("override", REFUSED)
def test_refused_by_name(override, compose):
    """The key, what was expected, what came, and the key again as the remedy."""
    with pytest.raises(Problem) as problem:
        check_values(compose("fit", *override.split(" ")))
    assert REFUSED[override] in str(problem.value)


@pytest.mark.parametrize("given", ["5", "null", "[5]", "[null]", "['']", "' '", "[[a]]", "true"])
def test_folders_beside_are_names(given, compose):
    """What is no name went on to a path, and ended in a TypeError or compared the folder out= itself."""
    with pytest.raises(Problem, match=r"^beside must be the name of a folder in out=, or a list of them, .*; set beside=$"):
        check_values(compose("protocols", f"beside={given}"), "protocols")
    for fine in ("[]", "pushing-random", "[pushing-random,pushing-still]"):
        check_values(compose("protocols", f"beside={fine}"), "protocols")


@pytest.mark.parametrize(
    "command, key, said",
    [("tables", "rows", "a row"), ("tables", "envs", "an env"), ("score", "split", "a split"), ("plan", "mode", "a mode")],
)
def test_names_are_words(command, key, said, compose):
    """Seen: rows=5 ended in a TypeError, split=5 in an AttributeError."""
    for given in ("5", "[5]", "[[a]]", "[]"):  # asked nothing, a command ended as if it had done it
        with pytest.raises(Problem, match=rf"^{key} must be the name of {said}, or a list of them, got .*; set {key}=$"):
            check_values(compose(command, f"{key}={given}"), command)
    check_values(compose(command, f"{key}=[a,b]"), command)


@pytest.mark.parametrize(
    "given, said",
    [
        ("tune=flase", "tune must be true or false, got 'flase'"),
        ("envs=[]", "envs must be the name of an env"),
        ("table=[]", "table must be a table, or a list of them, got"),
        ("figure=[]", "figure must be a figure"),
    ],
)
def test_tables_are_asked_clearly(given, said, compose):
    """Any text began hours of tuning, and no world at all ended well."""
    with pytest.raises(Problem, match=said):
        check_values(compose("tables", given), "tables")


@pytest.mark.parametrize("command, given, said", [
    ("agent", "algo.learner.vf_coef=abc", "a number >= 0, got 'abc'"),
    ("agent", "algo.learner.max_grad_norm=-1", "a number > 0, got -1"),
    ("manipulation", "dense_weights=3", r"a list of numbers, for example \[750,250,0\], or null, got 3"),
    ("manipulation", "dense_weights=[a,b,c]", "a list of numbers"),
    ("manipulation", "fractional_weight=nan", "a number, or null, got nan"),
    ("dashboard", "project=2026", "a name, got 2026"),
    ("plan", "beam.closed=maybe", "true or false, got 'maybe'"),
])  # fmt: skip
def test_values_that_ended_in_tracebacks(command, given, said, compose):
    key = given.split("=")[0]
    with pytest.raises(Problem, match=rf"^{key} must be {said}.*; set {key}=$"):
        check_values(compose(command, f"+{given}" if key == "beam.closed" else given), command)


@pytest.mark.parametrize("command, key", [
    ("protocols", "protocols"), ("manipulation", "protocols"), ("clone", "protocols"), ("clone", "cloning.starts"),
    ("manipulation", "evaluate.protocols"),
])  # fmt: skip
@pytest.mark.parametrize("given", ["[[P0]]", "[null]", "P0", "[]", "5"])
def test_protocols_are_names(command, key, given, compose):
    """Seen: protocols=[[P0]] ended in a TypeError."""
    with pytest.raises(Problem, match=rf"^{key} must be a list of (names|protocols), for example \[P0,P5\].*; set {key}=$"):
        check_values(compose(command, f"{key}={given}"), command)


def test_a_key_of_a_class_has_no_range_of_a_planner(compose):
    """cost: l1 of a loss of one's own was to be final or sum."""
    check_values(compose("fit", "+loss.stages.0.objective.cost=l1", "+loss.stages.0.objective.temperature=null"))
    with pytest.raises(Problem, match="mppi.temperature must be a number > 0, got 0"):
        check_values(compose("plan", "mppi.temperature=0"), "plan")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_default_passes(command, compose):
    """Null is "not set" where it is the default; what a command does not have is not asked for."""
    check_values(compose(command), command)


def test_every_limit_names_a_key_that_exists(compose):
    """A pattern that matches nothing would guard nothing."""
    from fnmatch import fnmatchcase

    from omegaconf import OmegaConf

    from configs.limits import _values

    commands = (["fit"], ["fit", "model=causal", "trainer=ddp"], ["fit", "trainer=minutes", "loss=contrastive"],
                ["fit", "loss=sigreg", "trainer=updates"], ["fit", "loss=vicreg"],
                ["fit", "loss=recurrent_state", "model=rssm"],
                ["fit", "loss=inverse_action", "model=categorical", "env=chemistry_chain5"],
                ["fit", "loss=prediction", "model=fingers", "env=trifinger_pushing"],
                ["fit", "env=voe_published"], ["fit", "model=slot_attention"],
                ["fit", "loss=byol", "model=transformer"], ["fit", "loss=infonce_open_loop"],
                ["fit", "env=voe_support", "model=ofpr", "loss=labels"],
                ["fit", "env=voe_support", "env.observation=objects", "model=tracks", "loss=prediction"],
                ["score"], ["surprise"], ["noisy"], ["plan"], ["tables"], ["report"], ["dashboard"], ["agent"],
                ["protocols"], ["clone"], ["publish"], ["manipulation", "algo=td3"], ["manipulation", "algo=sac"])  # fmt: skip
    found = {path for c in commands for path, _ in _values(OmegaConf.to_container(compose(*c), resolve=True))}
    assert [p for p in LIMITS if not any(fnmatchcase(path, p) for path in found)] == []
