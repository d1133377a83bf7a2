"""Captions of tables of equal effort: in which precision, on what machines, and what rows were told."""

from dataclasses import replace

from eval.effort.captions import caption, of_reading, of_structure, one_line
from eval.effort.cells import mean_least_most
from eval.effort.filled import Filled
from eval.effort.settings import causes, rows_of
from eval.effort.studies import studies
from eval.effort.table import lines, tables
from eval.paper.table_text import bullets
from eval.terminal import print_table

ENV, MAIN = "physics3", studies()["causes"]


def test_precisions_are_told():
    """A minute of single precision holds fewer updates; one caption for all, and by their names where rows differ."""
    def filled(name, precision):
        entry = {"scores": {}, "rounds": [], "plans": {}, "setting": {"trainer": {"precision": precision}}}
        return Filled(MAIN, "", rows_of(name)[0], ENV, None, {0: entry})

    edge, sigreg = "edge + InfoNCE", "edge + SIGReg"
    assert "trainer.precision=32-true" in caption([filled(edge, "32-true"), filled(sigreg, "32-true")])
    told = caption([filled(edge, "32-true"), filled(sigreg, "bf16-mixed")])
    assert "trainer.precision=32-true of edge + InfoNCE; bf16-mixed of edge + SIGReg" in told


def test_facts_of_a_caption_are_lines():
    """A page of one sentence of 370 words was read by nobody."""
    facts = caption([Filled(MAIN, "", row, ENV, None, {}) for row in rows_of(None)])
    assert (
        len(facts) > 10 and max(map(len, facts)) < 420 and not [fact for fact in facts if fact != fact.strip(" ;") or not fact]
    )
    assert bullets(["one", "two (a; b)"]) == "- one\n- two (a; b)"


def test_a_table_without_a_line_is_not_shown():
    """Before the first run a study printed the head of a table alone."""
    (row,) = rows_of("edge + InfoNCE")
    study = studies()["causes-published"]
    assert list(tables([Filled(study, "", row, ENV, None, {})])) == [study.title]


def test_what_was_trained_is_told():
    """As many rounds are 11,239 steps of one stage and 1,499 of another, and rows differ in size."""
    (row,) = rows_of("edge + NLL")
    rounds = [{"stage": stage, "round": n, "updates": done, "cpu_s": 60.0 * n, "scores": {}} for n, (stage, done) in enumerate(
        [("reconstruction", 700), ("reconstruction", 1499), ("prediction", 11239), ("finetune", 959)], 1)]  # fmt: skip
    entry = {"scores": {}, "rounds": rounds, "plans": {}, "parameters": {"encoder": 1000, "transition": 234}}
    one = Filled(MAIN, "", row, ENV, None, {0: entry})
    assert (
        "of edge + NLL by stage, which share its rounds as evenly as they can: "
        "reconstruction 1,499, prediction 11,239, finetune 959"
    ) in caption([one])
    header, (cells,) = lines([one])
    assert dict(zip(header, cells))["parameters"] == "1,234" and dict(zip(header, cells))["updates"] == "13,697"
    bare = Filled(MAIN, "", row, ENV, None, {0: {"scores": {}, "rounds": rounds[:2], "plans": {}}})
    assert "by stage" not in one_line(caption([bare])) and "parameters" not in lines([bare])[0]  # no row says any


def test_machines_are_told():
    def filled(name, *machines):
        entries = {
            seed: {"scores": {}, "rounds": [], "plans": {}} | ({"machine": one} if one else {})
            for seed, one in enumerate(machines)
        }
        return Filled(MAIN, "", rows_of(name)[0], ENV, None, entries)

    one, other, gpu = (
        {"processor": "one", "cores": 2},
        {"processor": "other", "cores": 4},
        {"processor": "other", "cores": 4, "gpu": "a GPU"},
    )
    assert "trained on one" in caption([filled("edge + InfoNCE", one, one), filled("edge + SIGReg", one)])
    assert "trained on one (2), other (1), a GPU (1)" in caption(
        [filled("edge + InfoNCE", one, other), filled("edge + SIGReg", gpu, one)]
    )
    assert "trained on" not in one_line(caption([filled("edge + InfoNCE", None)]))


