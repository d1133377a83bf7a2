"""The robot's description: the URDF of `robot_properties_fingers`, changed to CausalWorld's mounting, with meshes or capsules.

Differences from the package's file (edu): the fingers hang at .34 m in place of .283, and the finger bases have no
collision shapes; both as in CausalWorld.
"""

import math
import os
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from envs.problem import Problem, lacking, nearest
from envs.trifinger.robot.hulls import hull_obj

# Capsules in place of collision meshes: link -> axis, ends along it, the other two coordinates, radius (metres, in the
# frame of the mesh). Read off the meshes' cross-sections; ends and tips agree within a millimetre.
_CAPSULES = {
    "edu": {
        "upper_link": ("x", -0.1994, 0.0, (0.0055, 0.0), 0.0215),
        "middle_link": ("z", -0.182, 0.0155, (0.0, -0.018), 0.0195),
        "lower_link": ("z", -0.1695, 0.014, (0.0, -0.008), 0.0105),
    },
    "pro": {
        "prox-sim": ("y", 0.0235, 0.2404, (0.0, 0.0), 0.0235),
        "int_sim": ("z", -0.1837, 0.022, (0.0305, 0.0), 0.022),
        "tip_link_sim": ("z", -0.1385, 0.022, (0.019, 0.0), 0.0115),
        "tip_sim": ("z", -0.010, 0.0215, (0.0, 0.0), 0.010),
    },
}
_UPRIGHT = {"x": (0.0, math.pi / 2, 0.0), "y": (math.pi / 2, 0.0, 0.0), "z": (0.0, 0.0, 0.0)}
_FILES = {"edu": "urdf/edu/trifingeredu.urdf", "pro": "urdf/pro/trifingerpro.urdf"}
_MOUNT = {"edu": 0.34, "pro": 0.29}  # metres from the ground to the fingers' first joints
_PACKAGE = "package://robot_properties_fingers"
COLLISIONS = ("mesh", "primitive")


def package_folder() -> Path:
    """Where `robot_properties_fingers` lies; a Problem where it is not installed."""
    spec = find_spec("robot_properties_fingers")
    if spec is None:
        raise lacking("robot_properties_fingers")
    return Path(next(iter(spec.submodule_search_locations)))


def write_urdf(path: str | os.PathLike, model: str = "edu", collision: str = "mesh") -> None:
    """The changed description, its meshes named by absolute paths.

    model: edu (TriFinger Edu, CausalWorld's) | pro.  collision: mesh (convex hulls of the links' meshes, which are written
    beside the file) | primitive (a capsule for each, about twice as fast).
    """
    tree = _mounted(model)
    if collision not in COLLISIONS:
        raise Problem(f"there is no collision '{collision}': {nearest(str(collision), COLLISIONS)}")
    folder = package_folder()
    for link in tree.iter("link"):
        for shape in link.findall("collision"):
            if link.get("name").startswith("finger_base_link") or shape.find("geometry/mesh") is None:
                link.remove(shape)
            elif collision == "primitive":
                _as_capsule(shape, _CAPSULES[model][Path(shape.find("geometry/mesh").get("filename")).stem])
            else:
                mesh = shape.find("geometry/mesh")
                source = Path(mesh.get("filename").replace(_PACKAGE, str(folder)))
                slim = Path(path).with_name(source.stem + ".obj")
                slim.write_text(hull_obj(source))
                mesh.set("filename", str(slim))
    for mesh in tree.iter("mesh"):
        mesh.set("filename", mesh.get("filename").replace(_PACKAGE, str(folder)))
    tree.write(path)


@contextmanager
def urdf_file(model: str = "edu", collision: str = "mesh") -> Iterator[Path]:
    """`write_urdf` into a folder that is there for as long as somebody reads it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        write_urdf(path, model, collision)
        yield path


def bare_urdf(model: str = "edu") -> str:
    """The changed description without what collides, for who asks where links are alone."""
    root = _mounted(model).getroot()
    for link in root.iter("link"):
        for shape in link.findall("collision"):
            link.remove(shape)
    return ET.tostring(root, encoding="unicode")


def _mounted(model: str) -> ET.ElementTree:
    if model not in _FILES:
        raise Problem(f"there is no robot '{model}': {nearest(str(model), _FILES)}")
    tree = ET.parse(package_folder() / _FILES[model])
    for joint in tree.iter("joint"):
        if joint.get("name") == "base_to_trifinger_base_joint":
            joint.find("origin").set("xyz", f"0 0 {_MOUNT[model]}")
    return tree


def _as_capsule(shape: ET.Element, fit: tuple) -> None:
    axis, start, end, others, radius = fit
    along = "xyz".index(axis)
    middle = [*others[:along], (start + end) / 2, *others[along:]]
    origin, geometry = shape.find("origin"), shape.find("geometry")
    offset = [float(x) for x in origin.get("xyz").split()]
    origin.set("xyz", " ".join(str(a + b) for a, b in zip(offset, middle)))
    origin.set("rpy", " ".join(map(str, _UPRIGHT[axis])))
    geometry.remove(geometry.find("mesh"))
    ET.SubElement(geometry, "capsule", radius=str(radius), length=str(end - start - 2 * radius))
