"""Colours, weights, shapes and goals of freshly drawn boards, per setting and mode."""

import numpy as np
import pytest

from envs.grid import color_table
from envs.physics import ABSENT, COLORMAPS, SETTINGS, PhysicsWorld, push
from envs.problem import Problem

RNG = np.random.default_rng
OBSERVED = [(m, n) for m in SETTINGS["observed"] for n in (3, 5) if n == 5 or m not in ("fewer-3", "fewer-4")]
NAMES = {"blues": "Blues", "reds": "Reds", "greens": "Greens"}


def entries(colors, table):
    """Index of each colour (B, N, 3) uint8 in a table; -1 where it is not in there."""
    table = np.rint(table * 255).astype(int)
    same = (colors[:, :, None].astype(int) == table).all(-1)
    return np.where(same.any(-1), same.argmax(-1), -1)


@pytest.mark.parametrize("mode, n", OBSERVED)
@pytest.mark.parametrize("colormap", COLORMAPS["observed"])
def test_observed_darker_is_heavier(mode, n, colormap):
    """Object 0 is the darkest and weighs n, object n-1 the palest and weighs 1, in every mode."""
    boards = PhysicsWorld(n, colormap=colormap).reset(400, RNG(0), mode)
    assert (boards.weights == np.arange(n, 0, -1)).all()
    brightness = boards.colors.astype(int).sum(-1)
    assert (np.diff(brightness, axis=1) >= 0).all()
    assert (brightness[:, 0] < brightness[:, -1]).mean() > 0.95


@pytest.mark.parametrize("mode, part", [("train", 8), ("test-v1", 4), ("test-v2", 3), ("test-v3", 2), ("zero-shot-shape", 8)])
def test_observed_jitter(mode, part):
    """Shade i stays within gap/part of i * gap, fills most of that interval, and never leaves [0, 1]."""
    n, table = 5, color_table("Blues")
    boards = PhysicsWorld(n).reset(2000, RNG(0), mode)
    shade = entries(boards.colors, table)[:, ::-1] / 256  # palest first; equal neighbours in the table cost < 2 entries
    off = shade - np.arange(n) * 0.25
    width = 0.25 / part
    assert (shade >= 0).all() and np.abs(off).max() <= width + 3 / 256
    assert np.abs(off).max() >= 0.9 * width - 1 / 256
    assert (off[:, 0] >= -1 / 256).all() and (off[:, -1] <= 0).all()


@pytest.mark.parametrize("setting", ["unobserved", "fixed_unobserved"])
@pytest.mark.parametrize("colormap, name", [("sets", "Set1"), ("pastels", "Pastel1")])
def test_palette_colour_names_weight(setting, colormap, name):
    """Palette colour j weighs j, colours are distinct, object 0 is the lightest."""
    boards = PhysicsWorld(4, setting, colormap).reset(500, RNG(0))
    index = entries(boards.colors, color_table(name))
    assert (index == boards.weights).all()
    assert (np.diff(boards.weights, axis=1) > 0).all()
    assert set(index.ravel()) == set(range(9))


@pytest.mark.parametrize("m", [1, 2, 3])
def test_few_shot_adds_m_colours(m):
    """m colours of the second palette join; colour j of it weighs j + 0.5; they are the same ones on every reset."""
    world = PhysicsWorld(5, "unobserved", "sets")
    boards = world.reset(2000, RNG(0), f"few-shot-{m}")
    base, extra = entries(boards.colors, color_table("Set1")), entries(boards.colors, color_table("Set3"))
    new = base < 0
    assert (boards.weights[~new] == base[~new]).all()
    assert (boards.weights[new] == extra[new] + 0.5).all()
    assert len(set(extra[new])) == m
    again = world.reset(2000, RNG(1), f"few-shot-{m}")
    assert set(again.weights.ravel()) == set(boards.weights.ravel())


def test_palette_seed_picks_the_new_colours():
    """Another palette_seed gives other few-shot colours."""
    found = {
        tuple(
            sorted(set(PhysicsWorld(5, "unobserved", "sets", palette_seed=s).reset(500, RNG(0), "few-shot-3").weights.ravel()))
        )
        for s in range(5)
    }
    assert len(found) > 1


