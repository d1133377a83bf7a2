"""Texts of pages can be read: 4.5 to 1 and more, on light and on dark paper (WCAG 2.2, AA)."""

import re

import pytest

from eval.pages.html import STYLE

LIGHT, DARK = (dict(re.findall(r"--(\w+): (#\w{6})", part)) for part in STYLE.split("@media (prefers-color-scheme: dark)")[:2])
GROUNDS = re.findall(r"\.tag[^}]*background: (#\w{6})", STYLE)


def contrast(one: str, other: str) -> float:
    """Of two colours, 1 to 21."""
    light = []
    for color in (one, other):
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        light.append(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    return (max(light) + 0.05) / (min(light) + 0.05)


@pytest.mark.parametrize("ink", ["ink", "soft", "link"])
@pytest.mark.parametrize("inks", [LIGHT, LIGHT | DARK], ids=["light", "dark"])
def test_texts_stand_out_from_their_paper(inks, ink):
    assert contrast(inks[ink], inks["paper"]) >= 4.5


def test_words_on_tags_stand_out():
    assert len(GROUNDS) == 2 and min(contrast("#ffffff", ground) for ground in GROUNDS) >= 4.5
