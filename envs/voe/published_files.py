"""The files of one published trial: video, depth, instances, labels, poses. What is wrong with one is told in a sentence."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from envs.problem import Problem, lacking, nearest
from envs.voe.clip import FRAMES, OBJECT, SHAPES
from envs.voe.features import FEATURES, RELEVANT
from envs.voe.rules import IRRELEVANT, POSTERIOR_OF, PRIOR_OF, prior_rules
from envs.voe.scenes import RATE
from envs.voe.settings import CONTAINER_SHAPES, published

FOLDERS = {
    "A": "A_support", "B": "B_occlusion", "C": "C_container", "D": "D_collision", "E": "E_barrier",
}  # fmt: skip
SEGMENTS = {"train": "train", "valid": "validation", "test": "test"}
MANIFEST = "manifest.json"  # of a category, in folders that `envs/voe/publishing.py` wrote
OBJECT_OF_B = 6  # the number of B's object in masks; here it is that of all objects
PRIOR = (  # as the files spell them
    "does_object_have_majority_contact_proportion", "does_object_have_majority_volume_proportion",
    "is_object_taller_than_middle", "is_object_taller_than_container", "is_object_thinner_than_container",
    "is_right_object_larger", "are_both_objects_same_size", "is_right_object_faster", "are_both_objects_same_speed",
    "is_there_an_opening", "is_the_blocker_soft",
    "is_the_object_thinner_than_the_opening", "is_the_object_shorter_than_the_opening",
)  # fmt: skip
POSTERIOR = (
    "does_support_hold_object", "see_object_in_middle", "did_the_object_fit", "did_the_object_protrude",
    "did_right_object_change_direction", "did_left_object_change_direction", "did_right_object_increase_speed_magnitude",
    "did_left_object_increase_speed_magnitude", "did_the_object_pass_through_the_wall",
)  # fmt: skip
_SPELT = {"did_the_object_protude": "did_the_object_protrude"}  # as released
_VELOCITIES = tuple(f"{side}_{when}_velocity" for side in ("left", "right") for when in ("prior", "posterior"))
CLASSES_SAID = {  # feature -> its classes, in the order of their numbers; the number after the last: irrelevant
    **dict.fromkeys(("object_shape", "left_shape", "right_shape"), SHAPES), "container_shape": CONTAINER_SHAPES,
    **dict.fromkeys(("wall_opening", "wall_soft"), (False, True)),
    **dict.fromkeys([name for name in FEATURES if name.endswith("direction")], ("left", "right")),
}  # fmt: skip


def _opencv():
    try:
        import cv2
    except ModuleNotFoundError as error:
        raise lacking("opencv-python-headless", "VoE", "voe") from error
    return cv2


def save_video(path: Path, frames: np.ndarray) -> None:
    """Lossless. frames (T, H, W, 3) uint8.  Raises Problem where it does not come back as it was."""
    cv2 = _opencv()
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"FFV1"), RATE, frames.shape[2:0:-1])
    for frame in frames:
        writer.write(np.ascontiguousarray(frame[..., ::-1]))
    writer.release()
    if not path.is_file() or not np.array_equal(video(path), frames):
        raise Problem(f"{path} could not be written as a lossless video (FFV1); free some space, or install another build of "
                      f"'opencv-python-headless'")  # fmt: skip


def video(path: Path) -> np.ndarray:
    """(FRAMES, H, W, 3) uint8."""
    cv2 = _opencv()
    if not path.is_file():
        raise Problem(f"{path} does not exist: a published trial has its video there")
    opened, frames = cv2.VideoCapture(str(path)), []
    while True:
        there, frame = opened.read()
        if not there:
            break
        frames.append(frame[..., ::-1])
    opened.release()
    if not frames:
        raise Problem(f"{path} cannot be read as a video")
    if len(frames) != FRAMES:
        raise Problem(f"{path} has {len(frames)} frames, a published video has {FRAMES}")
    return np.stack(frames)


def volume(path: Path) -> np.ndarray:
    """(FRAMES, H, W) uint8 or uint16, of an npz file that holds (H, W, FRAMES)."""
    try:
        with np.load(path, allow_pickle=False) as file:
            found = file["arr_0"]
    except Exception as error:  # zip, numpy and pickle raise what they like
        raise Problem(f"{path} cannot be read as the array 'arr_0' of an npz file ({error})") from error
    if found.dtype not in (np.uint8, np.uint16):
        raise Problem(f"{path} holds {found.dtype}, a published one whole numbers of one byte, or of two (uint8, uint16)")
    if found.ndim != 3 or found.shape[2] != FRAMES:
        raise Problem(f"{path} has shape {found.shape}, a published one is height x width x {FRAMES} frames")
    return np.moveaxis(found, 2, 0)


def scene(path: Path) -> dict:
    """`scene_data.json`, its frames checked."""
    data = read_json(path)
    frames = data.get("frame")
    if not isinstance(frames, dict) or sorted(frames, key=str) != sorted(map(str, range(1, FRAMES + 1))):
        raise Problem(
            f"{path} has poses of {len(frames) if isinstance(frames, dict) else 'no'} frames, a published one of 1 to {FRAMES}"
        )
    for number, entities in frames.items():
        if not (isinstance(entities, dict) and all(map(_is_placed, entities.values()))):
            raise Problem(
                f"{path} places something in frame {number} without x, y, z of its 'Pose' and 'Orientation' in numbers"
            )
    known = data.get("instance", {})
    if not (isinstance(known, dict) and all(key.isdecimal() and int(key) < 256 for key in known)):
        raise Problem(f"{path} has instances {str(known)[:80]}, expected a mapping of numbers from 0 to 255")
    first = data.get("first_frame_that_differs", -1)  # of our own files
    if not isinstance(first, int) or not -1 <= first < FRAMES:
        raise Problem(f"{path} has first_frame_that_differs {first!r}, expected -1 or the number of a frame below {FRAMES}")
    return data


def _is_placed(place) -> bool:
    """Whether an entity has a position and an orientation."""
    parts = [place.get(kind) for kind in ("Pose", "Orientation")] if isinstance(place, dict) else [None]
    return all(isinstance(part, dict) and all(_is_number(part.get(axis)) for axis in "xyz") for part in parts)


def instances(volume: np.ndarray, data: Mapping, category: str) -> np.ndarray:
    """Numbers that went through JPEG -> the nearest number that the scene has; the object of B, 6 there, is 1 here."""
    known = np.array(sorted({0, *(int(number) for number in data.get("instance", {}))}))
    ids = known[np.abs(np.arange(256)[:, None] - known).argmin(1)].astype(np.uint8)
    if category == "B":
        ids[ids == OBJECT_OF_B] = OBJECT
    return ids[volume]


def labels(path: Path, category: str, trial: int, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`physical_data.json` -> features (24,) float32, prior (13,) int8, posterior (9,) int8.

    kind: released, what the files say; ours, with their known faults mended (see `_mended`).
    """
    data = read_json(path)
    groups = {name: data.get(name) for name in ("features", "prior_rules", "posterior_rules")}
    for name in (*groups, *data):
        if not isinstance(groups.get(name), dict):
            raise Problem(f"{path} has the keys {', '.join(data)}, expected {', '.join(groups)} and a mapping in each of them")
    said = {**FEATURES, **_features(groups["features"], path)}
    prior, posterior = _rules(groups["prior_rules"], PRIOR, path), _rules(groups["posterior_rules"], POSTERIOR, path)
    if unsaid := _unsaid(category, said, prior, posterior):
        raise Problem(f"{path} does not say '{unsaid[0]}', which trials of {FOLDERS[category]} have")
    try:
        if kind == "ours":
            prior, posterior = _mended(category, trial, said, posterior)
    except IndexError as error:
        raise Problem(f"{path} is of trial {trial}, and there are no settings of that number") from error
    return np.array([said[name] for name in FEATURES], np.float32), prior, posterior


