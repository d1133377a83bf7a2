"""Pictures of the arena: the two renderers agree on what is where, shadows fall, goals are seen apart."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("pybullet")
from envs.bodies.rendering import open as opening  # noqa: E402
from envs.bodies.rendering.cameras import Camera  # noqa: E402
from envs.bodies.rendering.opengl import GLRenderer  # noqa: E402
from envs.bodies.rendering.tiny import BulletRenderer  # noqa: E402
from envs.problem import Problem  # noqa: E402
from envs.trifinger import make  # noqa: E402
from envs.trifinger.scene.drawing import FIRST_BLOCK, FIRST_GOAL, MESHES, ROBOT_SEGMENT, Drawing  # noqa: E402
from envs.trifinger.scene.state import arena, block, goal  # noqa: E402
from envs.trifinger.scene.views import VIEWS  # noqa: E402

ABOVE = Camera((0.0, 0.0, 0.3), (0.0, 0.0, 0.0), fov=60, height=96, width=96)


def gl():
    try:
        return GLRenderer(MESHES)
    except Exception as error:
        pytest.skip(f"no OpenGL here: {error}")


@pytest.fixture(params=["moderngl", "bullet"])
def renderer(request):
    renderer = gl() if request.param == "moderngl" else BulletRenderer(MESHES)
    yield renderer
    renderer.close()


@pytest.fixture(scope="module")
def state():
    scene = {**arena(np.full(12, 0.1)), "tool_block": block((0.03, -0.05, 0.0325)), "goal_block": goal((-0.06, 0.06, 0.0325))}
    scene["tool_block"]["color"] = np.array([0.0, 0.0, 1.0])
    return scene


def test_shapes_and_kinds(renderer, state):
    pictures = renderer.draw(Drawing().scene(state), VIEWS)
    assert pictures.rgb().shape == (3, 128, 128, 3) and pictures.rgb().dtype == np.uint8
    assert pictures.depth().shape == pictures.segments().shape == (3, 128, 128)


def test_a_camera_above_sees_the_block_where_it_is(renderer, state):
    """x to the right, y up: not mirrored. The distance to the block's top is the camera's height less the block's."""
    parts = [part for part in Drawing().scene(state) if part.segment != ROBOT_SEGMENT]
    pictures = renderer.draw(parts, (ABOVE,))
    rows, columns = np.nonzero(pictures.segments()[0] == FIRST_BLOCK)
    pixel = 48 / np.tan(np.radians(30))  # per unit of tangent
    across, along = 0.03 / (0.3 - 0.076), -0.05 / (0.3 - 0.076)
    assert columns.mean() - 47.5 == pytest.approx(pixel * across, abs=1.5)
    assert 47.5 - rows.mean() == pytest.approx(pixel * along, abs=1.5)
    assert pictures.depth()[0][rows, columns].min() == pytest.approx(0.3 - 0.076, abs=2e-3)
    mirrored = renderer.draw(parts, (dataclasses.replace(ABOVE, mirrored=True),)).rgb()
    assert np.array_equal(mirrored[0], pictures.rgb()[0][:, ::-1]) or renderer.name == "bullet"


def test_renderers_agree(state):
    """Same masks of robot and block in every view."""
    one, other = gl(), BulletRenderer(MESHES)
    parts = Drawing().scene(state)
    masks = [renderer.draw(parts, VIEWS).segments() for renderer in (one, other)]
    for segment, least in ((ROBOT_SEGMENT, 0.93), (FIRST_BLOCK, 0.85)):
        a, b = (mask == segment for mask in masks)
        assert (a & b).sum() / (a | b).sum() > least
    for renderer in (one, other):
        renderer.close()


def test_renderers_do_not_draw_into_each_other(state):
    """Two of one process, other scenes, other sizes, by turns: each as alone."""
    one, parts, small = gl(), Drawing().scene(state), (ABOVE.sized(40, 50),)
    alone = one.draw(parts, VIEWS).rgb()
    other = gl()
    for _ in range(2):
        late = one.draw(parts, VIEWS)
        seen = other.draw(parts[:2], small).rgb()
        assert np.array_equal(late.rgb(), alone)  # read after the other drew
    assert seen.shape == (1, 40, 50, 3) and np.array_equal(seen, one.draw(parts[:2], small).rgb())
    other.close()
    assert np.array_equal(one.draw(parts, VIEWS).rgb(), alone)
    one.close()


