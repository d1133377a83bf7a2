"""PyBullet with its console output silenced."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from envs.problem import lacking


@contextmanager
def _quiet() -> Iterator[None]:
    """Discards what C code prints."""
    libc = ctypes.CDLL(None)
    kept, nowhere = [os.dup(stream) for stream in (1, 2)], os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    libc.fflush(None)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    try:
        yield
    finally:
        libc.fflush(None)
        for stream, before in zip((1, 2), kept):
            os.dup2(before, stream)
        for open_file in (*kept, nowhere):
            os.close(open_file)


try:
    with _quiet():
        import pybullet
        from pybullet_utils.bullet_client import BulletClient
except ModuleNotFoundError as error:
    raise lacking(error.name) from error


class Client(BulletClient):
    """Looks every function up once: the parent binds it anew on each call, which costs as much as some of them."""

    def __getattr__(self, name: str):
        found = super().__getattr__(name)
        setattr(self, name, found)
        return found


def new_client() -> Client:
    """A separate simulation without a window."""
    with _quiet():
        return Client(connection_mode=pybullet.DIRECT)
