"""A structural causal model over colours: seeded conditional tables along a graph, do(), and delayed effects.

Reference section 3. The public code draws its networks from an unseeded generator and keeps neither palette nor tables;
here a model follows from one generator, is saved with the data, and has a digest.
"""

import hashlib
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np

from envs.graphs.matrices import ancestors, order
from envs.problem import Problem, nearest
from envs.whole_files import write_whole

BIAS = 2.1  # biases of the networks are uniform in [-2.1, 2.1], as published
TABLE_ROWS = 1 << 17  # conditional tables up to this size are kept whole; larger ones are computed when asked
REDRAW = ("descendants", "changed")
LONGEST_DELAY = 100


class Layers(NamedTuple):
    """The network of one variable: one-hot colours of all variables -> 4 N units, ReLU -> logits of its own colour."""

    inner: np.ndarray  # (4 N, N, C): a column for each colour of each variable
    inner_bias: np.ndarray  # (4 N,)
    outer: np.ndarray  # (C, 4 N)
    outer_bias: np.ndarray  # (C,)


def _orthogonal(shape: tuple[int, int], gain: float, rng: np.random.Generator) -> np.ndarray:
    """A random matrix with orthonormal rows or columns, whichever are fewer, times `gain`."""
    q, r = np.linalg.qr(rng.standard_normal((max(shape), min(shape))))
    q = q * np.sign(np.diag(r))
    return gain * (q if shape[0] >= shape[1] else q.T)


def reached(parents: np.ndarray, i: int) -> np.ndarray:
    """Which variables a do() on `i` reaches, (N,) bool: `i` itself and all its descendants. No other ever changes."""
    return ancestors(parents)[:, i] | (np.arange(len(parents)) == i)


