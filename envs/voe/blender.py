"""A trial as a script that Blender runs and that needs nothing of ours: meshes, poses of every frame, camera, light; 960 x 540.

    python envs/voe/blender.py barrier 4501 surprising trial.py    # category, number of the trial, version, file
    blender --background --python trial.py -- pictures             # or, with the package bpy:  python trial.py pictures 20 30
Blender 4.1 or later; the arguments of the script are a folder, first and last frame (of 1 to 50; none: all).
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])  # the repository in place of this folder

import json

import numpy as np

from envs.problem import Problem
from envs.voe import shapes
from envs.voe.clip import CATEGORIES, FRAMES, Body, Clip
from envs.voe.scenes import ASIDE, CAMERA, DOWN, HALF_VIEW, RATE
from envs.voe.settings import TRIALS, sample
from envs.voe.simulate import simulate
from envs.whole_files import write_whole

_SCRIPT = '''"""Renders a trial of violation of expectation: blender -b -P <this file> -- <folder> [<first> <last>]"""

import json, math, sys

import bpy

SCENE = json.loads("""@scene@""")
words = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene


def add(name, data, **values):
    made = bpy.data.objects.new(name, data)
    scene.collection.objects.link(made)
    for key, value in values.items():
        setattr(made, key, value)
    return made


def paint(thing, kind, entry, color):
    thing.use_nodes = True
    next(node for node in thing.node_tree.nodes if node.type == kind).inputs[entry].default_value = (*color, 1.0)
    return thing


def solid(name, vertices, faces, color, **values):
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(vertices, [], faces)
    mesh.polygons.foreach_set("use_smooth", [True] * len(faces))
    mesh.set_sharp_from_angle(angle=math.radians(40))
    mesh.materials.append(paint(bpy.data.materials.new(name), "BSDF_PRINCIPLED", "Base Color", color))
    return add(name, mesh, rotation_mode="QUATERNION", **values)


for body in SCENE["bodies"]:
    for number, mesh in enumerate(body["meshes"], 1):
        bends = len(body["meshes"]) > 1  # a mesh for each frame, shown in it alone
        name = f"{body['name']}_{number}" if bends else body["name"]
        made = solid(name, *mesh, body["color"], scale=body["scale"], pass_index=body["segment"])
        for frame, (pose, shown) in enumerate(zip(body["poses"], body["shown"]), 1):
            made.location, made.rotation_quaternion = pose[:3], (pose[6], *pose[3:6])
            made.hide_render = not shown or (bends and frame != number)
            for moved in ("location", "rotation_quaternion", "hide_render"):
                made.keyframe_insert(moved, frame=frame)
solid("ground", [(-100, -100, 0), (100, -100, 0), (100, 100, 0), (-100, 100, 0)], [(0, 1, 2, 3)], (0.8, 0.8, 0.8))

scene.camera = add("camera", bpy.data.cameras.new("camera"), **SCENE["camera"])
scene.camera.data.lens, scene.camera.data.sensor_width = SCENE["lens"]
lamp = bpy.data.lights.new("light", "AREA")
lamp.shape, lamp.size, lamp.size_y, lamp.energy = "RECTANGLE", 7.0, 12.0, 8000.0
add("light", lamp, location=(-11.0, -12.0, 10.0), rotation_euler=(math.radians(40), 0.0, math.radians(-45)))
scene.world = paint(bpy.data.worlds.new("world"), "BACKGROUND", "Color", (0.05, 0.05, 0.05))
scene.frame_start, scene.frame_end = map(int, words[1:3]) if len(words) > 2 else (1, SCENE["frames"])
scene.render.engine, scene.cycles.device, scene.cycles.samples = "CYCLES", "CPU", 32
scene.view_settings.view_transform = "Filmic"
scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = 960, 540, 100
scene.render.fps, scene.render.filepath = SCENE["rate"], f"{words[0] if words else 'pictures'}/"
bpy.ops.render.render(animation=True)
'''


def script(clip: Clip) -> str:
    bodies = [
        {"name": body.name, "segment": body.segment, "color": _linear(body.color), "meshes": _meshes(body, clip),
         "scale": body.scale, "poses": clip.poses[:, i].round(6).tolist(), "shown": clip.shown[:, i].tolist()}
        for i, body in enumerate(clip.bodies)
    ]  # fmt: skip
    found = {"bodies": bodies, "camera": {"location": CAMERA, "rotation_euler": (np.pi / 2 - DOWN, 0.0, -ASIDE)},
             "lens": (18 / HALF_VIEW, 36), "frames": FRAMES, "rate": RATE}  # fmt: skip
    return _SCRIPT.replace("@scene@", json.dumps(found))


def _meshes(body: Body, clip: Clip) -> list:
    """(vertices, faces) of a body: one, or of a cloth one for each frame."""
    found = []
    alone = [] if body.name in clip.cloth else [clip.meshes[body.mesh] if body.mesh in clip.meshes else shapes.mesh(body.mesh)]
    for triangles in clip.cloth.get(body.name, alone):
        vertices, corners = np.unique(triangles.reshape(-1, 3).round(6), axis=0, return_inverse=True)
        found.append((vertices.tolist(), corners.reshape(-1, 3).tolist()))
    return found


def _linear(color) -> list[float]:  # Blender mixes light, and our colours are those of a screen
    return [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in color]


if __name__ == "__main__":
    try:
        category, number, version, path = sys.argv[1:]
        setting = sample(dict(zip(CATEGORIES.values(), CATEGORIES))[category])[range(1, TRIALS + 1).index(int(number))]
        write_whole(Path(path), script(simulate(setting, version).clip))
    except (OSError, ValueError, KeyError, Problem) as error:
        names = ", ".join(CATEGORIES.values())
        sys.exit(f"error: expected one of {names}, a trial (1 to {TRIALS}), a version, a file; got {sys.argv[1:]} ({error})")
