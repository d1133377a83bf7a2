"""Atomic file writes, safe against concurrent writers and kills."""

import glob
import os
import threading
import time
from contextlib import suppress
from pathlib import Path

from envs.problem import Problem

FORGOTTEN = 3600  # seconds after which a half-written file is that of a writer that was killed


def check_writable(folder: Path, key: str) -> None:
    """Raise Problem on a folder that cannot be made or written, before hours of work for it.

    key: of the config, which names it.
    """
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise Problem(f"cannot write {folder}: {existing} is not a folder; choose another {key}=")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise Problem(f"cannot write {folder}: {existing} may not be written; choose another {key}=")


def write_whole(path: Path, content: str | bytes) -> Path:
    """Write a file whole or not at all."""
    for left in path.parent.glob(f"{glob.escape(path.name)}.*.part"):
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > FORGOTTEN:
                left.unlink()
    part = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.part")  # nobody else's, however many write
    try:
        part.write_bytes(content.encode() if isinstance(content, str) else content)
        part.replace(path)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # a full disk does not say where it is
        raise
    return path