def test_runs_that_no_commit_identifies_are_counted():
    """A third of the runs of a table were made from a tree with changes, and no page said so."""
    def filled(*commits):
        entries = {
            seed: {"scores": {}, "rounds": [], "plans": {}, "versions": {"commit": one} if one else {}}
            for seed, one in enumerate(commits)
        }
        return [Filled(MAIN, "", rows_of("edge + InfoNCE")[0], ENV, None, entries)]

    said = "1 of 2 runs were scored from a working tree with changes beside its commit"
    assert said in caption(filled("abc1234", "abc1234-dirty", None))
    assert "working tree" not in one_line(caption(filled("abc1234", None)))


def test_privileges_are_told():
    rows = [
        Filled(MAIN, "", row, ENV, None, {}) for row in rows_of(["slot attention + InfoNCE", "edge + InfoNCE, small encoder"])
    ]
    assert (
        "told: what a row knows beforehand, objects: how many there are, cells: where the cells of the board lie"
        in caption(rows)
    )
    assert all(set(row.told) <= set(causes()["privileges"]) for row in rows_of(None))
    (gnn,) = rows_of("GNN + InfoNCE")
    cases = {
        case: Filled(studies()["causes-units"], case, gnn, ENV, None, {}) for case in ("128 units", "128 units, whole action")
    }
    assert {case: "blocks: which part" in one_line(caption([one])) for case, one in cases.items()} == {
        "128 units": True,
        "128 units, whole action": False,
    }


def test_effort_is_said_as_it_was_counted():
    """Updates are those asked for whatever the machine did beside them; minutes hold more of them or fewer."""
    (row,) = rows_of("edge + InfoNCE")
    told = {name: one_line(caption([Filled(study, next(iter(study.cases)), row, "physics5_shuffled", None, {})]))
            for name, study in studies().items()}  # fmt: skip
    assert (
        "; 10 minutes of processor time for every row" in told["causes"]
        and "updates: training steps in that time" in told["causes"]
    )
    for name in ("causes-episodes", "causes-objects"):
        assert "; 4000 updates for every row" in told[name] and "updates: training steps; parameters:" in told[name]
        assert "kept at: after which part of the rounds" in told[name]
    assert "kept at: after which part of the epochs" in told["causes-published"]
    assert "over that setting, 30 episodes: env.splits.train.episodes=30; 100 episodes: " in told["causes-episodes"]
    assert "128 units, setting of edge: model.module.transition.hidden=128, loss.learning_rate=0.002, " in told["causes-units"]
    assert [name for name, text in told.items() if "over that setting" in text] == [
        name for name, one in studies().items() if len(one.cases) > 1
    ]
    assert [
        name for name, text in told.items() if "with which its setting was chosen, where its name says no other" in text
    ] == ["causes-units"]
    assert all(
        "scored are the weights of the least validation loss" in text for name, text in told.items() if name != "causes-factors"
    )


