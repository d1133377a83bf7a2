"""A calm, self-contained HTML page: its frame and style, tables, pictures and loss curves; nothing comes from a network."""

import base64
import re
from html import escape
from io import BytesIO, StringIO
from pathlib import Path

import numpy as np

from eval.metrics_csv import losses

# Inks of drawings that follow the reader's light or dark scheme, where they stand in a page.
INKS = {"#23303b": "var(--ink)", "#6b7a87": "var(--soft)", "#c9d2d9": "var(--line)", "#fbfcfc": "var(--paper)"}
STYLE = """
:root { color-scheme: light dark; --ink: #23303b; --soft: #6b7a87; --line: #e3e8ec; --wrong: #d6603f; --right: #4a9b7f;
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
.tag { font-size: .78rem; color: #fff; background: var(--right); border-radius: 1rem; padding: .1rem .6rem;
  margin-right: .4rem; }
.tag.wrong { background: var(--wrong); }
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
    """One frame (H, W, 3) uint8 as an inline PNG; a wrong one gets a coloured border."""
    from matplotlib.image import imsave

    png = BytesIO()
    imsave(png, frame, format="png", metadata={"Software": None})
    data = base64.b64encode(png.getvalue()).decode()
    return f'<img alt="{escape(alt)}"{"" if right else " class=wrong"} src="data:image/png;base64,{data}">'


def strip(columns: list[str], rows: list[tuple[str, list[str]]]) -> str:
    """Pictures in labelled rows under labelled columns; scrolls sideways on a phone."""
    head = "<span></span>" + "".join(f'<span class="step">{escape(c)}</span>' for c in columns)
    body = "".join(f"<span>{escape(label)}</span>" + "".join(cells) for label, cells in rows)
    size = f"grid-template-columns: 4.6rem repeat({len(columns)}, 1fr); min-width: {4.6 + 2.9 * len(columns):.0f}rem; " \
           f"max-width: {4.6 + 5 * len(columns):.0f}rem"  # fmt: skip
    return f'<div class="scroll"><div class="strip" style="{size}">{head}{body}</div></div>'


def loss_curves(metrics: Path) -> str:
    """Training and validation loss of every stage of a metrics.csv, as inline SVG."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    stages: dict[str, dict[str, dict[int, float]]] = {}
    for (stage, loss), curve in losses(metrics).items():
        stages.setdefault(stage, {})[loss.removesuffix("/loss")] = {epoch + 1: value for epoch, value in curve.items()}
    drawings = []
    for name, curves in stages.items():
        figure = Figure(figsize=(4.4, 2.9), layout="constrained")
        axes = figure.subplots()
        for label, color in (("train", "#2f6f9f"), ("val", "#d6903f")):
            points = sorted(curves.get(label, {}).items())
            axes.plot(*zip(*points), color=color, label=label, marker="o" if len(points) < 3 else None, lw=1.8)
        values = [v for curve in curves.values() for v in curve.values()]
        if min(values) > 0 and max(values) > 20 * min(values):
            axes.set_yscale("log")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        last = max(max(curve, default=1) for curve in curves.values())
        axes.set_xlim(1 - 0.04 * last - 0.4 * (last < 3), last + 0.04 * last + 0.4 * (last < 3))
        axes.set_title(name.replace("$", r"\$"), fontsize=11, loc="left", color="#23303b")
        axes.set_xlabel("epoch", color="#6b7a87")
        axes.set_ylabel("loss", color="#6b7a87")
        drawings.append(_calm_svg(figure, axes, name))
    return f'<div class="curves">{"".join(drawings)}</div>'


def line_chart(x: list[float], lines: dict, bounds: dict, x_label: str, y_label: str) -> str:
    """Lines over common points x, named in a legend, and dashed bounds, as inline SVG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    axes = figure.subplots()
    colors = ("#2f6f9f", "#d6903f", "#4a9b7f", "#8a5a9c", "#d6603f", "#7d6b4f", "#b0487a", "#5f9ea8")
    for (label, y), color in zip(lines.items(), colors * len(lines)):
        axes.plot(x, y, color=color, label=label, marker="o", ms=4, lw=1.8)
    for (label, y), dashes in zip(bounds.items(), ("--", ":") * len(bounds)):
        axes.plot(x, y, color="#6b7a87", label=label, ls=dashes, lw=1.4)
    axes.set_xlabel(x_label, color="#6b7a87")
    axes.set_ylabel(y_label, color="#6b7a87")
    return f'<div class="scroll">{_calm_svg(figure, axes, "".join(lines))}</div>'


def _calm_svg(figure, axes, salt: str) -> str:
    """The house's axes, a legend off the lines, and the figure as inline SVG."""
    calm(axes)
    axes.legend(frameon=False, labelcolor="#23303b", fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return inline_svg(figure, salt)


def calm(axes) -> None:
    """The house's axes: no box, soft lines."""
    axes.tick_params(colors="#6b7a87", labelsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#c9d2d9")


def svg_text(figure, salt: str) -> str:
    """A figure as an SVG file; equal figures give equal text. Letters stay letters: short, and they can be searched."""
    from matplotlib import rc_context

    text = StringIO()
    with rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(text, format="svg", transparent=True, metadata=nothing)
    return text.getvalue()


def inline_svg(figure, salt: str, titles: dict[str, str] | None = None) -> str:
    """A figure for a page: its inks follow the page's. titles: gid of an artist -> what is told when one points at it."""
    text = svg_text(figure, salt)
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text[text.index("<svg") :])  # a page needs no names of name spaces
    for ink, variable in INKS.items():
        text = text.replace(ink, variable)
    for gid, title in (titles or {}).items():
        text = text.replace(f'<g id="{gid}">', f'<g id="{gid}"><title>{escape(title)}</title>', 1)
    return text
