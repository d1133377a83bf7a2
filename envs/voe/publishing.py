"""Writes clips as folders in the layout of the published set, which `envs/voe/published.py` reads.

Unlike in the published files, video, depth and instances are lossless; depth is uint16 in steps of 1/512 of a scene unit, and
theirs is uint8 in whole ones; labels have none of the known faults, and `manifest.json` says so to readers.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from rich.progress import track
from scipy.spatial.transform import Rotation

from envs.episodes import EpisodeFile
from envs.problem import Problem
from envs.voe import published_files as files
from envs.voe.clip import FRAMES, OBJECT, Version
from envs.voe.features import CLASSES, FEATURES, RELEVANT
from envs.voe.recording import DEPTH_STEP
from envs.voe.scenes import COLORS, RATE
from envs.voe.settings import CONTAINER_SHAPES
from envs.voe.table import COLUMNS, ENTITIES, KINDS

NEEDED = (
    "pixels", "depth", "mask", "objects", "label_trial", "label_features", "label_prior", "label_posterior", "label_violation",
)  # fmt: skip
_WORDS = {
    "cube": "red", "cylinder": "lime", "torus": "orange", "sphere": "yellow", "cone": "green", "side_cylinder": "black",
    "inverted_cone": "purple", "support": "gray", "container": "pink", "occluder": "cyan", "middle": "cyan", "wall": "blue",
}  # fmt: skip


def publish(splits: Sequence[EpisodeFile], to: str | Path) -> Path:
    """The folder of the category in `to`, with the trials of these files. Nothing is left there unless it is complete.

    Raises Problem where the folder is there already, and where a file has no depth or masks, or not all frames of its clips.
    """
    for file in splits:
        _check(file)
    places = [folder_of(file.header) for file in splits]
    for place in {place for place in places if places.count(place) > 1}:
        raise Problem(f"several of the splits belong in {place}; name one of them with split=")
    category = splits[0].header["category"]
    home = Path(to) / files.FOLDERS[category]
    with _whole(home) as part:
        for file in splits:
            where = folder_of(file.header)
            for clip in track(_clips(file), f"publishing {where}", len(file)):
                trial = part / where / f"trial_{int(clip['label_trial'][0])}"
                trial.mkdir(parents=True)
                write(trial, category, clip, file.header)
        for name in files.SEGMENTS.values():
            _annotate(part, home.name, name)
        (part / files.MANIFEST).write_text(json.dumps(_manifest(category, splits), indent=1) + "\n")
    return home


def folder_of(header: Mapping) -> Path:
    """test/surprising: of the trials of a file, in the folder of their category."""
    return Path(files.SEGMENTS[header["segment"]]) / header["version"]


def write(home: Path, category: str, clip: Mapping[str, np.ndarray], header: Mapping) -> None:
    """The five files of a trial. clip: columns of its FRAMES rows."""
    masks = clip["mask"]
    if category == "B":
        masks = np.where(masks == OBJECT, files.OBJECT_OF_B, masks).astype(np.uint8)
    files.save_video(home / "rgb.avi", clip["pixels"])
    for name, frames in (("depth_raw", clip["depth"]), ("inst_raw", masks)):
        np.savez_compressed(home / f"{name}.npz", np.moveaxis(frames, 0, 2))
    labels = physical(category, *(clip[f"label_{name}"][0] for name in ("features", "prior", "posterior")))
    (home / "physical_data.json").write_text(json.dumps(labels, indent=1))
    (home / "scene_data.json").write_text(json.dumps(scene(category, clip, header)))


def physical(category: str, features: np.ndarray, prior: np.ndarray, posterior: np.ndarray) -> dict:
    """features (24,), prior (13,), posterior (9,)  ->  what the files say of them; what is irrelevant is left out."""
    names, found = list(FEATURES), {}
    own = {names[i]: features[i].item() for i in RELEVANT[category]}
    for name, value in own.items():
        if name.endswith("direction"):
            continue  # of signed velocities
        if name.endswith("speed"):
            stem = name.removesuffix("_speed")
            found[f"{stem}_velocity"] = value if own[f"{stem}_direction"] else -value
        elif name in files.CLASSES_SAID:
            word = files.CLASSES_SAID[name][int(value)]
            found[name] = word.title() if isinstance(word, str) and word not in CONTAINER_SHAPES else word
        elif name not in CLASSES:
            found[name] = value
    rules = {"prior_rules": _answers(files.PRIOR, prior), "posterior_rules": _answers(files.POSTERIOR, posterior)}
    return {"features": found, **rules}


def _answers(names: Sequence[str], rules: np.ndarray) -> dict[str, bool]:
    return {f"{name}?": bool(answer) for name, answer in zip(names, rules.tolist()) if answer < 2}


def scene(category: str, clip: Mapping[str, np.ndarray], header: Mapping) -> dict:
    """Poses of all entities in every frame, and what the numbers of the instances are."""
    table, shapes = clip["objects"].astype(float), _shapes(category, clip["label_features"][0])
    frames: dict[str, dict] = {str(frame + 1): {} for frame in range(FRAMES)}
    instance = {"0": {"type": "ground", "colour": "white"}}
    for row, entity in enumerate(ENTITIES[category]):
        of_row = table[:, row]
        if not of_row[0, COLUMNS["kind"]].any():  # a trial without it
            continue
        axes = of_row[:, COLUMNS["axes"]].reshape(FRAMES, 2, 3).transpose(0, 2, 1)
        turns = np.concatenate([axes, np.cross(axes[..., 0], axes[..., 1])[..., None]], 2)
        angles = Rotation.from_matrix(turns).as_euler("xyz").round(6).tolist()
        for frame, place, angle in zip(frames, of_row[:, COLUMNS["position"]].round(6).tolist(), angles):
            name = f"{entity.title()}_Object" if entity in ("left", "right") else entity.title()
            frames[frame][name] = {"Pose": dict(zip("xyz", place)), "Orientation": dict(zip("xyz", angle))}
        number = KINDS[int(of_row[0, COLUMNS["kind"]].argmax())]
        number = files.OBJECT_OF_B if (category, number) == ("B", OBJECT) else number
        instance.setdefault(str(number), _looks(entity, shapes.get(entity), header.get("colors") == "by_shape"))
    violated = int(clip["label_violation"][0])
    return {
        "trial_num": int(clip["label_trial"][0]), "dataset_segment": files.SEGMENTS[header["segment"]],
        "violation": header["version"] == Version.SURPRISING, "first_frame_that_differs": violated, "frame": frames,
        "instance": instance,
    }  # fmt: skip


def _shapes(category: str, features: np.ndarray) -> dict[str, str]:
    """Entity -> its shape, of those that have one."""
    said = dict(zip(FEATURES, features.tolist()))
    return {
        entity: files.CLASSES_SAID[f"{entity}_shape"][int(said[f"{entity}_shape"])]
        for entity in ENTITIES[category] if f"{entity}_shape" in said
    }  # fmt: skip


def _looks(entity: str, shape: str | None, by_shape: bool) -> dict[str, str]:
    """Colours drawn at random are in the video alone."""
    name = entity if entity == "container" or shape is None else shape
    if name == shape and not by_shape:
        return {"type": shape}
    color = COLORS.get(name, COLORS["occluder"])
    told = bytes(round(255 * one) for one in color).hex()
    return {"type": shape or entity, "colour": _WORDS[name], "colour_hex": f"#{told}"}


def _check(file: EpisodeFile) -> None:
    lacking = [name for name in NEEDED if name not in file.columns]
    if lacking:
        raise Problem(f"{file.path} has no column '{lacking[0]}', which the published layout has; collect it with "
                      f"env.world.record_depth=true env.world.record_mask=true")  # fmt: skip
    if (file.ep_len != FRAMES).any():
        raise Problem(f"{file.path} has clips of {int(file.ep_len.min())} frames, a published one has {FRAMES}; "
                      f"collect it with length={FRAMES - 1} of its split")  # fmt: skip


def _clips(file: EpisodeFile) -> Iterator[dict[str, np.ndarray]]:
    """Columns (FRAMES, ...) of each clip in turn; a block of them is in memory."""
    for parts in zip(*(file.blocks(name) for name in NEEDED), strict=True):
        block = dict(zip(NEEDED, parts))
        for start in range(0, len(parts[0]), FRAMES):
            yield {name: values[start : start + FRAMES] for name, values in block.items()}


@contextmanager
def _whole(home: Path) -> Iterator[Path]:
    """A folder to write into, which gets its name when all is written, and is removed when something fails."""
    if home.exists():
        raise Problem(f"{home} is there already; choose another folder with to=, or remove it")
    home.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{home.name}.", suffix=".part", dir=home.parent))
    try:
        yield part
        part.chmod(0o755)  # that of a temporary folder is closed to others
        part.rename(home)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _annotate(home: Path, category: str, segment: str) -> None:
    """A line for each trial: its folder, and 100 where it surprises, else 0. Controls have a list of theirs."""
    trials: dict[int, dict[Version, str]] = {}
    for version in Version:
        for path in (home / segment / version).glob("trial_*"):
            line = f"{category}/{segment}/{version}/{path.name} {100 if version == Version.SURPRISING else 0}\n"
            trials.setdefault(int(path.name.removeprefix("trial_")), {})[version] = line
    pair = (Version.EXPECTED, Version.SURPRISING)
    for name, versions in ((segment, pair), (f"{segment}_control", (Version.CONTROL,))):
        lines = [trials[trial][one] for trial in sorted(trials) for one in versions if one in trials[trial]]
        if lines:
            (home / f"{name}.txt").write_text("".join(lines))


def _manifest(category: str, splits: Sequence[EpisodeFile]) -> dict:
    versions = [version.value for version in Version if any(file.header["version"] == version for file in splits)]
    return {
        "layout": 1, "category": category, "versions": versions, "frames_a_second": RATE, "depth_step": DEPTH_STEP,
        "preset": splits[0].header.get("preset"), "seed": splits[0].header.get("settings_seed", 0),
        "labels": "without the faults of the released ones",
        "parts": {str(folder_of(file.header)): {"trials": len(file), "made_with": file.header} for file in splits},
    }  # fmt: skip
