"""How fast clips of violation of expectation are drawn and recorded, and what they take on the disk: prints JSON.

    python benchmarks/voe.py
    python benchmarks/voe.py drawing          only some of: drawing, recording

drawing: frames for each second of one core, with color, depth and masks, over the first test trials of all categories.
recording: `envs/collect.py` in one process: simulation, drawing, labels and packing of each category in each version, from
which follow the 10 % set (2,500 trials in three versions of 50 frames) in minutes on two cores, and its size. Seconds are those
of the processor, a software OpenGL's threads with them: other work on a shared machine adds none.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the repository in place of this folder

import tempfile
import time

import psutil

from benchmarks.floors import helped, report
from envs.collect import collect
from envs.voe.clip import CATEGORIES, FRAMES, Version
from envs.voe.render import Studio
from envs.voe.settings import sample
from envs.voe.simulate import simulate
from envs.voe.source import VoeSource

FLOORS = {
    "frames_per_s": (">=", 45), "set_minutes_on_two_cores": ("<=", 75), "set_gb": ("<=", 3),
}  # fmt: skip
_CLIPS = 4  # of each category, and of each version
_SET = 2500 * len(Version)


def drawing() -> dict:
    """Frames for each second of one core: 112 x 112 and 960 x 540."""
    studio = Studio()
    clips = [
        simulate(setting, Version.EXPECTED).clip for category in CATEGORIES for setting in sample(category)[4500:][:_CLIPS]
    ]
    studio.draw(clips[0], 112, 112, range(2))
    start = time.process_time()
    for clip in clips:
        studio.draw(clip, 112, 112)
    small = len(clips) * FRAMES / (time.process_time() - start)
    start = time.process_time()
    for clip in clips[::_CLIPS]:
        studio.draw(clip, 540, 960, range(0, FRAMES, 10))
    large = len(CATEGORIES) * FRAMES / 10 / (time.process_time() - start)
    studio.close()
    return {"renderer": studio.drawn_by, "frames_per_s": small, "frames_per_s_960x540": large}


def recording() -> dict:
    """Seconds and bytes of a clip."""
    seconds, size, found = [], [], {}
    with tempfile.TemporaryDirectory() as folder:
        for category in CATEGORIES.values():
            world = VoeSource(category, workers=1)
            world.record(
                {"segment": "test", "version": "expected", "length": 1}, None, 1
            )  # settings are drawn, OpenGL is opened
            for version in Version:
                split = {"episodes": _CLIPS, "length": FRAMES - 1, "seed": 1, "segment": "test", "version": version.value}
                start = time.process_time()
                file = collect({"name": category, "splits": {"test": split}}, world, "test", folder, quiet=True)
                seconds.append((time.process_time() - start) / _CLIPS)
                size.append(file.path.stat().st_size / _CLIPS)
                found[f"{category}_{version}_s"] = seconds[-1]
                file.path.unlink()
    mean, each = sum(seconds) / len(seconds), sum(size) / len(size)
    return {
        **found, "clip_s": mean, "clip_kb": each / 1e3, "set_minutes_on_two_cores": mean * _SET / 2 / 60,
        "set_gb": each * _SET / 1e9, "memory_mb": psutil.Process().memory_info().rss / 2**20,
    }  # fmt: skip


PARTS = {"drawing": drawing, "recording": recording}


if __name__ == "__main__":
    if not helped(sys.argv[1:], __doc__):
        report(PARTS, FLOORS, sys.argv[1:], {})
