"""Collision hulls of the links: convex hulls of their meshes with the vertices that matter, as .obj text.

The engine asks every vertex of a hull at every contact; of the 300 to 500 vertices of a link's hull 60 to 140 describe it
to half a millimetre, and steps take about half the time.
"""

from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy.spatial import ConvexHull

from envs.bodies.rendering.stl import read_stl

TOLERANCE = 5e-4  # metres that a vertex left out may stand out


@lru_cache
def hull_obj(path: Path) -> str:
    """Of an STL file: begins with the outermost points and adds the one that stands out most, until none does."""
    points = np.unique(read_stl(path).reshape(-1, 3), axis=0)
    points = points[ConvexHull(points).vertices]
    chosen = list(dict.fromkeys(np.concatenate([points.argmin(0), points.argmax(0)]).tolist()))
    chosen += [i for i in range(len(points)) if i not in chosen][: max(0, 5 - len(chosen))]
    while True:
        hull = ConvexHull(points[chosen], qhull_options="QJ")
        outside = (points @ hull.equations[:, :3].T + hull.equations[:, 3]).max(1)
        outside[chosen] = 0.0
        if outside.max() < TOLERANCE:
            break
        chosen.append(int(outside.argmax()))
    corners = "".join(f"v {x:.6f} {y:.6f} {z:.6f}\n" for x, y, z in points[chosen])
    return corners + "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in hull.simplices)
