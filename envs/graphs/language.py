"""A small language for graphs, and the presets that are texts of it.

A graph of N nodes is `parents` (N, N) bool, `parents[child, parent]`. The language (reference section 5):

    GRAPH := "" | CHAIN { "," CHAIN }      CHAIN := NODE { "->" NODE }
    NODE  := INT | SET                     SET := "{" ELEM { "," ELEM } "}"      ELEM := INT | INT "-" INT

An arrow leads from a smaller to a larger number. INT->INT and INT->SET insist on it; SET->SET and SET->INT keep only the
pairs that obey and skip the others. A NODE without arrows only makes the graph large enough: `0->1, 4` has five nodes.
"""

import re
from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from envs.graphs.matrices import MAX_NODES, check_size
from envs.problem import Problem, nearest

SIZES = range(3, 16)  # of the presets
# Every preset is a text. The reference lists fork and confounder at size 3 and trees from size 9; see `preset`.
_FAMILIES = {
    "empty": lambda n: f"{{0-{n - 1}}}",
    "chain": lambda n: "->".join(map(str, range(n))),
    "fork": lambda n: f"0->{{1-{n - 1}}}",
    "collider": lambda n: f"{{0-{n - 2}}}->{n - 1}",
    "confounder": lambda n: f"0->{{1-{n - 1}}}, " + "->".join(map(str, range(1, n))),
    "bidiag": lambda n: "->".join(f"{{{i}-{i + 1}}}" for i in range(n - 1)),
    "full": lambda n: f"{{0-{n - 1}}}->{{0-{n - 1}}}",
    "tree": lambda n: ", ".join(f"{(i - 1) // 2}->{i}" for i in range(1, n)),
    "jungle": lambda n: ", ".join([_FAMILIES["tree"](n), *(f"{(i - 3) // 4}->{i}" for i in range(3, n))]),
}


class _Reader:
    """The tokens of a text, read from left to right; `fail` points at a character."""

    def __init__(self, text: str, num_nodes: int | None) -> None:
        self.text = re.sub(r"\s", " ", text)  # one line, so that the caret stands below its character
        self.num_nodes = num_nodes
        self._tokens = [(m.group(), m.start()) for m in re.finditer(r"[0-9]+|->|\S", self.text)]
        self._tokens.append(("", len(self.text.rstrip())))
        self._at = 0

    @property
    def token(self) -> str:
        return self._tokens[self._at][0]

    @property
    def start(self) -> int:
        return self._tokens[self._at][1]

    def skip(self, token: str) -> bool:
        """Steps over the token if it is the next one."""
        found = self.token == token
        self._at += found
        return found

    def fail(self, expected: str, start: int, got: str, why: str = "") -> NoReturn:
        got, opening = f"'{got}'" if got else "the end of the text", "graph '"
        sentence = f"{opening}{self.text}': expected {expected} at character {start + 1}, got {got}{why}"
        raise Problem(f"{sentence}\n{' ' * (len(opening) + start)}^")

    def number(self, what: str) -> int:
        token, last = self.token, (self.num_nodes or MAX_NODES) - 1
        if not (token.isascii() and token.isdecimal()):
            self.fail(what, self.start, token)
        if len(token) > 3 or int(token) > last:
            why = f"; rename the node, or raise num_nodes from {self.num_nodes}" if self.num_nodes else ""
            self.fail(f"a number from 0 to {last}", self.start, token, why)
        self._at += 1
        return int(token)

    def node(self) -> tuple[set[int], bool]:
        """The numbers of a NODE, and whether it is a SET."""
        if not self.skip("{"):
            return {self.number("a node (a number or {...})")}, False
        numbers = set()
        while True:
            low = high = self.number("a number")
            closing = "',', '-' or '}'"
            if self.skip("-"):
                closing = "',' or '}'"
                low, high = sorted((low, self.number("a number")))
            numbers.update(range(low, high + 1))
            if self.skip("}"):
                return numbers, True
            if not self.skip(","):
                self.fail(closing, self.start, self.token)

    def chain(self) -> tuple[set[int], set[tuple[int, int]]]:
        """The numbers and the (child, parent) pairs of a CHAIN."""
        source, source_is_set = self.node()
        numbers, edges = set(source), set()
        while self.skip("->"):
            start = self.start
            target, target_is_set = self.node()
            if not source_is_set and min(target) <= max(source):
                what = f"{'numbers' if target_is_set else 'a number'} greater than {max(source)}"
                got = self.text[start : self.start].rstrip()
                self.fail(what, start, got, ": an arrow leads from a smaller to a larger number, or it could close a cycle")
            edges |= {(child, parent) for child in target for parent in source if child > parent}
            numbers |= target
            source, source_is_set = target, target_is_set
        return numbers, edges


