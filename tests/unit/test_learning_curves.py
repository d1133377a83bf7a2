"""Learning curves: the numbers of results.json and no others, beside the agents that protocols measured; else one sentence."""

import json

import pytest
from omegaconf import OmegaConf

from envs.problem import Problem
from eval import learning
from eval.figures.protocol_plots import learning_plot
from eval.manipulation.protocols import measured_in
from eval.runs.evaluations import read_learned

TOLD = [{"steps": 200, "P5": [60.0, 50.0, 70.0], "P0": [20.0]}, {"steps": 100, "P5": [30.0, 20.0, 40.0], "P0": [10.0]}]


def results(path, **changes):
    """A results.json of an agent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"run": path.stem, "env": "trifinger_reaching", "evaluations": TOLD, **changes}))
    return path


def drawn(tmp_path, **changes):
    """Run the command on a config."""
    defaults = {"run": str(tmp_path / "sac.json"), "beside": [], "out": str(tmp_path), "to": str(tmp_path / "new/curves.svg")}
    return learning.run(OmegaConf.create(defaults | changes))


def test_curves_are_the_numbers_that_were_measured(tmp_path):
    """By protocol, in the order of steps; bounds where they were kept."""
    learned = read_learned(results(tmp_path / "sac.json"))
    assert learned.curves["P0"] == [(100, 10.0, None, None), (200, 20.0, None, None)]
    assert learned.curves["P5"] == [(100, 30.0, 20.0, 40.0), (200, 60.0, 50.0, 70.0)]
    runs, levels = {"sac": learned.curves, "td3": {"P5": learned.curves["P5"]}}, {"expert": {"P5": 97.0}}
    figure = learning_plot(runs, levels, "reaching", "fractional success")
    assert figure.axes[0].get_ylabel() == "fractional success, %"
    left, right = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["reaching, P0", "reaching, P5"]
    assert [list(line.get_ydata()) for line in right.get_lines()] == [[30, 60], [30, 60], [97, 97]]
    assert len(right.collections) == 2
    assert list(left.get_lines()[0].get_xdata()) == [100, 200] and not left.collections
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["sac", "td3", "expert"]  # the expert is on P5 alone


def test_many_runs_and_agents_are_told_apart():
    """The seventh run looked like the first, the fourth agent's level like the first one's."""
    curve = [(100, 30.0, 20.0, 40.0), (200, 60.0, 50.0, 70.0)]
    runs, levels = {f"run {k}": {"P5": curve} for k in range(13)}, {f"agent {k}": {"P5": 90.0 + k} for k in range(6)}
    lines = learning_plot(runs, levels, "reaching", "success").axes[0].get_lines()
    assert len({(line.get_color(), line.get_linestyle()) for line in lines[:13]}) == 13
    assert len({str(line._dash_pattern) for line in lines[13:]}) == 6


def test_numbers_of_another_score_stand_in_no_picture(tmp_path):
    """Runs did not say how overlap was measured; folders of before had no masses that differ, and did not say so."""
    asked = {"skip_frame": 3, "max_steps": None, "dynamics": "default", "feasibility": "strict", "collision": "mesh"}
    arena = measured_in(asked | {"overlap": "legacy", "mass_spread": 0, "task": "pushing"})
    assert "mass_spread" not in measured_in(asked | {"overlap": "legacy", "mass_spread": 0, "task": "reaching"})
    beside = tmp_path / "pushing-expert"
    beside.mkdir()
    (beside / "scores.json").write_text(json.dumps({"P5": {"episodes": 40, "last": [0.97, 0.95, 0.98]}}))
    results(tmp_path / "sac.json", env="trifinger_pushing", protocol={"arena": arena})
    for overlap in ("legacy", "exact"):
        (beside / "settings.json").write_text(json.dumps(asked | {"task": "pushing", "overlap": overlap}))
        if overlap == "legacy":
            assert drawn(tmp_path, beside="pushing-expert").exists()
            continue
        with pytest.raises(Problem, match="was played with overlap=exact, sac learned with overlap=legacy"):
            drawn(tmp_path, beside="pushing-expert")


def test_the_command_draws_runs_and_agents_beside(tmp_path):
    """A folder and a file, level lines of another folder, in a folder that is made."""
    results(tmp_path / "sac.json")
    folder = results(tmp_path / "runs/her/results.json", run="her").parent
    beside = tmp_path / "reaching-expert"
    beside.mkdir()
    (beside / "settings.json").write_text(json.dumps({"task": "reaching"}))
    (beside / "scores.json").write_text(json.dumps({"P5": {"episodes": 40, "last": [0.97, 0.95, 0.98]}}))
    path = drawn(tmp_path, run=[str(tmp_path / "sac.json"), str(folder)], beside="reaching-expert")
    for words in ("her", "sac", "expert", "reaching, P5", "steps"):
        assert f">{words}<" in path.read_text()


def test_an_agent_called_like_a_run_has_a_line_of_its_own_in_the_legend(tmp_path):
    """Seen: eval/protocols.py calls the folder of a run <task>-<run>, and its level line stood in no legend."""
    results(tmp_path / "sac.json")
    beside = tmp_path / "reaching-sac"
    beside.mkdir()
    (beside / "settings.json").write_text(json.dumps({"task": "reaching"}))
    (beside / "scores.json").write_text(json.dumps({"P5": {"episodes": 40, "last": [0.97, 0.95, 0.98]}}))
    shown = drawn(tmp_path, beside="reaching-sac").read_text()
    assert shown.count(">sac<") == 1 and shown.count(">reaching-sac<") == 1
    (beside / "scores.json").write_text(json.dumps({"P4": {"episodes": 40, "last": [0.97, 0.95, 0.98]}}))
    with pytest.raises(Problem, match="reaching-sac of beside= has none of the protocols P0, P5 of the runs; leave it out"):
        drawn(tmp_path, beside="reaching-sac", to=str(tmp_path / "other.svg"))
    assert not (tmp_path / "other.svg").exists()


def test_agents_of_another_arena_are_no_level_of_a_run(tmp_path):
    """Seen: curves of skip_frame=3 under the level line of an expert that acts every tenth step."""
    results(tmp_path / "sac.json", protocol={"steps": 200, "arena": {"skip_frame": 3, "dynamics": "default"}})
    beside = tmp_path / "reaching-expert"
    beside.mkdir()
    (beside / "scores.json").write_text(json.dumps({"P5": {"episodes": 40, "last": [0.97, 0.95, 0.98]}}))
    (beside / "settings.json").write_text(json.dumps({"task": "reaching", "skip_frame": 3, "dynamics": "default"}))
    drawn(tmp_path, beside="reaching-expert")
    (beside / "settings.json").write_text(json.dumps({"task": "reaching", "skip_frame": 10, "dynamics": "default"}))
    with pytest.raises(
        Problem, match="reaching-expert of beside= was played with skip_frame=10, sac learned with skip_frame=3; leave it out"
    ):
        drawn(tmp_path, beside="reaching-expert")


@pytest.mark.parametrize("changes, options, said", [
    ({"evaluations": []}, {}, "sac.json holds no evaluations in between; train with evaluate.every=25_000"),
    ({"evaluations": {"P0": 3}}, {}, "sac.json holds no results of a model-free agent"),
    ({"evaluations": [{"steps": 1, "P0": ["a"]}]}, {}, "holds no results of a model-free agent"),
    ({"evaluations": [{"steps": 1, "P0": [1, 2]}]}, {}, "holds no results of a model-free agent"),
    ({"evaluations": [{"steps": 1, "P0": [float("nan")]}]}, {}, "holds no results of a model-free agent"),
    ({"evaluations": [{"P0": [1]}]}, {}, "holds no results of a model-free agent"),
    ({"protocol": {"arena": [3]}}, {}, "holds no results of a model-free agent"),
    ({"run": 5}, {}, "holds no results of a model-free agent"),
    ({}, {"run": "nothing.json"}, "nothing.json does not exist; train/manipulation.py and train/agent.py write it"),
    ({}, {"to": "curves.pdf"}, "a picture is .svg or .png, got curves.pdf"),
    ({}, {"beside": ["nobody"]}, "holds no finished protocols"), ({}, {"run": []}, "run must be a run folder or a list"),
    ({"env": "physics5"}, {"beside": ["nobody"]}, "names agents of a TriFinger task, and the runs are of physics5"),
])  # fmt: skip
def test_what_is_no_curve_is_told(changes, options, said, tmp_path):
    results(tmp_path / "sac.json", **changes)
    with pytest.raises(Problem, match=said):
        drawn(tmp_path, **options)
    assert not (tmp_path / "new").exists()


def test_runs_of_one_picture_learned_one_thing(tmp_path):
    """And are told apart by their names."""
    one, other = results(tmp_path / "sac.json"), results(tmp_path / "ppo.json", env="trifinger_pushing")
    with pytest.raises(Problem, match="ppo learned trifinger_pushing, expected trifinger_reaching as sac; draw them apart"):
        drawn(tmp_path, run=[str(one), str(other)])
    with pytest.raises(Problem, match="two runs are called sac"):
        drawn(tmp_path, run=[str(one), str(one)])
