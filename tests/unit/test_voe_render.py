"""Pictures of clips: where things are seen, at any size, by both renderers; what bends, hides, throws a shadow."""

import numpy as np
import pytest

pytest.importorskip("pybullet")
from envs.bodies.rendering.opengl import GLRenderer  # noqa: E402
from envs.voe import shapes  # noqa: E402
from envs.voe.clip import FRAMES, GROUND, OBJECT, OCCLUDER, SUPPORT, WALL, Body, Clip  # noqa: E402
from envs.voe.render import CAMERA, LIGHT, MESHES, Studio  # noqa: E402


def clip(bodies, places, meshes=None, cloth=None) -> Clip:
    """Bodies (name, segment, mesh, scale) that stand still, at places (3,) or (FRAMES, 3)."""
    poses = np.zeros((FRAMES, len(bodies), 7))
    poses[..., 6] = 1
    for i, place in enumerate(places):
        poses[:, i, :3] = place
    shown = np.ones((FRAMES, len(bodies)), bool)
    bodies = tuple(Body(*body, color) for body, color in zip(bodies, [(0.8, 0.05, 0.05), (0.1, 0.2, 0.8), (0.5, 0.5, 0.5)]))
    return Clip(bodies, poses, np.zeros((FRAMES, len(bodies), 3)), shown, meshes or {}, cloth or {})


def scene() -> Clip:
    """A torus over a box, beside two standing boards of the clip's own mesh."""
    boards = shapes.occluder_sides(6.0, 3.0, 2.0, 0.2)
    bodies = [
        ("object", OBJECT, "torus", (1, 1, 1)),
        ("occluder", OCCLUDER, "boards", (1, 1, 1)),
        ("support", SUPPORT, "cube", (2, 2, 1)),
    ]
    falling = np.stack([np.full(FRAMES, -5.0), np.full(FRAMES, -6.0), np.linspace(6.0, 3.3, FRAMES)], 1)
    return clip(bodies, [falling, (4, -2, 0), (-5, -6, 1)], {"boards": boards})


def hanging() -> Clip:
    """A cloth that is blown aside."""
    y, z = np.meshgrid(np.linspace(-3, 3, 7), np.linspace(0, 4, 5), indexing="ij")
    bent = [shapes.sheet(np.stack([frame / FRAMES * 3 * np.sin(z), y, z], -1)) for frame in range(FRAMES)]
    return clip([("wall", WALL, "cube", (1, 1, 1))], [(0, 0, 0)], cloth={"wall": np.stack(bent)})


@pytest.fixture(scope="module")
def studio():
    try:
        GLRenderer(MESHES, LIGHT).close()
    except Exception as error:
        pytest.skip(f"no OpenGL here: {error}")
    studio = Studio("moderngl")
    yield studio
    studio.close()


@pytest.fixture(scope="module")
def bullet():
    studio = Studio("bullet")
    yield studio
    studio.close()


def iou(one: np.ndarray, other: np.ndarray) -> float:
    return (one & other).sum() / (one | other).sum()


def test_shapes_and_kinds(studio):
    film = studio.draw(scene(), 24, 40, range(3))
    assert film.rgb.shape == (3, 24, 40, 3) and film.rgb.dtype == np.uint8
    assert film.depth.shape == film.masks.shape == (3, 24, 40)
    assert film.depth.dtype == np.float32 and film.masks.dtype == np.uint8
    assert set(np.unique(film.masks)) == {GROUND, OBJECT, OCCLUDER, SUPPORT}


def test_a_point_is_seen_where_the_published_camera_sees_it(studio):
    """By the angles of the sheet and the lens of 50 mm, without a matrix: x to the right and y up, in halves of the width."""
    place = np.array([-5.0, -6.0, 4.0])
    mask = studio.draw(clip([("object", OBJECT, "sphere", (0.3, 0.3, 0.3))], [place]), 270, 480, [0]).masks[0] == OBJECT
    down, aside = np.radians(18.4), np.radians(16.4)
    away = place - (-8.04, -27.78, 10.60)
    forward = np.array([np.sin(aside) * np.cos(down), np.cos(aside) * np.cos(down), -np.sin(down)])
    right = np.array([np.cos(aside), -np.sin(aside), 0.0])
    x, y = (away @ axis / (away @ forward) / 0.36 for axis in (right, np.cross(right, forward)))
    rows, columns = np.nonzero(mask)
    assert abs(columns.mean() + 0.5 - 240 * (1 + x)) < 1 and abs(rows.mean() + 0.5 - (135 - 240 * y)) < 1