def test_a_shadow_falls(renderer, state):
    """A block in the air darkens the floor where nothing of it is seen."""
    parts = [part for part in Drawing().scene(state) if part.segment != ROBOT_SEGMENT]
    high = {**state, "tool_block": {**state["tool_block"], "cartesian_position": np.array([0.0, 0.0, 0.1])}}
    with_block = renderer.draw([p for p in Drawing().scene(high) if p.segment != ROBOT_SEGMENT], (ABOVE,))
    there = with_block.segments()[0] == FIRST_BLOCK
    lit = with_block.rgb()[0].astype(int).sum(-1)
    without = renderer.draw([part for part in parts if part.segment != FIRST_BLOCK], (ABOVE,)).rgb()[0].astype(int).sum(-1)
    darker = (without - lit > 15) & ~there
    assert 50 < darker.sum() < 3000


def test_goals_are_seen_in_their_own_views_only(renderer, state):
    scene, aim = (renderer.draw(parts, VIEWS).segments() for parts in (Drawing().scene(state), Drawing().goals(state)))
    assert FIRST_GOAL not in scene and FIRST_BLOCK in scene
    assert FIRST_GOAL in aim and FIRST_BLOCK not in aim


def test_pixel_observation():
    env = make("pushing", observation="pixel")
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation) and observation.shape == (6, 128, 128, 3)
    after = env.step(env.action_space.sample())[0]
    assert np.array_equal(after[3:], observation[3:]) and not np.array_equal(after[:3], observation[:3])
    env.intervene({"goal_block": {"cylindrical_position": [0.1, -1.0, 0.0325]}})
    assert not np.array_equal(env.observe()[3:], observation[3:])
    env.close()


def test_goal_views_are_drawn_once(monkeypatch):
    env = make("pushing", observation="pixel", cameras=(VIEWS[0].sized(32, 32),))
    drawn = []
    goals = Drawing.goals
    monkeypatch.setattr(Drawing, "goals", lambda self, state: drawn.append(1) or goals(self, state))
    env.reset(seed=0)
    for _ in range(3):
        assert env.step(env.action_space.sample())[0].shape == (2, 32, 32, 3)
    assert len(drawn) == 1
    env.intervene({"goal_block": {"color": [0.6, 0.6, 0.9]}})
    env.step(env.action_space.sample())
    assert len(drawn) == 2
    env.close()


def test_render_and_views():
    env = make("stacking2", render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (240, 320, 3) and env.render().std() > 20
    assert (env.segments() == FIRST_BLOCK).any() and 0.2 < env.depth().min() < 0.6
    env.close()


def test_without_opengl_it_says_so_once(monkeypatch, capsys):
    def fails(meshes, lighting):
        raise RuntimeError("no EGL display")

    monkeypatch.setattr(opening, "GLRenderer", fails)
    monkeypatch.setattr(opening, "_said", set())
    assert [opening.open_renderer(MESHES).name for _ in range(2)] == ["bullet", "bullet"]
    said = capsys.readouterr().err
    assert said.count("OpenGL is not available (no EGL display)") == 1
    with pytest.raises(Problem, match="install libegl1 and libgl1-mesa-dri, or use bullet"):
        opening.open_renderer(MESHES, "moderngl")
    with pytest.raises(Problem, match="did you mean 'bullet'"):
        opening.open_renderer(MESHES, "bulet")


def test_a_forked_child_of_a_process_that_drew_does_not_hang(root):
    """OpenGL's threads are not forked along: the children say so and draw with Bullet."""
    code = (
        "import envs, gymnasium as gym; from envs.trifinger import make; z = make(); z.reset(); z.render(); "
        "v = gym.make_vec('causalwm/TriFingerPushing-v0', num_envs=2, vectorization_mode='async', observation='pixel'); "
        "print(v.reset(seed=0)[0].std() > 20); v.close()"
    )
    gl().close()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, timeout=900)
    assert done.stdout.strip() == "True" and "context='spawn'" in done.stderr


@pytest.mark.slow
def test_torch_can_compile_after_a_picture(root):
    """Optimisers of torch import triton, whose LLVM and the software GL's do not bear one another in the other order."""
    gl().close()
    code = "from envs.trifinger import make; env = make(); env.reset(); env.render(); import torch._dynamo; print('there')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, timeout=900)
    assert done.returncode == 0 and done.stdout.strip() == "there", done.stderr[-1000:]
