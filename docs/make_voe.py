"""Makes the gallery of violation of expectation: every sub-type in its three versions, as films on one page and as a sheet.

    python docs/make_voe.py

Writes docs/voe_gallery.html, which holds its films itself, and docs/voe_subtypes.png.
"""

import base64
import io
import sys
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path[0] = str(HERE.parent)  # the repository in place of this folder

import numpy as np
from PIL import Image, ImageDraw

from envs.voe.clip import CATEGORIES, FRAMES, SUBTYPES, Version
from envs.voe.features import CLASSES, FEATURES
from envs.voe.labels import label, subtype
from envs.voe.recording import first_seen
from envs.voe.render import Film, Studio
from envs.voe.rules import POSTERIOR, PRIOR
from envs.voe.scenes import RATE
from envs.voe.settings import Setting, sample, trials
from envs.voe.simulate import simulate
from eval.pages.html import page

_TITLES = {
    "A1": "its center of mass is beyond the edge", "A2": "its center of mass is over the support",
    "B1": "lower than the middle of the occluder", "B2": "higher than the middle of the occluder",
    "C1": "small enough for the container", "C2": "too tall, or too wide, for the container",
    "D1": "different sizes, equal speeds", "D2": "equal sizes, equal speeds", "D3": "equal sizes, different speeds",
    "E1": "a soft wall", "E2": "a solid wall", "E3": "a wall with an opening",
}  # fmt: skip
_COLORS = np.array([  # of the segment numbers
    (235, 235, 235), (214, 96, 63), (52, 84, 160), (90, 190, 210), (225, 130, 160), (120, 120, 120), (214, 96, 63),
    (74, 155, 127),
], np.uint8)  # fmt: skip
_NEAR, _FAR = 18.0, 60.0  # scene units that are drawn white and black
_RED = (214, 60, 40)
_STYLE = """<style>.three { display: grid; grid-template-columns: repeat(3, 1fr); gap: 1rem; }
.three img { width: 100%; display: block; border-radius: 4px; } .three td { white-space: normal; }
@media (max-width: 700px) { .three { grid-template-columns: 1fr; } }</style>"""


def chosen() -> dict[str, Setting]:
    """Sub-type -> the setting of its first test trial."""
    found: dict[str, Setting] = {}
    for category in CATEGORIES:
        settings = sample(category)
        for number in trials("test", full=True):
            found.setdefault(subtype(settings[number - 1]), settings[number - 1])
            if {name for name in SUBTYPES if name[0] == category} <= found.keys():
                break
    return found


def seen(film: Film, moment: int) -> list[Image.Image]:
    """Frames of a film: the picture, under it masks and depth; a red bar from the frame in which the violation is seen."""
    half = slice(None, None, 2)
    depth = np.clip(255 * (_FAR - film.depth) / (_FAR - _NEAR), 0, 255).astype(np.uint8)[:, half, half, None].repeat(3, 3)
    frames = np.concatenate([film.rgb, np.concatenate([_COLORS[film.masks[:, half, half]], depth], 2)], 1)
    if moment >= 0:
        frames[moment:, :3] = _RED
    return [Image.fromarray(frame) for frame in frames]


def as_data(frames: list[Image.Image]) -> str:
    """An animated WebP as the address of an image."""
    file = io.BytesIO()
    frames[0].save(file, "WEBP", save_all=True, append_images=frames[1:], duration=1000 // RATE, loop=0, quality=55, method=3)
    return "data:image/webp;base64," + base64.b64encode(file.getvalue()).decode()


def rules(labels: dict, expected: dict) -> str:
    """The rules that the category has, those in bold that differ from the expected version."""
    rows = []
    for kind, names in (("prior", PRIOR), ("posterior", POSTERIOR)):
        for name, answer, usual in zip(names, labels[kind], expected[kind]):
            if answer < 2:
                word = ("no", "yes")[answer]
                word = f"<b>{word}</b>" if answer != usual else word
                rows.append(f'<tr><td class="text">{escape(name.replace("_", " "))}?</td><td>{word}</td></tr>')
    return f'<table class="soft">{"".join(rows)}</table>'


def described(setting: Setting, labels: dict) -> str:
    """The features of a trial in a line."""
    words = []
    for name, value, relevant in zip(FEATURES, labels["features"], labels["relevant"]):
        if relevant and name not in CLASSES:
            words.append(f"{name.replace('_', ' ')} {value:.2g}")
    return f"trial {setting.trial}, {setting.shape or f'{setting.left_shape} and {setting.right_shape}'}; " + ", ".join(words)


def gallery(studio: Studio, height: int = 180, width: int = 320) -> tuple[str, np.ndarray]:
    """The page, and the sheet (H, W, 3): a row for each sub-type, four frames of each version."""
    sections, rows = [], []
    for name, setting in sorted(chosen().items()):
        cells, strip, first = [], [], None
        for version in Version:
            clip = simulate(setting, version).clip
            film, labels = studio.draw(clip, height, width), label(setting, clip)
            first = first or (clip, labels)
            moment = first_seen(studio, first[0], clip, film)
            when = "" if moment < 0 else f", first seen in frame {moment}"
            cells.append(f'<figure><figcaption>{version}{when}</figcaption><img alt="{name}, {version}" src="'
                         f'{as_data(seen(film, moment))}">{rules(labels, first[1])}</figure>')  # fmt: skip
            strip.append((version, moment, film))
        shown = sorted({8, min(strip[1][1] + 2, FRAMES - 8), (strip[1][1] + FRAMES) // 2, FRAMES - 1})
        rows.append(row(name, strip, shown))
        category = CATEGORIES[name[0]]
        title, about = f"{name}, {category}: {_TITLES[name]}", escape(described(setting, first[1]))
        sections.append(f'<h2>{title}</h2><p class="soft">{about}</p><div class="three">{"".join(cells)}</div>')
        print(f"{name} drawn", flush=True)
    wide = max(one.shape[1] for one in rows)
    sheet = np.concatenate([_as_wide(one, wide) for one in rows])
    text = ("<h1>Violation of expectation: twelve sub-types, three versions</h1><p>Under each picture: its segments, and its "
            "depth. A red bar marks the frames from the first on that is seen to differ from the expected version. Bold "
            "answers differ from the expected version's.</p>")  # fmt: skip
    return page("Violation of expectation", text + "".join(sections), wide=True, head=_STYLE), sheet


def _as_wide(image: np.ndarray, width: int) -> np.ndarray:
    """White at its right."""
    return np.pad(image, ((0, 0), (0, width - image.shape[1]), (0, 0)), constant_values=255)


def row(name: str, strip: list, shown: list[int]) -> np.ndarray:
    """Frames of the versions side by side, each with its title."""
    parts = []
    for version, moment, film in strip:
        for frame in shown:
            image = Image.fromarray(film.rgb[frame][::2, ::2])
            draw = ImageDraw.Draw(image)
            late = moment >= 0 and frame >= moment
            draw.text((4, 2), f"{name} {version} {frame}", fill=_RED if late else (30, 40, 50))
            parts.append(np.pad(np.asarray(image), ((2, 2), (2, 2), (0, 0)), constant_values=255))
        parts.append(np.full((parts[0].shape[0], 8, 3), 255, np.uint8))
    return np.concatenate(parts[:-1], 1)


if __name__ == "__main__":
    html, sheet = gallery(Studio())
    (HERE / "voe_gallery.html").write_text(html)
    Image.fromarray(sheet).save(HERE / "voe_subtypes.png", optimize=True)