def _unsaid(category: str, said: dict, prior: np.ndarray, posterior: np.ndarray) -> list[str]:
    """What a trial of a category says, and this one does not. A rule without an answer is not the same as an irrelevant one."""
    left_out = {"opening_width", "opening_height", *PRIOR[11:13]} if said["wall_opening"] == 0 else set()  # a wall without one
    lacking = [name for number, name in enumerate(FEATURES) if number in RELEVANT[category] and said[name] == FEATURES[name]]
    for names, answers, own in ((PRIOR, prior, PRIOR_OF), (POSTERIOR, posterior, POSTERIOR_OF)):
        lacking += [names[number] for number in own[category] if answers[number] == IRRELEVANT]
    return [name for name in lacking if name not in left_out]


def _features(given: Mapping, path: Path) -> dict[str, float]:
    """Feature of the file -> number; signed velocities as speeds and directions."""
    found = {}
    for name, value in given.items():
        if name in _VELOCITIES:
            stem = name.removesuffix("_velocity")
            found |= {
                f"{stem}_speed": abs(_number(value, name, path)),
                f"{stem}_direction": int(_number(value, name, path) >= 0),
            }
        elif name not in FEATURES or name.endswith(("speed", "direction")):
            raise Problem(f"{path} has an unknown feature '{name}': {nearest(name, {*FEATURES, *_VELOCITIES})}")
        elif name in CLASSES_SAID:
            word = value.lower() if isinstance(value, str) else bool(value)
            if word not in CLASSES_SAID[name]:
                raise Problem(f"{path} has {name} {value!r}: {nearest(str(value), map(str, CLASSES_SAID[name]))}")
            found[name] = CLASSES_SAID[name].index(word)
        else:
            found[name] = _number(value, name, path)
    return found


def _rules(given: Mapping, known: tuple[str, ...], path: Path) -> np.ndarray:
    """(n,) int8: 0 no, 1 yes, 2 irrelevant."""
    found = np.full(len(known), 2, np.int8)
    for key, value in given.items():
        name = key.removesuffix("?")
        name = _SPELT.get(name, name)
        if name not in known:
            raise Problem(f"{path} has an unknown rule '{key}': {nearest(name, known)}")
        if not isinstance(value, bool):
            raise Problem(f"{path} answers '{key}' with {value!r}, expected true or false")
        found[known.index(name)] = value
    return found


def _is_number(value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def _number(value, name: str, path: Path) -> float:
    if not _is_number(value):
        raise Problem(f"{path} has {name} {value!r}, expected a number")
    return float(value)


def _mended(category: str, trial: int, said: dict, posterior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Prior and posterior rules without the known faults of the files; mends `said` in place.

    Prior rules are those of our own definitions, from the features alone.  A: the files say whether the object fell where they
    ask whether it is held.  C: the files give the container's height for its width, which the settings know.
    """
    if category == "C":
        said["container_width"] = published("C")[trial - 1].container_width
    if category == "A":
        posterior = posterior.copy()
        posterior[0] = 1 - posterior[0] if posterior[0] < 2 else 2
    return prior_rules(said).astype(np.int8), posterior


def read_json(path: Path) -> dict:
    """A mapping. Raises Problem where there is none."""
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise Problem(f"{path} cannot be read as JSON ({error})") from error
    if not isinstance(data, dict):
        raise Problem(f"{path} holds no mapping")
    return data