@pytest.mark.parametrize("setting, colormap, mode, shapes", [
    ("observed", "blues", "train", range(3)), ("observed", "blues", "test-v3", range(3)),
    ("observed", "blues", "zero-shot-shape", range(6)), ("unobserved", "sets", "train", range(3)),
    ("unobserved", "sets", "zero-shot-shape", range(6)),
])  # fmt: skip
def test_shapes_per_mode(setting, colormap, mode, shapes):
    """Three shapes, six in zero-shot-shape, every one of them in every object."""
    drawn = PhysicsWorld(3, setting, colormap).reset(500, RNG(0), mode).shapes
    assert all(set(drawn[:, i]) == set(shapes) for i in range(3))


def test_fixed_unobserved_shape_is_index():
    """Object i has shape i."""
    assert (PhysicsWorld(5, "fixed_unobserved", "sets").reset(50, RNG(0)).shapes == np.arange(5)).all()


def test_shuffled_tells_the_index_by_shape_alone():
    """An action names an object by its index: shape i says which one, shade says how heavy, and they are independent."""
    world = PhysicsWorld(5, object_order="shuffled")
    boards = world.reset(4000, RNG(0))
    assert (boards.shapes == np.arange(5)).all()
    shade = boards.colors.astype(int).sum(-1)
    assert np.array_equal(shade.argsort(1), boards.weights.argsort(1)[:, ::-1])  # darker is heavier, as ever
    assert abs(np.corrcoef(boards.shapes.ravel(), boards.weights.ravel())[0, 1]) < 0.03
    with pytest.raises(Problem, match="tells objects apart by shape"):
        world.reset(1, RNG(0), "zero-shot-shape")


def test_hidden_weights_say_nothing():
    """Weights are a permutation of 1..n and independent of index, colour order and shape."""
    boards = PhysicsWorld(5, object_order="shuffled", hidden_weights=True).reset(8000, RNG(0))
    assert (np.sort(boards.weights, 1) == np.arange(1, 6)).all()
    weights = boards.weights.ravel()
    index = np.tile(np.arange(5), 8000)
    for clue in (index, boards.colors.astype(int).sum(-1).ravel(), boards.shapes.ravel()):
        assert abs(np.corrcoef(clue, weights)[0, 1]) < 0.03


def test_positions_are_uniform():
    """Every object visits every cell about equally often."""
    positions = PhysicsWorld(5).reset(25_000, RNG(0)).positions.astype(int)
    for i in range(5):
        count = np.bincount(positions[:, i, 0] * 5 + positions[:, i, 1], minlength=25)
        assert 850 < count.min() and count.max() < 1150  # 1000 expected, 31 standard deviation


@pytest.mark.parametrize("steps", [1, 2, 10])
def test_goals_never_equal_start(steps):
    """Even one step away, where a fifth of all actions stays."""
    world = PhysicsWorld(3)
    boards = world.reset(500, RNG(0))
    goal = world.draw_goals(boards, RNG(1), steps)[0]
    assert (world.distance(boards, goal) > 0).all()
    assert (goal.weights == boards.weights).all()


def test_goals_may_equal_start_when_asked():
    """The published behaviour is an option; then some goals are the start."""
    world = PhysicsWorld(3)
    boards = world.reset(500, RNG(0))
    assert (world.distance(boards, world.draw_goals(boards, RNG(1), 1, may_equal_start=True)[0]) == 0).mean() > 0.2


def test_goal_at_zero_steps_is_refused():
    """No walk, no goal: a sentence rather than an endless loop."""
    world = PhysicsWorld(3)
    with pytest.raises(Problem, match="at least 1 step"):
        world.draw_goals(world.reset(2, RNG(0)), RNG(0), 0)


def test_distance_by_hand():
    """Mean over objects of |rows| + |columns|: (2 + 5) / 2."""
    world = PhysicsWorld(2)
    a = world.reset(1, RNG(0))
    a.positions = np.array([[(0, 0), (4, 4)]], np.int8)
    b = a.take(slice(None))
    b.positions = np.array([[(1, 1), (0, 3)]], np.int8)
    assert world.distance(a, b).tolist() == [3.5]


@pytest.mark.parametrize("wrong, sentence", [
    ({"setting": "observd"}, "did you mean 'observed'"), ({"colormap": "sets"}, "physics has no colormap 'sets'"),
    ({"num_objects": 10}, "takes 2 to 9 objects, got 10"), ({"object_order": "shuffle"}, "did you mean 'shuffled'"),
    ({"setting": "fixed_unobserved", "colormap": "sets", "num_objects": 7}, "takes 2 to 6 objects"),
])  # fmt: skip
def test_wrong_world_is_refused(wrong, sentence):
    """The sentence names the thing and the nearest name."""
    with pytest.raises(Problem, match=sentence):
        PhysicsWorld(**wrong)