def test_depth_is_that_of_the_ground_and_of_what_stands_on_it(studio):
    film = studio.draw(scene(), 60, 100, [0])
    down, up = np.radians(18.4), (0.5 - (np.arange(60) + 0.25) / 60) * 2 * 0.2025
    ground = 10.60 / (np.sin(down) - up * np.cos(down))  # along the axis
    at = film.masks[0] == GROUND
    assert np.abs(film.depth[0] - ground[:, None])[at].max() < 0.05
    assert (film.depth[0] < ground[:, None] - 0.05)[film.masks[0] == SUPPORT].mean() > 0.95


def test_a_square_picture_is_the_wide_one_squeezed(studio):
    wide, square = studio.draw(scene(), 540, 960, [10]).masks[0], studio.draw(scene(), 112, 112, [10]).masks[0]
    rows, columns = (((np.arange(112) + 0.25) / 112 * full).astype(int) for full in wide.shape)
    for segment in (OBJECT, OCCLUDER, SUPPORT):
        assert iou(wide[rows][:, columns] == segment, square == segment) > 0.97


def test_renderers_agree(studio, bullet):
    for one, segments in ((scene(), (OBJECT, OCCLUDER, SUPPORT)), (hanging(), (WALL,))):
        seen = [artist.draw(one, 135, 240, [0, 40]) for artist in (studio, bullet)]
        for segment in segments:
            assert iou(*(film.masks == segment for film in seen)) > 0.93
        assert np.median(np.abs(seen[0].depth / seen[1].depth - 1)) < 0.01  # half a pixel apart
    assert (studio.drawn_by, bullet.drawn_by) == ("moderngl", "bullet")


def test_what_moves_bends_or_hides_is_drawn_so(studio):
    film = studio.draw(hanging(), 40, 60, [0, 25, 49])
    assert len({mask.tobytes() for mask in film.masks}) == 3
    one = scene()
    heights = [np.nonzero(mask == OBJECT)[0].mean() for mask in studio.draw(one, 40, 60, [0, 25, 49]).masks]
    assert heights[0] < heights[1] < heights[2]  # rows from above
    one.shown[25, 0] = False
    assert OBJECT not in studio.draw(one, 40, 60, [25]).masks and OBJECT in studio.draw(one, 40, 60, [26]).masks


def test_a_frame_is_the_same_alone_and_after_others(studio):
    one = scene()
    alone = studio.draw(one, 40, 60, [30]).rgb[0]
    studio.draw(hanging(), 40, 60, [10, 20])
    assert np.array_equal(studio.draw(one, 40, 60, range(31)).rgb[30], alone)


def test_a_soft_shadow_falls(studio):
    """To the right of a box, whose light stands at the left; its rim is neither bright nor dark."""
    lit, bare = (studio.draw(one, 135, 240, [0]) for one in (scene(), clip([], [])))
    darker = bare.rgb[0].astype(int).sum(-1) - lit.rgb[0].astype(int).sum(-1)
    ground = lit.masks[0] == GROUND
    box = np.nonzero(lit.masks[0] == SUPPORT)[1]
    assert ((darker > 15) & ground)[:, box.max() :].sum() > 100 and (darker > 15)[:, : box.min() - 1].sum() == 0
    rim = (darker > 15) & (darker < 120) & ground
    assert rim.sum() > 0.2 * ((darker > 15) & ground).sum()


def test_colors_are_those_of_the_bodies(studio):
    film = studio.draw(scene(), 135, 240, [0])
    red, blue = (film.rgb[0][film.masks[0] == segment].astype(float).mean(0) for segment in (OBJECT, OCCLUDER))
    assert red[0] > 2 * red[1:].max() and blue[2] > 1.5 * blue[:2].max()
    ground = film.rgb[0][film.masks[0] == GROUND].astype(float)
    assert ground.mean() > 150 and np.ptp(ground.mean(0)) < 5


def test_the_camera_is_wide_as_the_lens_says():
    assert CAMERA.projection()[0, 0] == pytest.approx(1 / 0.36) and CAMERA.sized(112, 112).projection()[0, 0] == pytest.approx(
        1 / 0.36
    )