def test_a_world_is_told_by_what_it_has():
    """Chemistry has no weights and no pushes, and outcomes that are drawn:
    its bound stands beside every H@1, of its own world or of all."""
    def filled(name, bayes=None, **more):
        metrics = {"test/hits@1/h10": 60.0, **({} if bayes is None else {"bayes/hits@1/h10": bayes}), **more}
        return Filled(
            MAIN, "", rows_of(name)[0], ENV, None, {0: {"scores": {"final": {"metrics": metrics}}, "rounds": [], "plans": {}}}
        )

    edge, sigreg = "edge + InfoNCE", "edge + SIGReg"
    drawn, pushed = [filled(edge, 71.0), filled(sigreg, 71.0)], [filled(edge, **{"order/tau": 0.5})]
    assert lines(drawn)[0][1] == "H@1 10 (floor; exact Bayes 71.0)" and "order of weights" not in lines(drawn)[0]
    by_number = lines([filled(edge, **{"order/tau": 0.5, "floor/order/tau": 1.0}),
                       filled(sigreg, **{"order/tau": 0.1, "floor/order/tau": 1.0})])  # fmt: skip
    assert "order of weights (by number 1.0)" in by_number[0], (
        "where blocks are numbered by weight, who asks nothing has what the best row has"
    )
    own = lines([filled(edge, 71.0), filled(sigreg, 49.9)])
    assert own[0][1] == "H@1 10 (floor; exact Bayes)" and [row[1] for row in own[1]] == ["60.0 (-; 71.0)", "60.0 (-; 49.9)"]
    likely = [
        filled(name, 71.0, **{"test/cf_hits@1/mean/h10": 90.0, "bayes/cf_hits@1/mean/h10": 96.0}) for name in (edge, sigreg)
    ]
    assert lines(likely)[0][2] == "what if 10 (floor; likeliest 96.0)" and "likeliest" not in lines(drawn)[0][2]
    assert "likeliest: of the outcomes of all actions, by exact Bayes; no bound" in one_line(caption(likely))
    apart = lines([filled(edge, **{"test/cf_hits@1/mean/h10": 90.0, "bayes/cf_hits@1/mean/h10": 96.0}),
                   filled(sigreg, **{"bayes/cf_hits@1/mean/h10": 95.0})])  # fmt: skip
    assert apart[0][2] == "what if 10 (floor; likeliest)" and apart[1][0][2] == "90.0 (-; 96.0)"
    two_worlds = replace(likely[0], env="chemistry_chain5", entries={0: likely[0].entries[0], 1: drawn[0].entries[0]})
    assert lines([two_worlds])[0][2] == "what if 10 (floor)", "of one of its two worlds it is not known"
    one_of_two = lines([replace(likely[0], env="chemistry_chain5"),
                        replace(drawn[1], env="chemistry_chain5", entries={1: drawn[1].entries[0]})])  # fmt: skip
    assert (
        one_of_two[0][2] == "what if 10 (floor; likeliest)" and [row[2] for row in one_of_two[1]] == ["90.0 (-; 96.0)", "- (-)"]
    )
    of_drawn, of_pushed = one_line(caption(drawn)), one_line(caption(pushed))
    assert "likeliest: of the outcomes" not in of_drawn
    assert "no model of any kind can expect more" in of_drawn and "heavier" not in of_drawn
    assert "order of weights" in lines(pushed)[0] and "exact Bayes" not in of_pushed and "asked by pushes" in of_pushed
    assert (
        "pushes told" in one_line(of_structure(pushed))
        and "push" not in one_line(of_structure(drawn)) + one_line(of_reading(drawn))
    )
    assert [any("pushes" in title for title in tables(of)) for of in (pushed, drawn)] == [True, False]


def test_a_caption_is_as_wide_as_the_terminal(capsys):
    """Below a narrow table it was broken into a narrow column; and brackets in it are no markup."""
    print_table(["a"], [["1"]], "what stands below, [bold] and all, in one line", width=60)
    assert "what stands below, [bold] and all, in one line" in capsys.readouterr().out


def test_a_training_that_diverged_did_no_updates():
    """Those of its rounds lowered the mean, and a row whose first seed diverged had no parameters."""
    (row,) = rows_of("edge + InfoNCE")
    rounds = [{"stage": "joint", "round": 1, "updates": 1000, "cpu_s": 60.0, "scores": {}}]
    ended = {"scores": {}, "rounds": rounds, "plans": {}, "parameters": {"encoder": 1234}}
    failed = {
        "scores": {},
        "rounds": [rounds[0] | {"updates": 9}],
        "plans": {},
        "parameters": {},
        "diverged": "train loss is not finite",
    }
    header, (cells,) = lines([Filled(MAIN, "", row, ENV, None, {0: failed, 1: ended})])
    assert dict(zip(header, cells))["parameters"] == "1,234" and dict(zip(header, cells))["updates"] == "1,000"


def test_a_range_is_told_where_it_can_be_seen():
    assert mean_least_most([98.2, 98.4]) == "98" and mean_least_most([90, 100]) == "95 (90 to 100)"


def test_rows_of_other_worlds_are_told():
    """A mean over fewer drawn worlds stood beside the others without a word; one world is harder than another."""
    edge, sigreg = (
        Filled(MAIN, "", rows_of(name)[0], "chemistry_chain5", None, {0: {}}) for name in ("edge + InfoNCE", "edge + SIGReg")
    )
    empty = {"scores": {}, "rounds": [], "plans": {}}
    edge, sigreg = replace(edge, entries={0: empty, 1: empty}), replace(sigreg, entries={0: empty})
    assert "rows that lack seeds lack worlds, which may be the harder" in one_line(caption([edge, sigreg]))
    assert "lack worlds" not in (
        one_line(caption([edge, edge])) + one_line(caption([replace(one, env=ENV) for one in (edge, sigreg)]))
    )
