"""Surprise over the frames of a clip, and what runs are told about violated causes."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from envs.problem import Problem
from envs.protocols import Violations
from eval.figures.surprise_curves import surprise_curves
from eval.probes.violation import Asked, Clips, Measured, Scale, _scored, largest, matched, moment_error, pair_metrics, scaled
from eval.surprise import panels_of, surprise_run


def test_only_predicted_frames_count():
    """A horizon that does not reach a frame yet says nothing of it;
    it counted as an ordinary 0, which cut off all that was less."""
    asked = Asked(context=2, horizons=(1, 3))
    curve = np.full((1, 2, 6), -1.0)
    curve[:, 0, :2] = curve[:, 1, :4] = 0.0  # not predicted
    curve[0, 1, 5] = 2.0
    assert largest(curve, asked)[0].tolist() == [0, 0, -1, -1, -1, 2]
    assert largest(np.full((1, 2, 6), -1.0), asked)[0].tolist() == [0, 0, -1, -1, -1, -1]
    plain, calm = Scale(np.zeros((2, 6)), np.ones((2, 6))), Scale(np.zeros(3), np.ones(3))
    for of_clip in ("peak", "mean"):  # two clips that surprise less than the usual one differ all the same
        curve = np.stack([np.full((2, 6), -1.0), np.full((2, 6), -2.0)])
        found = scaled(clips([0, 1], [0, 0], curve), plain, calm, Asked(2, (1, 3), of_clip=of_clip))
        assert found.score.tolist() == [-1, -2]


def test_what_is_not_predicted_is_not_drawn():
    """It was a line at 0, which says "as usual", also through the frame of the violation."""
    shown = clips([7], [0.0], np.array([[0.0, 0.0, 0.0, 1.0, 2.0]]), violation=[2])
    found = Measured({}, {"surprising": shown, "expected": shown}, 0.0, Asked(context=2, horizons=(2, 3)), {})
    panels, moments = panels_of(found, ("A1",), 1)
    assert moments == {"A1, trial 7": 2}
    for curve in panels["A1, trial 7"].values():
        assert np.isnan(curve[:3]).all() and curve[3:].tolist() == [1, 2]
    assert shown.curve[0].tolist() == [0, 0, 0, 1, 2]


def test_clips_are_asked_as_far_as_they_reach():
    assert (Asked.of(50).context, Asked.of(50).horizons) == (10, (15, 25)) and Asked.of(30).horizons == (15,)
    assert Asked.of(20).horizons == (10,) and Asked.of(50, 40).horizons == (10,)
    assert Asked.of(50, 50).horizons == (1,)  # which is refused with what it leaves


def clips(trial, score, curve=None, violation=None, subtype=None):
    count = len(trial)
    return Clips(np.array(trial), np.zeros(count, int) if subtype is None else np.array(subtype),
                 np.full(count, -1) if violation is None else np.array(violation), np.zeros((count, 9)),
                 np.array(score, float), None if curve is None else np.array(curve, float), np.zeros((count, 3)))  # fmt: skip


def test_a_curve_is_counted_in_its_spread_at_every_frame():
    """Where validation clips differ much, much is needed to surprise; a frame at which none does is no division by zero."""
    scale = Scale.of(np.array([[0, 1, 10.0], [0, 3, 30.0]]))
    both = Scale.of(np.array([[[0, 1, 10.0], [0, 1e6, 0]], [[0, 3, 30.0], [0, -1e6, 0]]]))
    assert np.array_equal(both.spread[0], scale.spread)  # every horizon has its own
    found = scale(np.array([[0, 3, 30.0]]))[0]
    smooth = 0.1 * 11 / 3  # a tenth of the mean spread
    assert found.tolist() == pytest.approx([0, 1 / (1 + smooth**2) ** 0.5, 10 / (100 + smooth**2) ** 0.5])
    assert np.isfinite(Scale.of(np.zeros((4, 3)))(np.zeros((2, 3)))).all()


def test_what_surprises_more_than_95_of_100_usual_clips_is_called_surprising():
    peaks = np.arange(101.0)
    usual = clips(range(101), [0] * 101, np.stack([0 * peaks, 0 * peaks, peaks], 1)[:, None])
    found = _scored({"valid": usual}, {"expected": "valid", "surprising": "valid"}, Asked(1, (1,), of_clip="peak"), ("A1",))
    assert (found.versions["expected"].score > found.threshold).sum() == 5
    calm = clips(range(101), [0] * 101, np.stack([0 * peaks, 0 * peaks, peaks / 4 + 37], 1)[:, None])
    found = _scored({"valid": usual, "t": calm}, {"expected": "t", "surprising": "t"}, Asked(1, (1,), of_clip="peak"), ("A1",))
    assert (found.versions["expected"].score < found.threshold).all(), (
        "usual is what the clips for validation are, not those that are scored"
    )


def test_pairs_are_matched_by_trial_in_total_and_for_each_subtype():
    versions = {"expected": clips([3, 1, 2], [0, 0, 1]), "surprising": clips([1, 2, 3, 9], [1, 1, 0, 0], subtype=[0, 0, 1, 1])}
    found = pair_metrics(versions, 0.5, ("A1", "A2"))
    assert (
        found["voe/hit_rate"] == pytest.approx(2 / 3) and found["voe/hit_rate/A1"] == 0.75 and found["voe/hit_rate/A2"] == 0.5
    )
    assert found["floor/random/voe/hit_rate"] == 0.5  # it was one draw, .520 of 50 pairs in all categories
    assert found["voe/accuracy"] == pytest.approx(4 / 6) and not [key for key in found if "control" in key or "lawful" in key]
    with pytest.raises(Problem, match="no trial is there in both versions"):
        matched(clips([1], [0]), clips([2], [0]))


def test_a_detector_of_change_is_told_from_one_of_causes():
    """The control changes as much: who is surprised by change alone has one half against it, and is surprised by it."""
    expected, surprising, control = (clips([0, 1], score) for score in ([0, 0], [5, 5], [5, 5]))
    found = pair_metrics({"expected": expected, "surprising": surprising, "control": control}, 1.0, ("A1",))
    assert (found["voe/hit_rate"], found["voe/control/hit_rate"], found["voe/lawful/hit_rate"]) == (1, 0.5, 1)


def test_the_moment_error_counts_frames_of_clips_that_violate():
    some = clips([0, 1, 2], [0] * 3, [[0, 9, 0, 0], [0, 0, 0, 9], [9, 0, 0, 0]], violation=[1, 1, -1])
    assert moment_error(some, 0).tolist() == [0, 2]
    assert moment_error(clips([0], [0], [[0, 0, -2, -1]], violation=[2]), 2).tolist() == [1]  # the first two nobody predicted


def test_a_moment_that_is_not_seen_is_not_drawn():
    drawn = [surprise_curves({"B1": {"expected": np.zeros(4)}}, {"B1": moment}).count("violation") for moment in (2, -1)]
    assert drawn[0] > drawn[1] == 0


# -- the toy world ----------------------------------------------------------------------------------------------------

OFPR = ["model=ofpr", "loss=labels", "model.channels=8", "model.frames=[0,8,16]", "loss.clips=4",
        "loss.epochs.smoke=4", "loss.branch_epochs.smoke=1"]  # fmt: skip

TRACKS = ["model=tracks", "loss=prediction", "env.observation=objects", "loss.epochs.smoke=15", "loss.batch_size=256"]
SMALL_LSTM = ["model=lstm", "env.observation=objects", "loss=nll", "loss.window=31", "loss.epochs.smoke=2",
        "loss.learning_rate=1e-2", "model.width=8", "model.module.encoder.hidden=64", "model.module.decoder.hidden=64",
        "model.module.transition.core.inputs=64", "model.module.transition.core.units=64"]  # fmt: skip


def test_ofpr_net_learns_of_the_toy_world(fitted_clips, command_here):
    """Four epochs teach more than chance, .45; that twelve teach the rule is asked among the slow tests."""
    folder, results = fitted_clips(*OFPR)
    m = results["metrics"]
    assert m["ceiling/features/voe/hit_rate"] == 1 and m["voe/lawful/hit_rate"] == 0.5
    assert all(m[f"voe/{score}"] > 0.7 for score in ("hit_rate", "control/hit_rate", "accuracy"))  # .875
    assert results["heads"]["object_height"] < 0.15 and not [key for key in m if key.startswith("test/")]
    assert "hit rate, surprising over expected" in (folder / "report.html").read_text()
    before = json.loads((folder / "results.json").read_text())
    done = command_here("eval/surprise.py", f"run={folder}", cwd=folder.parents[1])
    assert done.returncode == 0 and "hit rate, surprising over control" in done.stdout
    after = json.loads((folder / "results.json").read_text())
    assert after["metrics"] == before["metrics"] and not (folder / "surprise.svg").exists()  # clips are judged as a whole
    _refuses_other_lengths(folder, command_here)


def _refuses_other_lengths(folder, command_here):
    """Clips of another number of frames than those the run learned from."""
    config = folder / "config.yaml"
    config.write_text(config.read_text().replace("length: 31", "length: 25"))
    done = command_here("eval/surprise.py", f"run={folder}", cwd=folder.parents[1])
    assert done.returncode == 1 and "have 26 frames, and the run learned on clips of 32" in done.stderr


def test_surprise_of_a_world_model_is_scored_and_drawn(fitted_clips):
    folder, results = fitted_clips(*SMALL_LSTM)
    m = results["metrics"]
    assert {"voe/hit_rate", "voe/hit_rate/E3", "voe/control/auc", "voe/lawful/hit_rate", "voe/moment_error"} <= m.keys()
    assert m["floor/random/voe/hit_rate"] == 0.5 and m["floor/change/voe/lawful/hit_rate"] > 0.6
    again = surprise_run(folder, horizons=[1, 2], context=9, decoded=True)
    about = again["violation"]
    assert about["horizons"] == (1, 2) and about["decoded"] and about["context"] == 9
    assert again["metrics"]["floor/voe/moment_error"] <= again["metrics"]["voe/moment_error"]
    with pytest.raises(Problem, match=r"every horizon is asked once, got horizons=\[2, 2\]"):
        surprise_run(folder, horizons=[2, 2])
    low, high = about["intervals"]["voe/hit_rate"]
    assert 0 <= low <= again["metrics"]["voe/hit_rate"] <= high <= 1 and "voe/control/hit_rate/E3" in about["intervals"]
    assert "test/hits@1/h1" not in again["metrics"], "asked otherwise, it is no score of results.json"
    assert json.loads((folder / "results.json").read_text())["metrics"] == results["metrics"]
    name = "surprise-context-9-horizons-1-2-decoded-true"
    assert json.loads((folder / f"{name}.json").read_text())["metrics"] == again["metrics"]
    assert {"voe/hit_rate", "test/hits@1/h1"} <= surprise_run(folder, curves=0)["metrics"].keys(), "as training ends"
    with pytest.raises(Problem, match=r"split= names one split, got \['valid', 'test'\]"):
        surprise_run(folder, split=["valid", "test"])
    drawing = (folder / f"{name}.svg").read_text()
    assert drawing.count("violation") >= 1 and "E3, trial" in drawing
    own = surprise_run(folder, split="valid", curves=0)
    assert set(own["metrics"]) == {key for key in own["metrics"] if "voe/" in key} and (folder / "surprise-valid.json").exists()
    with pytest.raises(Problem, match="split 'test-control' of env 'square_clips' has no surprising version"):
        surprise_run(folder, split="test-control")


def test_tracks_say_how_they_are_predicted_and_fingers_are_predicted_as_before(compose):
    tracks = compose("fit", "model=tracks", "loss=prediction", "env=voe_support", "env.observation=objects").loss.stages[0]
    assert tracks.gradient_clip == 1 and tracks.objective.open_loop and tracks.window > 1
    fingers = compose("fit", "model=fingers", "loss=prediction", "env=trifinger_pushing").loss.stages[0]
    assert (fingers.gradient_clip, fingers.objective.open_loop, fingers.window, fingers.batch_size) == (None, False, 1, 256)


@pytest.mark.parametrize("category, rate, clips", [("support", 7e-3, 16), ("occlusion", 3e-2, 8), ("barrier", 1e-3, 4)])
def test_published_settings_go_with_the_category(compose, category, rate, clips):
    """Of our own clips and of the published folders, whose env has one name for all categories."""
    for env in ([f"env=voe_{category}"], ["env=voe_published", f"env.world.category={category}"]):
        loss = compose("fit", "experiment=ofpr_published", *env).loss
        assert (loss.learning_rate, loss.clips) == (rate, clips)
    assert compose("fit", "model=ofpr", "loss=labels", "env=physics3").loss.clips == 16  # a world without categories


def test_tracks_are_predicted_in_units_of_the_training_split(fitted_clips):
    """Nothing is encoded: latents are the normalised rows, and what is best on validation pairs is asked of the test."""
    folder, results = fitted_clips(*TRACKS)
    assert (
        results["parameters"]["encoder"] == 0
        and results["metrics"]["voe/hit_rate"] > 0.6
        and results["violation"]["horizons"] == [15]
    )
    again = surprise_run(folder, horizons=[1, 4], of_clip=["peak", "mean"], curves=0)
    assert again["violation"]["of_clip"] in ("peak", "mean") and not list(folder.glob("surprise*.svg"))
    assert (folder / "surprise-horizons-1-4-of-peak-mean.json").exists()
    assert again["metrics"]["voe/hit_rate"] > 0.7


def test_what_surprise_cannot_be_asked_is_told(square_clips, command_here, tmp_path):
    done = command_here("eval/surprise.py", cwd=tmp_path)
    assert done.returncode == 1 and "no run given" in done.stderr
    done = command_here("train/fit.py", "env=physics3", "model=ofpr", "loss=labels", "trainer=smoke", "logger=csv",
                        "env.splits.train.episodes=4", "env.splits.valid.episodes=4", "env.splits.test.episodes=4",
                        cwd=tmp_path)  # fmt: skip
    assert done.returncode == 1 and "env 'physics3' records no label_features, label_posterior, label_prior" in done.stderr
    assert not [*tmp_path.iterdir()], "all splits were collected, and a good file was to be removed"
    done = command_here("train/fit.py", "env=square_clips", "model=tracks", "loss=prediction", cwd=tmp_path)
    assert done.returncode == 1 and "show a table by env.observation=" in done.stderr
    done = command_here(
        "train/fit.py", "env=square_clips", "model=ofpr", "loss=labels", "env.observation=objects", cwd=tmp_path
    )
    assert done.returncode == 1 and "a video encoder reads pictures (H, W, C)" in done.stderr
    done = command_here("train/fit.py", "env=square_clips", "model=ofpr", "loss=labels", "model.frames=[0,32]", cwd=tmp_path)
    assert done.returncode == 1 and "model.frames=[0, 32] asks for 33 frames, and a clip has 32" in done.stderr
    done = command_here("train/fit.py", "env=square_clips", "model=modular", "loss=labels", cwd=tmp_path)
    assert done.returncode == 1
    assert "Labels trains on latents that are clips" in done.stderr and "set model=ofpr" in done.stderr


def test_only_worlds_of_violated_causes_are_asked():
    from envs.physics import PhysicsWorld

    assert not isinstance(PhysicsWorld(3), Violations)
    run = SimpleNamespace(world=PhysicsWorld(3))
    from eval.probes.violation import violation

    why = violation.why_not(run)
    assert why.startswith("asks a world for Violations, which PhysicsWorld does not answer (it has no ") and "versions" in why
