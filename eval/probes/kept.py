"""What the true world answered, kept beside the data where it took long: every model of a table is asked the same."""

import hashlib
import io
import json
import time
from collections.abc import Callable, Mapping

import numpy as np

from envs.episodes import EpisodeFile
from envs.whole_files import write_whole

WORTH = 10.0  # seconds of asking from which an answer is kept
VERSION = 1  # of how the world is asked: another one forgets all answers
Arrays = Mapping[str, np.ndarray]


def kept(
    file: EpisodeFile, name: str, asked: Arrays, about: Mapping, make: Callable[[], dict[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """`make()`, or what it gave when the same was asked before.

    file: whose states are gone on from; its header names everything that decides a byte.  asked, about: what else decides the
    answer, arrays and plain values.  A damaged answer is made again.
    """
    digest = hashlib.sha256(json.dumps([VERSION, name, file.header, about], sort_keys=True, default=str).encode())
    for key, array in sorted(asked.items()):
        digest.update(f"{key} {array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    path = file.path.with_name(f"{file.path.stem}-{name}-{digest.hexdigest()[:12]}.npz")
    try:
        with np.load(path) as found:
            return dict(found)
    except Exception:  # not asked yet, or damaged: a flipped bit can raise nearly anything
        pass
    start = time.monotonic()
    answer = make()
    if time.monotonic() - start >= WORTH:
        content = io.BytesIO()
        np.savez_compressed(content, **answer)
        try:
            write_whole(path, content.getvalue())
        except OSError:
            pass  # a folder that may only be read, or a full disk: the answer is there all the same
    return answer