def parse(text: str, num_nodes: int | None = None) -> np.ndarray:
    """The language -> parents (N, N) bool; N is the largest number + 1, or `num_nodes` where that is more."""
    if num_nodes is not None:
        check_size(num_nodes)
    reader = _Reader(text, num_nodes)
    numbers, edges = {0}, set()
    more = bool(reader.token)
    while more:
        chain_numbers, chain_edges = reader.chain()
        numbers |= chain_numbers
        edges |= chain_edges
        more = reader.skip(",")
    if reader.token:
        reader.fail("'->' or ','", reader.start, reader.token)
    parents = np.zeros((num_nodes or max(numbers) + 1,) * 2, bool)
    for edge in edges:
        parents[edge] = True
    return parents


def preset(name: str) -> np.ndarray:
    """A family and a size from 3 to 15 -> parents: `chain5`, `full3`, `jungle15`.

    empty: no edges.  chain: 0->1->..  fork: 0 causes all others.  collider: all others cause the last.
    confounder: 0 causes all others, which form a chain.  bidiag: the two before each node cause it.  full: all before it.
    tree: (i-1)//2 causes i, as in a binary heap.  jungle: the tree, and the grandparents too.
    The reference has fork and confounder at size 3 only (confounder3 = full3) and trees from size 9 on; the other sizes
    are the same rules carried on.
    """
    family, size = re.fullmatch(r"(\D*)(.*)", name, re.DOTALL).groups()
    if family not in _FAMILIES:
        raise Problem(f"there is no graph preset '{name}': {nearest(family, _FAMILIES)}; a size follows, as in chain5")
    sizes = {str(n): n for n in SIZES}
    if size not in sizes:
        raise Problem(f"graph preset '{name}': expected a size from 3 to 15, as in {family}5, got '{size}'")
    return parse(_FAMILIES[family](sizes[size]))


def describe(parents: np.ndarray) -> str:
    """A text that `parse` reads back as the same matrix where all arrows lead upwards, and refuses where one does not."""
    if np.triu(parents).any():
        return ", ".join(f"{parent}->{child}" for parent, child in np.argwhere(parents.T))  # a SET would skip in silence
    sources = {}  # children -> the parents of exactly these
    for parent in range(len(parents)):
        sources.setdefault(tuple(np.flatnonzero(parents[:, parent])), []).append(parent)
    arrows = {tuple(source): target for target, source in sources.items() if target}
    chains = []
    while arrows:
        chain = [next(iter(arrows))]
        while chain[-1] in arrows:
            chain.append(arrows.pop(chain[-1]))
        chains.append("->".join(map(_node, chain)))
    alone = np.flatnonzero(~parents.any(0) & ~parents.any(1))
    return ", ".join(chains + ([_node(alone)] if len(alone) else []))


def _node(numbers: Sequence[int] | np.ndarray) -> str:
    """'4' or '{0-2,5}' of sorted numbers."""
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    elements = [f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs]
    return elements[0] if len(numbers) == 1 else f"{{{','.join(elements)}}}"
