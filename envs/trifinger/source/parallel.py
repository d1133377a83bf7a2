"""Distributes the work of arenas to processes; their number changes no result."""

import json
import multiprocessing
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache, partial

from envs.problem import Problem
from envs.trifinger.source.arena import Arena
from envs.workers import cores, die_with_parent

_WORTH = 400  # environment steps below which processes cost more than they save


@lru_cache(4)
def _arena(arguments: str, process: int) -> Arena:
    """A process's arena of these arguments, as JSON. process: its number; a forked process has its parent's arena in its memory
    and must not use that engine and renderer."""
    return Arena(**json.loads(arguments))


def _work(arguments: str, method: str, piece: tuple):
    return getattr(_arena(arguments, os.getpid()), method)(*piece)


class Crew:
    """arguments: of `Arena`.  workers: processes at most; None = one for each core.  fork: whether they may be forks of this
    process, which is quick; processes that render or use torch must be spawned.  draws: whether they render, as this process
    would."""

    def __init__(self, arguments: Mapping, workers: int | None, fork: bool, draws: bool) -> None:
        self._arguments, self._draws = json.dumps(dict(arguments), sort_keys=True), draws
        self._workers = workers or cores()
        self._context = multiprocessing.get_context("fork" if fork else "spawn")

    @property
    def arena(self) -> Arena:
        """The arena of this process."""
        return _arena(self._arguments, os.getpid())

    def _of_workers(self) -> str:
        """Their arguments.

        Left to choose a renderer, one that finds no OpenGL would draw other pictures than the header says.
        """
        if not self._draws:
            return self._arguments
        arguments = json.loads(self._arguments)
        arguments["options"]["renderer"] = self.arena.views.drawn_by
        return json.dumps(arguments, sort_keys=True)

    def do(self, method: str, pieces: list[tuple], steps: int) -> list:
        """`Arena.<method>` of every piece of work, in order. steps: of environments, all together.

        A Problem where a process dies, and the sentence of the arena where that has one.
        """
        work: Callable = partial(_work, self._arguments, method)
        _ = self.arena  # a worker that is a copy finds the hulls of the links in its memory
        if min(self._workers, len(pieces)) < 2 or steps < _WORTH:
            return [work(piece) for piece in pieces]
        try:
            with ProcessPoolExecutor(min(self._workers, len(pieces)), self._context, initializer=die_with_parent) as pool:
                return list(pool.map(partial(_work, self._of_workers(), method), pieces))
        except BrokenProcessPool as error:
            raise Problem("a process that simulates TriFinger died, perhaps for lack of memory; give the same command again, "
                          "with a smaller env.world.workers=") from error  # fmt: skip
