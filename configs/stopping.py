"""What ends a command before its work is done, a signal or too little memory: an exit code and a sentence for each."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SAID = {signal.SIGTERM: "terminated", signal.SIGINT: "interrupted"}
_OUT_OF_MEMORY = ("not enough memory", "out of memory", "can't allocate memory", "Cannot allocate memory")


class Terminated(SystemExit):
    """SIGTERM arrived. Libraries clean up and let it pass, as they do when a program ends itself."""


@contextmanager
def sigterm_raises() -> Iterator[None]:
    """Within, SIGTERM ends the worker processes of this one and raises Terminated; outside the main thread nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    owner = os.getpid()

    def end(number: int, frame) -> None:
        if os.getpid() != owner:  # a forked worker has the handler too, and nobody to tell
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
            return
        for worker in multiprocessing.active_children():  # whoever waits for them would wait until their work is done
            worker.terminate()
        raise Terminated(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def stops_are_told(sweep: bool) -> Iterator[None]:
    """What a signal raises becomes a sentence and the exit code 128 + its number, so that "stopped" never reads as "done"."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as end:
        number = _signal_of(end)
        if number is None:
            raise
        later = "; the sweep stops here, its later jobs do not start" if sweep else ""
        print(f"{SAID[number]}{later}; give the same command again to go on", file=sys.stderr, flush=True)
        sys.exit(128 + number)


def _signal_of(end: BaseException) -> signal.Signals | None:
    """Lightning ends by itself: without a code after SIGTERM, with code 1 after Ctrl-C. None of our commands does either."""
    if isinstance(end, KeyboardInterrupt):
        return signal.SIGINT
    if isinstance(end, Terminated) or end.code is None:
        return signal.SIGTERM
    return signal.SIGINT if end.code == 1 and isinstance(end.__context__, KeyboardInterrupt) else None


def memory_sentence(error: BaseException | None) -> str | None:
    """What to tell where memory ran out: numpy's, Python's, torch's on a CPU or a GPU, or a cause within; else None."""
    while error is not None:
        known = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
        if known or (isinstance(error, RuntimeError | OSError) and any(text in str(error) for text in _OUT_OF_MEMORY)):
            said = (str(error).strip() or type(error).__name__).splitlines()[0]
            return (
                f"memory ran out ({said}); take a smaller batch (loss.stages.0.batch_size=), fewer episodes "
                "(env.splits.train.episodes=, score.episodes=, episodes=) or a machine with more memory"
            )
        error = error.__cause__
    return None
