"""Encodes clips for browsers, H.264 and VP9, so that a file tells nothing but its pictures: one size, no metadata.

PyAV and not imageio-ffmpeg: both bring the encoders, and PyAV writes and opens files without a process for each.
"""

import os
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

import av
import numpy as np
from av.codec.context import Flags
from av.video.reformatter import ColorRange, Colorspace, Interpolation, VideoReformatter

from envs.problem import Problem

SIZE = (448, 252)  # width and height of a video, 16 to 9 as the published ones; a world squeezes them to squares
RATE = 24  # frames a second
_BT709 = 1  # number of the colour space in ITU-T H.273; browsers guess where none is told
WRITTEN = 946_684_800  # time of change of every file, 2000-01-01: servers tell it
_CODECS = {  # bf=0: where pictures are reordered, the length that a file tells depends on what moves in it
    "mp4": ("libx264", {"preset": "slow", "crf": "18", "bf": "0"}, {"movflags": "faststart"}),
    "webm": ("libvpx-vp9", {"deadline": "good", "cpu-used": "4", "crf": "24", "b": "0"}, {}),
}
_SAME_BYTES = {"threads": "1"}, {"fflags": "bitexact"}  # of the codec and of the file
SUFFIXES = tuple(_CODECS)


def write_clip(frames: np.ndarray, stem: Path, size: tuple[int, int] = SIZE) -> None:
    """<stem>.mp4 and <stem>.webm.  frames (T, H, W, 3) uint8, shown RATE a second.  size: width and height, even numbers."""
    for suffix, (codec, options, muxing) in _CODECS.items():
        with av.open(stem.with_suffix(f".{suffix}"), "w", options=muxing | _SAME_BYTES[1]) as file:
            stream = file.add_stream(codec, rate=RATE, options=options | _SAME_BYTES[0])
            stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
            context = stream.codec_context
            context.flags |= Flags.bitexact
            context.colorspace = context.color_primaries = context.color_trc = _BT709
            context.color_range = ColorRange.MPEG
            scaler = VideoReformatter()  # for all frames: one for each would set up threads, which takes longer than to scale
            shown = {"width": size[0], "height": size[1], "format": "yuv420p", "dst_colorspace": Colorspace.ITU709,
                     "interpolation": Interpolation.BICUBIC, "dst_color_range": ColorRange.MPEG}  # fmt: skip
            for pixels in frames:
                frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), "rgb24")
                file.mux(stream.encode(scaler.reformat(frame, **shown)))
            file.mux(stream.encode(None))


def level(stems: Sequence[Path]) -> None:
    """Gives all files of a suffix one size and one time of change: the size of a file would tell how much moves in it."""
    for suffix, pad, least in (("mp4", _pad_mp4, 8), ("webm", _pad_webm, 9)):
        paths = [stem.with_suffix(f".{suffix}") for stem in stems]
        size = max(path.stat().st_size for path in paths) + least
        for path in paths:
            path.write_bytes(pad(path.read_bytes(), size))
            os.utime(path, (WRITTEN, WRITTEN))


def _pad_mp4(video: bytes, size: int) -> bytes:
    """A `free` box at the end, which players skip."""
    more = size - len(video)
    return video + struct.pack(">I4s", more, b"free") + bytes(more - 8)


def _pad_webm(video: bytes, size: int) -> bytes:
    """A Void element at the end of the Segment, whose length grows by it. Lengths of 8 bytes begin with the byte 1."""
    head = video.index(b"\x18\x53\x80\x67") + 4
    length = int.from_bytes(video[head : head + 8], "big") ^ 1 << 56
    if head + 8 + length != len(video):
        raise Problem(f"the encoder wrote {len(video)} bytes of WebM, its Segment has {length} and is not the rest; use av>=16")
    more = size - len(video)
    longer = (length + more | 1 << 56).to_bytes(8, "big")
    return video[:head] + longer + video[head + 8 :] + b"\xec" + (more - 9 | 1 << 56).to_bytes(8, "big") + bytes(more - 9)


def check_playable(paths: Iterable[Path]) -> None:
    """Raises Problem where a clip is missing, empty, cut off, or has no picture that can be decoded.

    paths: all clips of one suffix; they are whole where they have one size.
    """
    sizes = {path: _check_opens(path) for path in paths}
    for path, size in sizes.items():
        if size != max(sizes.values()):
            raise Problem(f"clip {path} has {size} bytes, others of the study have {max(sizes.values())}; "
                          f"copy the whole folder again")  # fmt: skip


def _check_opens(path: Path) -> int:
    """The size of a clip that can be played."""
    try:
        size = path.stat().st_size
        if not size:
            raise Problem(f"clip {path} is empty; copy the whole folder again, or build the study in another one")
        with av.open(path) as file:
            next(file.decode(video=0))
        return size
    except FileNotFoundError as error:
        raise Problem(f"clip {path} is missing; copy the whole folder again, or build the study in another one") from error
    except (OSError, av.FFmpegError, IndexError, StopIteration) as error:
        told = type(error).__name__
        raise Problem(f"clip {path} cannot be played ({told}); copy the whole folder again, or build another one") from error
