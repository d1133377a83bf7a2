"""Any two rows of a table of equal effort side by side: two menus, and a table that a script fills."""

import json
from html import escape
from itertools import combinations
from statistics import mean

from eval.effort.differences import difference, scores_of_both
from eval.effort.filled import Filled

COMPARED = ("H@1", "what if", "what if, several", "goals")
COMPARE = """<script>
addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll("[data-compare]")) {
    const found = JSON.parse(box.querySelector("script").textContent);
    const [a, b] = box.querySelectorAll("select"), body = box.querySelector("tbody");
    const minus = text => text === "0.0" ? text : text.startsWith("-") ? text.slice(1) : "-" + text;
    const fill = () => {
      body.replaceChildren();
      for (const [name, values] of Object.entries(found.scores)) {
        const [x, y] = [values[a.value], values[b.value]], row = body.insertRow();
        const turned = +a.value > +b.value, key = turned ? b.value + " " + a.value : a.value + " " + b.value;
        const [apart, low, high] = found.apart[name][key] || ["-"];
        const [gap, ...ends] = turned && apart !== "-" ? [apart, high, low].map(end => end && minus(end)) : [apart, low, high];
        const told = gap + (low === undefined ? "" : ` [${ends.join(", ")}]`);
        for (const cell of [name, x, y, told]) row.insertCell().textContent = cell;
        row.cells[0].className = "text";
      }
    };
    a.addEventListener("change", fill);
    b.addEventListener("change", fill);
    fill();
  }
});
</script>"""


def compare_rows(filled: list[Filled]) -> str:
    """Scores of both, their difference and its 95 % interval, paired over what both were asked; where every seed is a drawn
    world, the difference is over those that both have, and their scores are over all of each. Numbers are handed over as
    texts: a script rounds otherwise than the tables above."""
    horizons, scores, apart = filled[0].study.horizons, {}, {}
    for name in COMPARED:
        for h in horizons:
            found = [one.estimate(name, h) for one in filled]
            title = f"{name} {h}"
            scores[title] = ["-" if one is None else f"{one.mean:z.1f}" for one in found]
            pairs = {f"{a} {b}": _apart(filled[a], filled[b], name, h) for a, b in combinations(range(len(filled)), 2)}
            apart[title] = {key: [f"{value:z.1f}" for value in pair] for key, pair in pairs.items() if pair}
    told = (
        "Each interval is of its pair taken alone: none is corrected for how many pairs there are, "
        "and rows at their floor are there too."
    )
    if filled[0].own_worlds:
        told += " Every seed is a drawn world: a difference is over those that both rows have."
    data = json.dumps({"scores": scores, "apart": apart}).replace("<", "\\u003c")
    menu = "".join(f'<option value="{i}"{{}}>{escape(one.label)}</option>' for i, one in enumerate(filled))
    second = menu.replace("{}", "", 1).replace("{}", " selected", 1).replace("{}", "")
    return (
        f'<div data-compare><script type="application/json">{data}</script><p><select aria-label="first row">'
        f'{menu.replace("{}", "")}</select> against <select aria-label="second row">{second}</select></p>'
        f'<div class="scroll"><table><thead><tr><th class=text>steps</th>'
        f"<th>first</th><th>second</th><th>first - second [95 %]</th></tr></thead><tbody></tbody></table></div>"
        f"<p class=soft>{told}</p></div>"
    )


def _apart(one: Filled, other: Filled, name: str, horizon: int) -> list[float]:
    """By how much the first is more, and the ends of the interval where it has one;
    nothing where they have no seeds to compare."""
    if apart := difference(one, other, name, horizon):
        return [apart.mean, apart.low, apart.high]
    mine, theirs = scores_of_both(one, other, name, horizon)
    return [mean(mine.values()) - mean(theirs.values())] if mine and theirs else []
