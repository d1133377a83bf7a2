"""Exit codes and sentences for commands that a signal or a lack of memory ends."""

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
    """Raised by SIGTERM. Libraries clean up and let it pass, as any SystemExit."""


@contextmanager
def sigterm_raises() -> Iterator[None]:
    """SIGTERM ends the worker processes of this one and raises Terminated; without effect outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    owner = os.getpid()

    def end(number: int, frame) -> None:
        if os.getpid() != owner:  # a forked worker inherits the handler, and simply ends
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
            return
        for worker in multiprocessing.active_children():  # code that waits for them would wait for all their work
            worker.terminate()
        raise Terminated(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def signals_end_in_a_sentence(sweep: bool) -> Iterator[None]:
    """Turn the exception of a signal into a sentence and the exit code 128 + its number: stopped is not done."""
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
    """The signal behind an exception. Lightning exits without a code after SIGTERM, with code 1 after Ctrl-C; we do neither."""
    if isinstance(end, KeyboardInterrupt):
        return signal.SIGINT
    if isinstance(end, Terminated) or end.code is None:
        return signal.SIGTERM
    return signal.SIGINT if end.code == 1 and isinstance(end.__context__, KeyboardInterrupt) else None


def memory_sentence(error: BaseException | None) -> str | None:
    """A sentence if memory ran out, by the error or a cause of it, of numpy, Python or torch; else None."""
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
