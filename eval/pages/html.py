"""A calm, self-contained HTML page: its frame and style, tables and pictures; nothing comes from a network."""

import base64
from html import escape
from io import BytesIO

import numpy as np

STYLE = """
:root { color-scheme: light dark; --ink: #23303b; --soft: #5f6d79; --line: #e3e8ec; --wrong: #d6603f; --right: #4a9b7f;
  --paper: #fbfcfc; --link: #2f6f9f; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dfe5ea; --soft: #93a1ad; --line: #33404b; --right: #3f8a70; --paper: #161c22; --link: #7fb4dc; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
main.wide { max-width: 80rem; }
h1 { font-size: 1.5rem; font-weight: 600; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; font-weight: 600; margin: 2.4rem 0 .4rem; }
p { margin: .3rem 0 .8rem; max-width: 46rem; }
a { color: var(--link); }
.soft, figcaption { color: var(--soft); font-size: .88rem; }
.scroll, pre { overflow-x: auto; }
pre { font-size: .8rem; color: var(--soft); }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { padding: .32rem 0 .32rem .9rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; color: var(--soft); }
th.text, td.text { text-align: left; }
th:first-child, td:first-child { padding-left: 0; }
tr.first td { font-weight: 600; }
tr.bound td { color: var(--soft); font-style: italic; }
.curves { display: flex; flex-wrap: wrap; gap: 1rem; }
.curves svg { width: 100%; max-width: 22rem; height: auto; }
figure { margin: 0 0 1.4rem; }
figcaption { margin: 0 0 .3rem; color: var(--ink); }
.tag { font-size: .78rem; color: #fff; background: #37806a; border-radius: 1rem; padding: .1rem .6rem;
  margin-right: .4rem; }
.tag.wrong { background: #c4502f; }
.pair { display: flex; flex-wrap: wrap; gap: .6rem 1.6rem; align-items: center; }
.pair > div { flex: 1 1 26rem; max-width: 40rem; min-width: 0; }
.pair > svg { flex: 0 1 17rem; height: auto; min-width: 14rem; }
.pair img { width: 100%; display: block; border-radius: 4px; }
.heads { display: grid; grid-auto-columns: 1fr; grid-auto-flow: column; }
.strip { display: grid; gap: 4px; align-items: center; }
.strip span { font-size: .78rem; color: var(--soft); }
.strip .step { text-align: center; }
.strip img { width: 100%; display: block; image-rendering: pixelated; border: 3px solid transparent; border-radius: 4px; }
.strip img.wrong { border-color: var(--wrong); }
"""


def page(title: str, body: str, wide: bool = False, head: str = "") -> str:
    """The whole document; wide for large tables; head: more style or script. The policy shuts out every network."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<style>{STYLE}</style>{head}</head>\n"
        f"<body><main class={'wide' if wide else 'page'}>\n{body}\n</main></body></html>\n"
    )


def table(header: list[str], rows: list[list[str]], classes: list[str] | None = None, text_columns: int = 1) -> str:
    """Rows of ready HTML; the first `text_columns` are set left, numbers right. classes: one for each row."""

    def line(cells, tag):
        return "".join(f'<{tag}{" class=text" if i < text_columns else ""}>{c}</{tag}>' for i, c in enumerate(cells))

    body = "\n".join(f'<tr class="{k}">{line(row, "td")}</tr>' for row, k in zip(rows, classes or [""] * len(rows)))
    return f'<div class="scroll"><table><tr>{line(header, "th")}</tr>\n{body}</table></div>'


def picture(frame: np.ndarray, right: bool = True, alt: str = "") -> str:
    """One frame (H, W, 3 n) uint8 as an inline PNG, what n cameras or moments show side by side; a wrong one gets a coloured
    border."""
    from matplotlib.image import imsave

    png, shown = BytesIO(), np.concatenate(np.split(frame, frame.shape[2] // 3, 2), 1)
    imsave(png, shown, format="png", metadata={"Software": None})
    data = base64.b64encode(png.getvalue()).decode()
    return f'<img alt="{escape(alt)}"{"" if right else " class=wrong"} src="data:image/png;base64,{data}">'


def gif(frames: list[np.ndarray], step_ms: int, end_ms: int) -> bytes:
    """Frames (H, W, 3) uint8 as a GIF that loops, the last frame held."""
    from PIL import Image

    images = [Image.fromarray(frame).quantize(64, dither=Image.Dither.NONE) for frame in frames]
    times, file = [step_ms] * (len(images) - 1) + [end_ms], BytesIO()
    images[0].save(file, "GIF", save_all=True, append_images=images[1:], duration=times, loop=0, disposal=1)
    return file.getvalue()


def gif_image(content: bytes, alt: str) -> str:
    """A GIF in a page."""
    return f'<img alt="{escape(alt)}" src="data:image/gif;base64,{base64.b64encode(content).decode()}">'


def strip(columns: list[str], rows: list[tuple[str, list[str]]]) -> str:
    """Pictures in labelled rows under labelled columns; scrolls sideways on a phone."""
    head = "<span></span>" + "".join(f'<span class="step">{escape(c)}</span>' for c in columns)
    body = "".join(f"<span>{escape(label)}</span>" + "".join(cells) for label, cells in rows)
    size = f"grid-template-columns: 4.6rem repeat({len(columns)}, 1fr); min-width: {4.6 + 2.9 * len(columns):.0f}rem; " \
           f"max-width: {4.6 + 5 * len(columns):.0f}rem"  # fmt: skip
    return f'<div class="scroll"><div class="strip" style="{size}">{head}{body}</div></div>'
