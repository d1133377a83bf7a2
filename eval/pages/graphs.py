"""The graph a model found beside the true one: arrows and heat maps for the report."""

from html import escape
from pathlib import Path

import numpy as np

from envs.graphs import ancestors as closure
from eval.figures.svg import inline_svg
from eval.pages.html import table
from eval.probes.cuts import VACUOUS

INK, SOFT, PAPER, RIGHT, WRONG = "#23303b", "#9aa7b2", "#fbfcfc", "#4a9b7f", "#d6603f"
KEY = "Green: found and true; red: found and not true; dashed: true and not found."
ON_HEAT = "#1f2b35"  # stays dark on a dark page, as the light squares below it stay light
TITLES = {
    "direct": ("Direct edges", "held-out nats lost without the parent"),
    "edges": ("Learned edges", "probability of the edge"),
    "reach": ("Reach", "how far an object moves under a command on another, as a share of one on itself"),
}
COUNTS = {
    "faint_paths": "paths that hardly show", "true_paths": "of paths",
    "vacuous_edges": "edges that hardly show", "true_edges": "of edges",
}  # fmt: skip


def graph_section(results: dict) -> str:
    """HTML of every graph that was estimated, or why none could be; empty where the env has no graph."""
    found = results.get("structure") or {}
    if not found:
        return ""
    parts = ["<h2>Causal graph</h2>", *(_figure(results, name) for name in TITLES if name in found)]
    if len(parts) == 1:
        return f"{parts[0]}<p>Not asked for: {escape(found['why'])}.</p>"
    parts.append(f'<p class="soft">Read from {escape(found["why"])}. {KEY}</p>')
    return "\n".join(parts)


def _figure(results: dict, name: str) -> str:
    """One kind of graph, its numbers above it."""
    found, m, (title, what) = results["structure"], results["metrics"], TITLES[name]
    true = np.array(found["true"], bool)
    score, threshold = np.array(found[name]["score"]), found[name]["threshold"]
    shown = {"auroc": "AUROC", "shd": "SHD", "precision": "precision", "recall": "recall"}
    keys = {f"structure/{name}/{key}": label for key, label in shown.items()}
    numbers = ", ".join(f"{label} {m[key]:.0f}" for key, label in keys.items() if key in m)
    vacuous = true & (np.array(found.get("strength", np.ones(true.shape))) < VACUOUS)
    spare = np.array(found["faint"], bool) if name == "reach" else vacuous
    note, whole = "", closure(true) if name == "reach" else true
    if spare.any():
        left = m.get(f"structure/{name}/shown/shd")  # runs of before left them out of all numbers
        note = f"; {int(spare.sum())} of {int(whole.sum())} hardly show in the true model itself (dotted)"
        note += " and are left out" if left is None else f", SHD without them {left:.0f}"
    return (
        f"<figure><figcaption><b>{title}</b>: {numbers}{escape(note)}. Score: {what}; an edge above {threshold:g}."
        f"</figcaption>{_drawing(whole, score, threshold, spare)}</figure>"
    )


def graph_gallery(scored: dict[Path, dict]) -> str:
    """Numbers of every run that found a graph, and the likeliest kind of graph of one run for each env, model and loss."""
    found = {f: r for f, r in scored.items() if any(name in (r.get("structure") or {}) for name in TITLES)}
    kinds = [name for name in TITLES if any(name in r["structure"] for r in found.values())]
    keys = [f"{name}/{key}" for name in kinds for key in ("auroc", "shd", "shown/shd")] + list(COUNTS)
    rows, drawings, drawn = [], [], set()
    for folder, r in found.items():
        numbers = [r["metrics"].get(f"structure/{key}") for key in keys]
        rows.append([escape(word) for word in (folder.name, r["env"], r["model"], r["loss"])]
                    + ["" if value is None else f"{value:.0f}" for value in numbers])  # fmt: skip
        group = (r["env"], r["model"], r["loss"])
        if group not in drawn:
            drawn.add(group)
            name = next(name for name in TITLES if name in r["structure"])
            what = escape(f"{r['env']}: {r['model']} + {r['loss']}".replace("_", " "))
            drawings.append(f"<div><h3>{what}</h3>{_figure(r, name)}</div>")
    labels = [COUNTS.get(key) or key.replace("shown/shd", "shd, those that show").replace("/", " ") for key in keys]
    header = ["run", "env", "model", "loss", *labels]
    if not found:
        return ""
    shown = f'<p class="soft">{KEY}</p><div class="graphs">{"".join(drawings)}</div>'
    return f'<div class="tall">{table(header, rows, text_columns=4)}</div>{shown}'


def _drawing(true: np.ndarray, score: np.ndarray, threshold: float, spare: np.ndarray) -> str:
    """True graph, estimated graph, and the scores, as one inline SVG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 3.2))  # fixed places: finding a layout would take as long as all the rest
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.15, top=0.9, wspace=0.12)
    left, middle, right = figure.subplots(1, 3)
    found = (score > threshold) & ~np.eye(len(true), dtype=bool)
    _arrows(left, [(true & ~spare, INK, "-"), (spare, SOFT, ":")], "true")
    _arrows(middle, [(found & true, RIGHT, "-"), (found & ~true, WRONG, "-"), (true & ~found & ~spare, SOFT, "--")], "found")
    shown = np.ma.masked_array(score, np.eye(len(true), dtype=bool))
    top = max(float(shown.max()), 2 * threshold)
    right.imshow(shown, cmap="BuGn", vmin=0, vmax=top)
    for child, parent in np.argwhere(~np.eye(len(true), dtype=bool)):
        value = score[child, parent]
        color = "white" if value > 0.6 * top else ON_HEAT
        right.text(parent, child, f"{value:.2f}".lstrip("0") if value >= 0.005 else "0", ha="center", va="center",
                   color=color, fontsize=8 if len(true) <= 6 else 5)  # fmt: skip
    right.set_title("score", fontsize=11, loc="left", color=INK)
    right.set_xlabel("parent", color=SOFT)
    right.set_ylabel("child", color=SOFT)
    right.set_xticks(range(len(true)))
    right.set_yticks(range(len(true)))
    right.tick_params(colors=SOFT, labelsize=8, length=0)
    right.spines[:].set_visible(False)
    return f'<div class="scroll">{inline_svg(figure, "graph")}</div>'


def _arrows(axes, layers: list, title: str) -> None:
    """Objects on a circle, object 0 on top, clockwise; arrows from parent to child."""
    count = len(layers[0][0])
    angle = np.pi / 2 - 2 * np.pi * np.arange(count) / count
    x, y = np.cos(angle), np.sin(angle)
    for matrix, color, style in layers:
        for child, parent in np.argwhere(matrix):
            arrow = {"arrowstyle": "-|>", "color": color, "linestyle": style, "shrinkA": 11, "shrinkB": 11, "lw": 1.5}
            axes.annotate("", (x[child], y[child]), (x[parent], y[parent]), arrowprops=arrow)
    axes.scatter(x, y, s=330, color=PAPER, edgecolors=SOFT, zorder=3)
    for i in range(count):
        axes.text(x[i], y[i], str(i), ha="center", va="center", color=INK, zorder=4)
    axes.set_title(title, fontsize=11, loc="left", color=INK)
    axes.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), aspect="equal")
    axes.axis("off")
