"""Scripts for Blender: with a stub in its place they make the objects, the poses of 50 frames, the camera and the light."""

import sys
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

pytest.importorskip("pybullet")
from envs.voe import blender  # noqa: E402
from envs.voe.scenes import CAMERA  # noqa: E402
from envs.voe.settings import published  # noqa: E402
from envs.voe.simulate import simulate  # noqa: E402


def run(text, monkeypatch, *words):
    """The stub, after the script: its objects by their names, each with the poses that it was given."""
    bpy, made = MagicMock(), {}
    bpy.data.materials.new.return_value.node_tree.nodes = [MagicMock(type="BSDF_PRINCIPLED")]
    bpy.data.worlds.new.return_value.node_tree.nodes = [MagicMock(type="BACKGROUND")]

    def new(name, data):
        one = SimpleNamespace(name=name, data=data, keys={})  # what was keyed: property -> frame -> value
        one.keyframe_insert = lambda key, frame: one.keys.setdefault(key, {}).__setitem__(frame, getattr(one, key))
        return made.setdefault(name, one)

    bpy.data.objects.new.side_effect = new
    monkeypatch.setitem(sys.modules, "bpy", bpy)
    monkeypatch.setattr(sys, "argv", ["trial.py", *words])
    exec(compile(text, "trial.py", "exec"), {})
    return bpy, made


def test_a_collision(monkeypatch):
    clip = simulate(published("D")[0], "surprising").clip
    bpy, made = run(blender.script(clip), monkeypatch, "blender", "--", "out", "3", "7")
    assert made.keys() == {"left", "right", "ground", "camera", "light"}
    for i, name in enumerate(("left", "right")):
        poses = np.stack([clip.poses[:, i, :3], np.array([made[name].keys["location"][frame] for frame in range(1, 51)])])
        assert np.allclose(poses[0], poses[1], atol=1e-6) and len(made[name].keys["location"]) == 50
        turns = np.array([made[name].keys["rotation_quaternion"][frame] for frame in range(1, 51)])
        assert np.allclose(turns[:, [1, 2, 3, 0]], clip.poses[:, i, 3:], atol=1e-6)  # w first
        assert made[name].scale == list(clip.bodies[i].scale) and not any(made[name].keys["hide_render"].values())
    scene = bpy.context.scene
    assert (scene.frame_start, scene.frame_end, scene.render.resolution_x, scene.render.fps) == (3, 7, 960, 24)
    assert scene.render.filepath == "out/" and bpy.ops.render.render.call_args.kwargs == {"animation": True}
    camera = made["camera"]
    assert camera.location == list(CAMERA) and (camera.data.lens, camera.data.sensor_width) == pytest.approx((50, 36))
    assert np.degrees(camera.rotation_euler) == pytest.approx([71.6, 0, -16.4])


def test_a_curtain_has_a_mesh_for_each_frame(monkeypatch):
    setting = next(setting for setting in published("E") if setting.barrier == "soft")
    _, made = run(blender.script(simulate(setting, "expected").clip), monkeypatch)
    curtains = [made[f"wall_{number}"] for number in range(1, 51)]
    for number, one in enumerate(curtains, 1):
        assert [frame for frame, hidden in one.keys["hide_render"].items() if not hidden] == [number]
    assert "occluder" in made and len(made) == 50 + 5


def test_what_is_asked_for_is_written_or_refused(root, command_here, tmp_path):
    path = tmp_path / "trial.py"
    assert command_here(root / "envs/voe/blender.py", "collision", "4501", "expected", str(path), cwd=tmp_path).returncode == 0
    compile(path.read_text(), str(path), "exec")
    for words, sentence in (
        ("colision 1 expected x", "expected one of support,"), ("collision 1 expected", "got ['collision', '1', 'exp"),
        ("collision 5001 expected x", "a trial (1 to 5000)"), ("collision 1 expcted x", "did you mean 'expected'"),
        ("collision one expected x", "got ['collision', 'one'"),
    ):  # fmt: skip
        done = command_here(root / "envs/voe/blender.py", *words.split(), cwd=tmp_path)
        assert done.returncode == 1 and sentence in done.stderr and done.stderr.startswith("error: ")
    assert [one.name for one in tmp_path.iterdir()] == ["trial.py"]
