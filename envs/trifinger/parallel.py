"""Work of arenas, shared out to processes: the same results for any number of them."""

import json
import multiprocessing
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache, partial

from envs.problem import Problem
from envs.trifinger.arena import Arena
from envs.workers import die_with_parent

_WORTH = 400  # environment steps below which processes cost more than they save


@lru_cache(2)
def arena(options: str) -> Arena:
    """This process's arena of these arguments, as JSON."""
    return Arena(**json.loads(options))


def _work(options: str, process: int, method: str, arguments: tuple):
    """One piece of work. process: whose; an arena is used by the process that made it alone."""
    if process == os.getpid():
        return getattr(arena(options), method)(*arguments)
    return getattr(_own(options), method)(*arguments)


@lru_cache(2)
def _own(options: str) -> Arena:
    """A worker's arena: a forked one has the parent's in its memory, whose engine and renderer it must not use."""
    return Arena(**json.loads(options))


class Crew:
    """arguments: of `Arena`.  workers: processes at most; None = as many as there are cores.  fork: whether they may be copies of this process, which
    is quick; those that draw or ask torch must be started anew."""

    def __init__(self, arguments: Mapping, workers: int | None, fork: bool) -> None:
        self._options = json.dumps(dict(arguments), sort_keys=True)
        self._workers = workers or len(os.sched_getaffinity(0))
        self._context = multiprocessing.get_context("fork" if fork else "spawn")

    @property
    def arena(self) -> Arena:
        """The arena of this process."""
        return arena(self._options)

    def do(self, method: str, pieces: list[tuple], steps: int) -> list:
        """`Arena.<method>` of every piece of work, in order. steps: of environments, all together."""
        work: Callable = partial(_work, self._options, os.getpid(), method)
        if min(self._workers, len(pieces)) < 2 or steps < _WORTH:
            return [work(piece) for piece in pieces]
        _ = self.arena  # what every worker's arena is made of is then in the memory that they are copies of
        try:
            with ProcessPoolExecutor(self._workers, self._context, initializer=die_with_parent) as pool:
                return list(pool.map(work, pieces))
        except BrokenProcessPool as error:
            raise Problem("a process that simulates TriFinger died, perhaps for lack of memory; give the same command again, "
                          "with a smaller env.world.workers=") from error  # fmt: skip
