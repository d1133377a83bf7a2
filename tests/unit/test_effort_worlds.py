"""Rows in one world beside the others: each number stands in its world's column, and what was not run is a dash."""

import json

import pytest

from eval.effort.filled import Filled
from eval.effort.jobs import table_name
from eval.effort.settings import CONFIGS, causes, choose, chosen_file, rows_of
from eval.effort.studies import studies
from eval.effort.table import long_csv, tables
from eval.effort.worlds import worlds_figure, worlds_lines, worlds_of, write_worlds

MAIN = studies()["causes"]
HINGE, NCE, OWN = rows_of(["edge + hinge", "edge + InfoNCE", "categorical + inverse action"])
SHUFFLED, CHEMISTRY = "physics5_shuffled", "chemistry_chain5"


def metrics(known: float, ranked: float) -> dict[str, float]:
    found = {"test/cf_hits@1/mean/h1": known + 1, "test/cf_hits@1/mean/h10": known, "test/hits@1/h10": ranked}
    return found | {"floor/copy/cf_hits@1/mean/h1": 33.3, "floor/copy/cf_hits@1/mean/h10": 5.0, "floor/copy/hits@1/h10": 30.0}


def filled(row, env: str, known: float, seeds: int = 1) -> Filled:
    entries = {seed: {"rounds": [], "scores": {"final": {"metrics": metrics(known + seed, 90.0)}}} for seed in range(seeds)}
    return Filled(MAIN, "", row, env, None, entries)


@pytest.fixture
def worlds():
    return {
        SHUFFLED: [filled(NCE, SHUFFLED, 90, 3), filled(HINGE, SHUFFLED, 40)],
        CHEMISTRY: [filled(OWN, CHEMISTRY, 70), filled(HINGE, CHEMISTRY, 60)],
    }


def test_every_number_stands_in_its_world(worlds):
    header, rows = worlds_lines(worlds)
    assert header == ["", "physics5_shuffled: what if 1 / 10 (floor 33.3 / 5.0)", "H@1 10 (floor)", "seeds",
                      "chemistry_chain5: what if 1 / 10 (floor 33.3 / 5.0)", "H@1 10 (floor)", "seeds"]  # fmt: skip
    assert rows == [
        ["edge + InfoNCE", "92.0 / 91.0", "90.0 (30.0)", "3", "-", "-", "-"],
        ["edge + hinge", "41.0 / 40.0", "90.0 (30.0)", "1", "61.0 / 60.0", "90.0 (30.0)", "1"],
        ["categorical + inverse action", "-", "-", "-", "71.0 / 70.0", "90.0 (30.0)", "1"],
    ]


def test_a_floor_that_no_row_was_asked_for_is_a_dash(worlds):
    for one in worlds[CHEMISTRY]:
        for entry in one.entries.values():
            del entry["scores"]["final"]["metrics"]["floor/copy/cf_hits@1/mean/h1"]
    assert worlds_lines(worlds)[0][4] == "chemistry_chain5: what if 1 / 10 (floor - / 5.0)"