def test_wrong_mode_is_refused():
    """Modes belong to settings."""
    with pytest.raises(Problem, match="did you mean 'zero-shot'"):
        PhysicsWorld(3).reset(1, RNG(0), "zero-sho")


def test_a_larger_board_has_more_room_and_the_same_rules():
    """7x7: cells up to 6, walls there, frames of 70 pixels; a block in the last corner does not leave it."""
    world = PhysicsWorld(num_objects=9, board=7)
    boards = world.reset(500, RNG(0))
    assert boards.positions.max() == 6 and world.render(boards).shape == (500, 70, 70, 3)
    assert world.factors(boards).shape == (500, 9, 49 + 9) and (world.factors(boards).sum(-1) == 2).all()
    corner = np.array([[[6, 6], [0, 0]]])
    for direction in (2, 3):  # east, south
        after, invalid = push(corner, np.array([[2, 1]]), np.array([direction]), 7)
        assert (after == corner).all() and not invalid.any()
    after, _ = push(np.array([[[4, 4], [0, 0]]]), np.array([[2, 1]]), np.array([2]), 7)
    assert after[0, 0].tolist() == [4, 5]
    with pytest.raises(Problem, match="5 to 9 cells"):
        PhysicsWorld(board=4)


def test_unseen_shapes_are_none_of_the_three_trained_ones():
    for setting in ("observed", "unobserved"):
        world = PhysicsWorld(setting=setting, colormap="blues" if setting == "observed" else "sets")
        assert set(np.unique(world.reset(500, RNG(0), "unseen-shape").shapes)) == {3, 4, 5}


@pytest.mark.parametrize("setting, mode, gone", [("observed", "fewer-1", 1), ("unobserved", "fewer-2", 2)])
def test_absent_objects_are_not_there(setting, mode, gone):
    """Not drawn, never in the way, moved by no action, no factors; goals leave them where they are."""
    world = PhysicsWorld(3, setting=setting, colormap="blues" if setting == "observed" else "sets")
    boards = world.reset(200, RNG(0), mode)
    absent = (boards.positions == ABSENT).all(-1)
    assert (absent.sum(1) == gone).all() and absent.any(0).all()
    assert (world.factors(boards).any(-1) == ~absent).all()
    action = absent.argmax(1) * 5 + RNG(1).integers(0, 5, 200)
    after, invalid = world.step(boards, action)
    assert (after.positions == boards.positions).all() and not invalid.any()
    for t in range(20):
        boards, _ = world.step(boards, RNG(t).integers(0, 15, 200))
    assert ((boards.positions == ABSENT).all(-1) == absent).all()
    assert (boards.positions[~absent] >= 0).all() and (boards.positions[~absent] < 5).all()
    alone = world.reset(200, RNG(2), mode)
    alone.colors[(alone.positions == ABSENT).all(-1)] = 255  # an object that is not drawn has no colour to see
    frames = world.render(alone)
    alone.colors[(alone.positions == ABSENT).all(-1)] = 7
    assert (world.render(alone) == frames).all() and frames.any((1, 2, 3)).all()
    assert (world.unpack(world.pack(alone)).positions == alone.positions).all()


def test_another_background_changes_the_picture_alone():
    """Grey behind the objects, of a brightness of its own on every board; boards, moves and goals are those of training."""
    world = PhysicsWorld(5, object_order="shuffled")
    grey, black = world.reset(100, RNG(0), "background"), world.reset(100, RNG(0))
    assert (grey.positions == black.positions).all() and (grey.colors == black.colors).all()
    shown, usual = world.render(grey), world.render(black)
    behind = ~usual.any(-1)
    assert len(np.unique(grey.grey)) > 50 and grey.grey.min() >= 32 and not black.grey.any()
    assert (shown[behind] == np.broadcast_to(grey.grey[:, None, None, None], shown.shape)[behind]).all()
    assert (shown[~behind] == usual[~behind]).all()
    again = world.unpack(world.pack(grey))
    assert (again.grey == grey.grey).all() and world.pack(black).shape[-1] == 7
    after, _ = world.step(grey, RNG(1).integers(0, 25, 100))
    assert (after.grey == grey.grey).all() and (world.render(after) == grey.grey[:, None, None, None]).all(-1).mean() > 0.5