class StructuralCausalModel:
    """Colours (B, N) in 0..C-1 of N variables, each drawn given those of its parents.

    parents (N, N) bool, parents[child, parent], acyclic.  skewness: gain of the networks' weights; 0 makes all tables
    ignore the parents, the published 3.5 makes some of them nearly certain.
    redraw: "descendants" redraws every descendant of the acted variable, whatever happened on the way (the published
    code); "changed" redraws a variable only if a parent's colour really changed (the paper's text).
    delays (N, N) int: steps until a parent's change reaches the child, >= 1 on every edge; None: within the same step.
    """

    def __init__(
        self,
        parents: np.ndarray,
        num_colors: int,
        rng: np.random.Generator,
        skewness: float = 3.5,
        redraw: str = "descendants",
        delays: np.ndarray | None = None,
    ) -> None:
        n, c = len(parents), num_colors
        layers = []
        for _ in range(n):
            inner = _orthogonal((4 * n, n * c), skewness, rng).reshape(4 * n, n, c)
            inner_bias = rng.uniform(-BIAS, BIAS, 4 * n)
            layers.append(Layers(inner, inner_bias, _orthogonal((c, 4 * n), skewness, rng), rng.uniform(-BIAS, BIAS, c)))
        self._set(parents, num_colors, layers, skewness, redraw, delays)

    def _set(self, parents, num_colors, layers, skewness, redraw, delays) -> None:
        if redraw not in REDRAW:
            raise Problem(f"chemistry has no redraw '{redraw}': {nearest(redraw, REDRAW)}")
        if num_colors < 2:
            raise Problem(f"chemistry needs at least 2 colours, got {num_colors}; set num_colors=")
        if not 0 <= skewness < float("inf"):
            raise Problem(f"skewness is the gain of the tables' networks, a finite number >= 0, got {skewness}; set skewness=")
        self.parents, self.num_colors = np.asarray(parents, bool), int(num_colors)
        self.skewness, self.redraw, self.layers = float(skewness), redraw, list(layers)
        self.order = order(self.parents)
        if delays is not None:
            given = np.asarray(delays)
            wrong = self.parents & ~((given >= 1) & (given <= LONGEST_DELAY) & (given == np.floor(given)))
            if wrong.any():
                child, parent = np.argwhere(wrong)[0]
                raise Problem(f"the delay of edge {parent}->{child} is {given[child, parent]}; a delay is a whole number of "
                              f"steps from 1 to {LONGEST_DELAY} (no delay at all: delay=null)")  # fmt: skip
            delays = np.where(self.parents, given, 0).astype(np.int64)
        self.delays = delays
        self._cumulative: dict[int, np.ndarray] = {}

    # -- tables -----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.parents)

    def _logits(self, v: int, colors: np.ndarray) -> np.ndarray:
        net = self.layers[v]
        hidden = np.broadcast_to(net.inner_bias, (len(colors), len(net.inner_bias))).copy()
        for p in np.flatnonzero(self.parents[v]):
            hidden += net.inner[:, p].T[colors[:, p]]
        return np.maximum(hidden, 0) @ net.outer.T + net.outer_bias

    def probabilities(self, v: int, colors: np.ndarray) -> np.ndarray:
        """How variable `v` is drawn given the colours of all (its parents alone count).  (B, N) -> (B, C), rows sum to 1."""
        logits = self._logits(v, np.asarray(colors))
        weight = np.exp(logits - logits.max(1, keepdims=True))
        return weight / weight.sum(1, keepdims=True)

    def _table(self, v: int) -> np.ndarray | None:
        """Cumulative probabilities for every combination of parents, (C ** parents, C) float32; None if too many."""
        parents = np.flatnonzero(self.parents[v])
        rows = self.num_colors ** len(parents)
        if rows > TABLE_ROWS:
            return None
        if v not in self._cumulative:
            parts = []
            for start in range(0, rows, 1 << 16):
                codes = np.arange(start, min(start + (1 << 16), rows))
                colors = np.zeros((len(codes), len(self)), np.int64)
                for p in parents:
                    codes, colors[:, p] = np.divmod(codes, self.num_colors)
                parts.append(self.probabilities(v, colors).cumsum(1).astype(np.float32))
            self._cumulative[v] = np.concatenate(parts)
        return self._cumulative[v]

    def draw(self, v: int, colors: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """The colour of `v` at noise (B,) in [0, 1): the inverse of its cumulative table.  -> (B,) int."""
        table = self._table(v)
        if table is None:
            cumulative = self.probabilities(v, colors).cumsum(1).astype(np.float32)
        else:
            code = np.zeros(len(colors), np.int64)
            for power, p in enumerate(np.flatnonzero(self.parents[v])):
                code += colors[:, p].astype(np.int64) * self.num_colors**power
            cumulative = table.take(code, 0)
        return (noise.astype(np.float32)[:, None] >= cumulative[:, :-1]).sum(1)

    def likeliest(self, v: int, colors: np.ndarray) -> np.ndarray:
        """The most probable colour of `v`, (B,) int."""
        return self._logits(v, colors).argmax(1)

    # -- what happens -----------------------------------------------------------------------------------------------

    def sample(self, batch: int, rng: np.random.Generator) -> np.ndarray:
        """Colours of fresh boards, (batch, N) int8: the first variable uniform, the others drawn in order."""
        colors = np.zeros((batch, len(self)), np.int8)
        for position, v in enumerate(self.order):
            noise = rng.random(batch)
            colors[:, v] = noise * self.num_colors if position == 0 else self.draw(v, colors, noise)
        return colors

    def intervene(self, colors: np.ndarray, object: np.ndarray, color: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """do(object := color) on every board, effects within the same step.

        colors (B, N), object (B,), color (B,)  ->  colors (B, N).
        """
        return self.respond(colors, object, color, rng.random(np.shape(colors)))

    def respond(self, colors, object, color, noise: np.ndarray | None) -> np.ndarray:
        """`intervene` with its noise (B, N) in [0, 1) given; without noise every draw takes its likeliest colour."""
        after, touched = self._do(colors, object, color)
        for v in self.order:
            self._redraw(v, np.flatnonzero((touched & self.parents[v]).any(1)), after, touched, noise)
        return after

    def _do(self, colors, object, color) -> tuple[np.ndarray, np.ndarray]:
        """Colours (B, N) after do(object := color), before any effect, and where that is a change for children (B, N)."""
        after, row = np.array(colors), np.arange(len(colors))
        touched = np.zeros(after.shape, bool)
        touched[row, object] = (after[row, object] != color) | (self.redraw == "descendants")
        after[row, object] = color
        return after, touched

    def _redraw(self, v: int, rows: np.ndarray, colors: np.ndarray, touched: np.ndarray, noise: np.ndarray | None) -> None:
        """Draws `v` anew on some boards, in place, and sets `touched` where that counts as a change for its children."""
        if not len(rows):
            return
        here = colors[rows]
        new = self.likeliest(v, here) if noise is None else self.draw(v, here, noise[rows, v])
        touched[rows, v] = (new != here[:, v]) | (self.redraw == "descendants")
        colors[rows, v] = new

    @property
    def longest_delay(self) -> int:
        return 0 if self.delays is None else int(self.delays.max(initial=1))

    def respond_later(self, colors, waiting: np.ndarray, object, color, noise) -> tuple[np.ndarray, np.ndarray]:
        """One step where effects take their time: first do(), then every variable whose effect is due is redrawn.

        waiting (B, N, longest_delay) bool: [b, v, s], v will be redrawn s + 1 steps from now. do() clears the queue of the
        acted variable; a variable that is acted on or redrawn queues its children, each after the delay of its edge.
        -> (colors (B, N), waiting).
        """
        after, touched = self._do(colors, object, color)
        due, later, row = waiting[..., 0].copy(), np.zeros_like(waiting), np.arange(len(after))
        later[..., :-1] = waiting[..., 1:]
        due[row, object] = False
        later[row, object] = False
        for v in self.order:
            self._redraw(v, np.flatnonzero(due[:, v]), after, touched, noise)
        for child, parent in np.argwhere(self.parents):
            later[touched[:, parent], child, self.delays[child, parent] - 1] = True
        return after, later

    # -- on disk ----------------------------------------------------------------------------------------------------

    def _arrays(self) -> dict[str, np.ndarray]:
        stacks = {name: np.stack([getattr(net, name) for net in self.layers]) for name in Layers._fields}
        delays = np.zeros((0, 0), np.int64) if self.delays is None else self.delays
        return {"parents": self.parents, "delays": delays, **stacks}

    @property
    def digest(self) -> str:
        """Names the model: equal where graph, tables (to 6 digits), delays and semantics are equal."""
        text = f"{self.num_colors} {self.redraw}".encode()
        for name, values in self._arrays().items():
            whole = values if values.dtype.kind in "bi" else np.rint(values * 1e6).astype(np.int64)
            text += name.encode() + np.ascontiguousarray(whole).tobytes()
        return hashlib.sha256(text).hexdigest()[:16]

    def save(self, path: str | Path) -> None:
        """Write the whole model to one .npz, whole or not at all."""
        about, content = {"num_colors": self.num_colors, "skewness": self.skewness, "redraw": self.redraw}, BytesIO()
        np.savez(content, **self._arrays(), **about)
        write_whole(Path(path), content.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> "StructuralCausalModel":
        """The model of a file that `save` wrote."""
        try:
            with np.load(path, allow_pickle=False) as file:
                held = {name: file[name] for name in file.files}
            layers = [Layers(*nets) for nets in zip(*(held[name] for name in Layers._fields), strict=True)]
            n, c = len(held["parents"]), int(held["num_colors"])
            shapes = {"inner": (n, 4 * n, n, c), "inner_bias": (n, 4 * n), "outer": (n, c, 4 * n), "outer_bias": (n, c)}
            delays = held["delays"] if held["delays"].size else None
            shapes |= {"parents": (n, n)} | ({} if delays is None else {"delays": (n, n)})
            wrong = [name for name, shape in shapes.items() if held[name].shape != shape]
            if wrong:
                raise ValueError(f"{wrong[0]} has shape {held[wrong[0]].shape}, not {shapes[wrong[0]]}")
            kinds = {"parents": "b", "delays": "iu", **dict.fromkeys(Layers._fields, "f")}
            other = [name for name, kind in kinds.items() if held[name].dtype.kind not in kind]
            if other or not all(np.isfinite(held[name]).all() for name in Layers._fields):
                raise ValueError(f"{other[0]} is of {held[other[0]].dtype}" if other else "weights that are not finite")
            about = float(held["skewness"]), str(held["redraw"]), delays
        except FileNotFoundError as error:
            raise Problem(f"{path} does not exist; a causal model is saved beside the data by envs/collect.py") from error
        except Exception as error:  # flipped bits can raise nearly anything
            raise Problem(f"{path} is not a saved causal model ({error}); expected a .npz made by envs/collect.py") from error
        found = cls.__new__(cls)
        found._set(held["parents"], c, layers, *about)
        return found