def test_the_figure_has_a_mark_for_each_world_after_the_steps_that_tell_most(worlds):
    """Colours after ten steps are known to copying in two of three cases, and sixteen rows stood in one heap."""
    (axes,) = worlds_figure(worlds).axes
    drawn = {line.get_label(): list(line.get_xdata()) for line in axes.lines}
    assert drawn[f"{SHUFFLED}, 10 steps"] == [91.0, 40.0] and drawn[f"{CHEMISTRY}, 1 step"] == [61.0, 71.0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [
        "edge + InfoNCE",
        "edge + hinge",
        "categorical + inverse action",
    ]


def test_a_drawn_world_stands_by_itself():
    """Means over seeds are of two worlds for one row and of one for the other, so that neither is beside the other's."""
    rows = [filled(NCE, CHEMISTRY, 80, 2), filled(HINGE, CHEMISTRY, 85)]
    for seed, entry in rows[0].entries.items():
        entry["scores"]["final"]["metrics"] |= {
            "bayes/hits@1/h10": 70.0 - seed,
            "bayes/cf_hits@1/mean/h1": 96.0 - seed,
            "test/smallest_gap": 0.2 + 0.3 * seed,
        }
    found = tables(rows)
    assert [title for title in found if title.startswith("drawn world")] == ["drawn world 10", "drawn world 11"]
    (header, ten), (_, eleven) = found["drawn world 10"][0], found["drawn world 11"][0]
    assert header[1:3] == ["what if 1 (floor; likeliest 96.0)", "what if 5 (floor)"]
    assert (
        header[4] == "H@1 10 (floor; exact Bayes 70.0)"
        and found["drawn world 11"][0][0][4] == "H@1 10 (floor; exact Bayes 69.0)"
    )
    assert [row[0] for row in ten] == ["edge + hinge", "edge + InfoNCE"] and [row[0] for row in eleven] == ["edge + InfoNCE"]
    assert eleven[0][1:] == ["82.0 (33.3)", "- (-)", "81.0 (5.0)", "90.0 (30.0)", "-", "50.0", "-"]
    assert not any("drawn world" in title for title in tables([filled(NCE, SHUFFLED, 90, 3)]))


def test_shares_are_percent_in_files_as_in_tables():
    """The CSV once held the smallest gap as a share, beside scores in percent."""
    (one,) = rows = [filled(NCE, SHUFFLED, 90)]
    one.entries[0]["scores"]["final"]["metrics"]["test/smallest_gap"] = 0.2
    assert f"{SHUFFLED},edge + InfoNCE,smallest gap,,end,0,20.0" in long_csv(rows).splitlines()


def enter(ledger, row, env: str, known: float, seeds: int) -> None:
    scored = {
        n: {f"{kind}/cf_hits@1/mean/h{h}": n for h in (1, 5, 10) for kind in ("test", "floor/copy")}
        for n in range(causes()["tune"]["draws"])
    }
    found = choose(ledger, env, row, scored, scored)
    (ledger / env).mkdir(parents=True, exist_ok=True)
    for seed in range(seeds):
        entry = {"run": table_name(MAIN, "", row, env, found["overrides"], seed), "row": row.name, "env": env, "seed": seed,
                 "rounds": [], "world": 10 + seed if env == CHEMISTRY else None,
                 "scores": {"final": {"metrics": metrics(known, 90.0)}}}  # fmt: skip
        (ledger / env / f"{entry['run']}-0.json").write_text(json.dumps(entry))


def test_all_seeds_of_the_ledger_are_there(tmp_path):
    enter(tmp_path, HINGE, SHUFFLED, 40, 2)
    assert write_worlds(tmp_path, tmp_path / "out") is None and not (tmp_path / "out").exists(), "one world stands beside none"
    (tmp_path / "out").mkdir()
    (tmp_path / "out/worlds.md").write_text("of before")
    assert write_worlds(tmp_path, tmp_path / "out") is None and not list((tmp_path / "out").iterdir()), "nor does one of before"
    enter(tmp_path, OWN, CHEMISTRY, 70, 1)
    worlds = worlds_of(tmp_path, [])
    assert {env: [(one.label, len(one.entries)) for one in of] for env, of in worlds.items()} == {
        SHUFFLED: [("edge + hinge", 2)], CHEMISTRY: [("categorical + inverse action", 1)]}
    text = write_worlds(tmp_path, tmp_path / "out").read_text()
    assert "| edge + hinge | 41.0 / 40.0 | 90.0 (30.0) | 2 | - | - | - |" in text and (tmp_path / "out/worlds.svg").exists()


def test_rows_stand_beside_one_another_in_the_drawn_worlds_that_all_were_run_in(tmp_path):
    """Sixteen rows had the first drawn world and ten the second, which is harder;
    the means of the ten stood beside the easier world of the six."""
    for row, known, seeds in ((HINGE, 60, 2), (OWN, 70, 1)):
        enter(tmp_path, row, CHEMISTRY, known, seeds)
    enter(tmp_path, HINGE, SHUFFLED, 40, 2)
    enter(tmp_path, NCE, SHUFFLED, 50, 1)
    worlds = worlds_of(tmp_path, [])
    assert (
        [list(one.entries) for one in worlds[CHEMISTRY]] == [[0], [0]]
        and [list(one.entries) for one in worlds[SHUFFLED]] == [[0], [0, 1]]
    )


def test_a_seed_that_diverged_has_no_world(tmp_path, capsys):
    """It has an entry: means of one row were over both worlds, beside those of the other over the first."""
    enter(tmp_path, HINGE, CHEMISTRY, 60, 2)
    enter(tmp_path, OWN, CHEMISTRY, 70, 2)
    enter(tmp_path, HINGE, SHUFFLED, 40, 1)
    (path,) = (tmp_path / CHEMISTRY).glob("categorical*-s1-*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"scores": {}, "diverged": "train loss is not finite"}))
    assert [list(one.entries) for one in worlds_of(tmp_path, [])[CHEMISTRY]] == [[0], [0]]
    (path,) = (tmp_path / CHEMISTRY).glob("categorical*-s0-*.json")
    path.unlink()
    (path,) = (tmp_path / CHEMISTRY).glob("categorical*-s1-*.json")
    path.write_text(
        json.dumps(
            {key: value for key, value in json.loads(path.read_text()).items() if key != "diverged"}
            | {"scores": {"final": {"metrics": metrics(70, 90.0)}}}
        )
    )
    (path,) = (tmp_path / CHEMISTRY).glob("edge_hinge*-s1-*.json")
    path.unlink()
    assert (
        CHEMISTRY not in worlds_of(tmp_path, []) and "no drawn world was scored for all of its rows" in capsys.readouterr().out
    )


def test_an_entry_of_another_drawn_world_is_told(tmp_path, capsys):
    """Its world was taken from causes.yaml: where that names others, old runs would stand under the new number."""
    enter(tmp_path, OWN, CHEMISTRY, 70, 1)
    (path,) = (tmp_path / CHEMISTRY).glob("*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"world": 12}))
    assert (
        worlds_of(tmp_path, []) == {}
        and "was trained in drawn world 12; expected 10" in " ".join(capsys.readouterr().out.split())
    )


def test_what_is_left_out_is_told_once(tmp_path, capsys):
    """The command tells it beside the table of a world; it told it again beside all worlds."""
    enter(tmp_path, HINGE, SHUFFLED, 40, 1)
    enter(tmp_path, NCE, SHUFFLED, 50, 1)
    enter(tmp_path, OWN, CHEMISTRY, 70, 1)
    chosen_file(tmp_path, SHUFFLED, NCE).write_text("{}")
    write_worlds(tmp_path, tmp_path / "out", shown=[SHUFFLED])
    assert "physics5_shuffled, edge" not in capsys.readouterr().out
    write_worlds(tmp_path, tmp_path / "out", shown=[CHEMISTRY])
    assert capsys.readouterr().out.count("physics5_shuffled, edge + InfoNCE: left out; ") == 1


def test_compared_worlds_are_those_of_the_table():
    assert MAIN.envs[0] == next(iter(causes()["compared"])) and all(
        (CONFIGS / "env" / f"{env}.yaml").exists() for env in causes()["compared"]
    )
