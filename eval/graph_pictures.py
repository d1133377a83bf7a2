"""The graph a model found beside the true one: arrows and heat maps for the report."""

from html import escape
from io import StringIO

import numpy as np

from eval.direct_edges import VACUOUS

INK, SOFT, RIGHT, WRONG = "#23303b", "#9aa7b2", "#4a9b7f", "#d6603f"
TITLES = {
    "direct": ("Direct edges", "held-out nats lost without the parent"),
    "edges": ("Learned edges", "probability of the edge"),
    "reach": ("Reach", "how far an object moves under a command on another, as a share of one on itself"),
}


def graph_section(results: dict) -> str:
    """HTML of every graph that was estimated, or why none could be; empty where the env has no graph."""
    found = results.get("structure") or {}
    if not found:
        return ""
    parts = ["<h2>Causal graph</h2>"]
    true, m = np.array(found["true"], bool), results["metrics"]
    closure = true.copy()
    for _ in range(len(true)):
        closure |= (closure.astype(int) @ closure.astype(int)) > 0
    vacuous = true & (np.array(found.get("strength", np.ones(true.shape))) < VACUOUS)
    for name, (title, what) in TITLES.items():
        if name not in found:
            continue
        score, threshold = np.array(found[name]["score"]), found[name]["threshold"]
        against = closure if name == "reach" else true
        numbers = ", ".join(f"{label} {m[f'structure/{name}/{key}']:.0f}" for key, label in
                            (("shd", "SHD"), ("precision", "precision"), ("recall", "recall"), ("auroc", "AUROC")))  # fmt: skip
        spare = np.array(found["faint"], bool) if name == "reach" else vacuous
        note = f"; {int(spare.sum())} that hardly show in the true model itself left out, dotted" if spare.any() else ""
        parts.append(
            f"<figure><figcaption><b>{title}</b>: {numbers}{escape(note)}. Score: {what}; an edge above {threshold:g}."
            f"</figcaption>{_drawing(against, score, threshold, spare)}</figure>"
        )
    if len(parts) == 1:
        return f"{parts[0]}<p>Not asked for: {escape(found['why'])}.</p>"
    parts.append(f'<p class="soft">Read from {escape(found["why"])}. Green: found and true; red: found and not true; '
                 f"dashed: true and not found.</p>")  # fmt: skip
    return "\n".join(parts)


def _drawing(true: np.ndarray, score: np.ndarray, threshold: float, spare: np.ndarray) -> str:
    """True graph, estimated graph, and the scores, as one inline SVG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 3.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    found = (score > threshold) & ~np.eye(len(true), dtype=bool)
    _arrows(left, [(true & ~spare, INK, "-"), (spare, SOFT, ":")], "true")
    _arrows(middle, [(found & true, RIGHT, "-"), (found & ~true, WRONG, "-"), (true & ~found & ~spare, SOFT, "--")], "found")
    shown = np.ma.masked_array(score, np.eye(len(true), dtype=bool))
    top = max(float(shown.max()), 2 * threshold)
    right.imshow(shown, cmap="BuGn", vmin=0, vmax=top)
    for child, parent in np.argwhere(~np.eye(len(true), dtype=bool)):
        value = score[child, parent]
        color = "white" if value > 0.6 * top else INK
        right.text(parent, child, f"{value:.2f}".lstrip("0") if value >= 0.005 else "0", ha="center", va="center",
                   color=color, fontsize=8 if len(true) <= 6 else 5)  # fmt: skip
    right.set_title("score", fontsize=11, loc="left", color=INK)
    right.set_xlabel("parent", color=SOFT)
    right.set_ylabel("child", color=SOFT)
    right.set_xticks(range(len(true)))
    right.set_yticks(range(len(true)))
    right.tick_params(colors=SOFT, labelsize=8, length=0)
    right.spines[:].set_visible(False)
    text = StringIO()
    figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return '<div class="scroll">' + text.getvalue()[text.getvalue().index("<svg") :] + "</div>"


def _arrows(axes, layers: list, title: str) -> None:
    """Objects on a circle, object 0 on top, clockwise; arrows from parent to child."""
    count = len(layers[0][0])
    angle = np.pi / 2 - 2 * np.pi * np.arange(count) / count
    x, y = np.cos(angle), np.sin(angle)
    for matrix, color, style in layers:
        for child, parent in np.argwhere(matrix):
            arrow = {"arrowstyle": "-|>", "color": color, "linestyle": style, "shrinkA": 11, "shrinkB": 11, "lw": 1.5}
            axes.annotate("", (x[child], y[child]), (x[parent], y[parent]), arrowprops=arrow)
    axes.scatter(x, y, s=330, color="white", edgecolors=SOFT, zorder=3)
    for i in range(count):
        axes.text(x[i], y[i], str(i), ha="center", va="center", color=INK, zorder=4)
    axes.set_title(title, fontsize=11, loc="left", color=INK)
    axes.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), aspect="equal")
    axes.axis("off")
