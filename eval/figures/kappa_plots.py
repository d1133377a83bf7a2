"""Agreement of people: a histogram of Cohen's kappa over pairs with its density, and every pair as a map."""

from collections.abc import Mapping, Sequence

import numpy as np

from eval.figures.svg import calm

INK, SOFT, BAR, CURVE = "#23303b", "#6b7a87", "#9cbcd3", "#2f6f9f"
BINS = np.linspace(-1, 1, 41)
_PANEL = 2.4  # inches


def kappa_histograms(values: Mapping[str, np.ndarray]):
    """One plot for each category: x kappa, y number of pairs, and a density curve of the same area.

    values: category -> kappa of each pair, nan where it is undefined.  -> matplotlib Figure.
    """
    from matplotlib.figure import Figure
    from scipy.stats import gaussian_kde

    figure = Figure(figsize=(_PANEL * len(values), 2.6), layout="constrained")
    grid = figure.subplots(1, len(values), squeeze=False, sharey=True)[0]
    low = min([float(np.nanmin(every)) for every in values.values() if not np.isnan(every).all()], default=0.0)
    for axes, (category, every) in zip(grid, values.items()):
        some = every[~np.isnan(every)]
        calm(axes)
        axes.hist(some, BINS, color=BAR)
        if len(np.unique(some)) > 1:
            x = np.linspace(-1, 1, 400)
            axes.plot(x, gaussian_kde(some)(x) * len(some) * (BINS[1] - BINS[0]), color=CURVE, lw=1.6)
        axes.set_xlim(min(-0.2, low - 0.05), 1.02)
        middle = f"median {np.median(some):.2f}" if len(some) else "no pair"
        axes.set_title(f"{category}\n{middle}, n = {len(some)}", fontsize=9, loc="left", color=INK)
        axes.set_xlabel(f"Cohen's κ ({len(every) - len(some)} undefined)", fontsize=9, color=SOFT)
    grid[0].set_ylabel("pairs of participants", fontsize=9, color=SOFT)
    return figure


def kappa_maps(people: int, pairs: Sequence[tuple[int, int]], values: Mapping[str, np.ndarray]):
    """One map for each category: kappa of each pair of people, grey where it is undefined.

    people: how many.  pairs: rows of two of them.  values: category -> kappa of each pair, nan where undefined.
    """
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_PANEL * len(values) + 0.6, 2.8), layout="constrained")
    grid = figure.subplots(1, len(values), squeeze=False)[0]
    colors = colormaps["RdBu"].with_extremes(bad="#e3e7ea")
    for axes, (category, some) in zip(grid, values.items()):
        table = np.full((people, people), np.nan)
        for (one, other), value in zip(pairs, some):
            table[one, other] = table[other, one] = value
        drawn = axes.imshow(table, cmap=colors, vmin=-1, vmax=1, interpolation="nearest")
        axes.set_title(category, fontsize=9, loc="left", color=INK)
        axes.tick_params(colors=SOFT, labelsize=8, length=0)
        axes.spines[:].set_visible(False)
    grid[0].set_ylabel("accepted participants, in order of lists", fontsize=9, color=SOFT)
    bar = figure.colorbar(drawn, ax=list(grid), shrink=0.8)
    bar.set_label("Cohen's κ", fontsize=9, color=SOFT)
    bar.ax.tick_params(colors=SOFT, labelsize=8)
    bar.outline.set_visible(False)
    return figure
