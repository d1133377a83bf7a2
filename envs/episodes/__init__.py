"""The episode file: one HDF5 file, one dataset per column, header and checksum, never half-written.

An episode of T actions has T+1 rows; `action[t]` leads from row t to row t+1 and `reward[t]` is its consequence; both
are padding in the last row. Rows of all episodes follow one another; `ep_len` and `ep_offset` (both in rows) say where
each begins, the layout that `stable_worldmodel.data` reads. Episodes may differ in length. The header of collected data
holds the spec of the columns (`envs/spec.py`) and the bytes of a row on the disk.
"""

from envs.episodes.blocks import FORMAT
from envs.episodes.file import DESCRIBES, Column, EpisodeFile
from envs.episodes.writer import EpisodeWriter, part_of

__all__ = ["DESCRIBES", "FORMAT", "Column", "EpisodeFile", "EpisodeWriter", "part_of"]
