"""Figures as SVG in the house's inks: a file of their own, or a part of a page."""

import re
from html import escape
from io import StringIO

# Inks of drawings that follow the reader's light or dark scheme, where they stand in a page.
INKS = {"#23303b": "var(--ink)", "#6b7a87": "var(--soft)", "#c9d2d9": "var(--line)", "#fbfcfc": "var(--paper)"}


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
