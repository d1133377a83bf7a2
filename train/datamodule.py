"""Batches of windows, gathered by index: no Python per item, no copies as floats.

Episodes lie in memory; observations above a memory budget stay on the disk and are read batch by batch.
"""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from pytorch_lightning import LightningDataModule
from torch import Tensor

from envs.episodes import EpisodeFile
from envs.episodes.on_disk import OnDisk
from envs.frames import frame_ids
from envs.problem import Problem
from envs.protocols import Violations
from envs.spec import EnvSpec, Observation
from models.abilities import JudgesClips
from models.actions import vector
from models.interfaces import Batch
from models.layers.pixels import as_obs
from models.processes import count, gather, own_rows

BATCH = 512  # frames encoded at a time


class Streamed(OnDisk):
    """Observations on the disk, with the `index_select` of a tensor."""

    def index_select(self, _: int, rows: Tensor) -> Tensor:
        return torch.from_numpy(self.take(rows.numpy()))


def streams(files: Sequence[EpisodeFile], shown: Observation, stream: bool | str, memory_gb: float, copies: int = 1) -> bool:
    """Whether the observations of these files stay on the disk: true, false, or auto, if they take more than memory_gb.

    A byte for every binary number, four for others.  copies: processes of this machine that would each keep all of them. Raises
    Problem if they must not be streamed and exceed memory.
    """
    rows = sum(int(file.ep_len.sum()) for file in files)
    need = copies * rows * math.prod(shown.shape) * (1 if shown.values == "binary" else 4)
    if stream == "auto":
        return need > memory_gb * 1e9
    if not stream and need > (present := machine_memory()):
        raise Problem(f"data.stream=false keeps observations '{shown.column}' of training in memory; they take "
                      f"{need / 1e9:.1f} GB{f' in {copies} processes' if copies > 1 else ''}, and this machine has "
                      f"{present / 1e9:.1f} GB; set data.stream=auto")  # fmt: skip
    return stream


def machine_memory() -> int:
    """Bytes of memory that the machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _epoch_seed(seed: int, epoch: int) -> int:
    """The seed of the generator that draws an epoch: different for every (seed, epoch).

    A round counts as train.rounds.PASSES (100,000) epochs, so ten rounds fill the 1,000,003 numbers between one seed and the
    next. Every further million epochs therefore starts 10^16 higher, where no other seed reaches.
    """
    far, near = divmod(epoch, 1_000_000)
    return seed * 1_000_003 + near + far * 10**16


class Windows:
    """Batches of windows of T steps, in an order that depends on (seed, epoch, chances) alone.

    One epoch has as many transitions as the file, and a window once at most. `chances` of each start make some windows
    likelier to be in it (none: uniform); where an epoch holds all of them, `hold_all`, they decide nothing. `shuffle=False`
    visits non-overlapping windows once, in a fixed mixed order, so that a batch of validation mixes episodes as a batch of
    training does.
    Processes that share the batches each take their part of every batch. A last batch with fewer windows than processes joins
    the one before it; no other batch differs from those of one process.

    spec: of the run; the file must have the same.  observation: its name in the spec. Episodes shorter than a window give
    none.  stream: read observations when they are needed; the batches are the same.
    """

    def __init__(
        self, file: EpisodeFile, spec: EnvSpec, window: int, batch_size: int, seed: int, shuffle: bool,
        observation: str = "pixels", stream: bool = False,
    ) -> None:  # fmt: skip
        if file.spec is not None and (differs := spec.difference(file.spec)):
            raise Problem(f"{file.path} was recorded under another spec than the run has ({differs}); collect it again under "
                          f"the run's env, or choose another data_dir=")  # fmt: skip
        longest = int(file.ep_len.max()) - 1
        if window > longest:
            raise Problem(f"window={window} is longer than the episodes of {file.path} ({longest} actions); "
                          f"set loss.window={longest} or less")  # fmt: skip
        shown, rows, self.spec, self.streamed = spec.shown(observation), int(file.ep_len.sum()), spec, stream
        action = file.read("action")["action"] if spec.action.size else np.empty((rows, 0), np.float32)  # none: a video
        obs = Streamed(file, shown.column) if stream else file.read(shown.column)[shown.column]
        parts = [(part.shape[1:], frame_ids(part, shown.resolution)) for part in (obs.blocks() if stream else [obs])]
        if parts[0][0] != shown.shape:
            raise Problem(f"rows of column '{shown.column}' of {file.path} have shape {parts[0][0]}, the spec of the run says "
                          f"{shown.shape}; collect it again under the run's env, or choose another data_dir=")  # fmt: skip
        self.obs, self.action = obs if stream else torch.from_numpy(obs), torch.from_numpy(action)
        self.obs_id = torch.from_numpy(np.concatenate([ids for _, ids in parts]))
        self.rounded = shown.resolution > 0  # then rows of one id may differ
        self.latent: Tensor | None = None
        self.chances: Tensor | None = None
        self.labels: dict[str, Tensor] = {}  # columns (rows, ...) that the objective names
        lengths, offsets = torch.from_numpy(file.ep_len).long(), torch.from_numpy(file.ep_offset)
        self.transitions = int((lengths - 1).sum())
        stride = 1 if shuffle else window
        starts = [o + torch.arange(0, max(0, n - window), stride) for n, o in zip(lengths.tolist(), offsets.tolist())]
        self.starts = torch.cat(starts)
        self.steps = torch.arange(window + 1)
        self.windows_per_batch = max(1, batch_size // window)
        self.windows = max(1, min(len(self.starts), self.transitions // window))
        self.seed, self.shuffle, self.epoch = seed, shuffle, 0

    @property
    def hold_all(self) -> bool:
        """Whether an epoch has room for every window, as it has for single steps."""
        return self.windows == len(self.starts)

    @property
    def rows(self) -> Tensor:
        """Rows of the file that some window holds, in order, (R,): starts alone leave out how episodes end."""
        return (self.starts[:, None] + self.steps).unique()

    def __len__(self) -> int:
        whole, rest = divmod(self.windows, self.windows_per_batch)
        return max(1, whole + (rest >= count()))

    def __iter__(self) -> Iterator[Batch]:
        generator = torch.Generator().manual_seed(_epoch_seed(self.seed, self.epoch if self.shuffle else 0))
        if self.chances is None:
            drawn = torch.randperm(len(self.starts), generator=generator)[: self.windows]
        else:
            drawn = torch.multinomial(self.chances, self.windows, generator=generator)
            drawn = drawn[torch.randperm(len(drawn), generator=generator)]  # multinomial draws the likely ones first
        batches = list(self.starts[drawn].split(self.windows_per_batch))
        if len(batches) > len(self):
            batches[-2:] = [torch.cat(batches[-2:])]
        for starts, batch in zip(batches, self._gathered([own_rows(starts) for starts in batches])):
            batch.weight = len(batch.action) * count() / len(starts)
            yield batch

    def _gathered(self, batches: list[Tensor]) -> Iterator[Batch]:
        """The batches in order; a streamed batch is read while the one before it trains the model."""
        if not self.streamed:
            yield from map(self.gather, batches)
            return
        with ThreadPoolExecutor(1) as reader:
            following = reader.submit(self.gather, batches[0])
            for ahead in (*batches[1:], None):
                batch = following.result()
                following = None if ahead is None else reader.submit(self.gather, ahead)
                yield batch

    def gather(self, starts: Tensor) -> Batch:
        """The windows that begin at these rows."""
        rows = starts[:, None] + self.steps
        action = self.actions(rows[:, :-1])
        if self.latent is not None:
            latent = self.latent.index_select(0, rows.flatten()).unflatten(0, rows.shape)
            return Batch(None, action, self.obs_id[rows], latent, labels=self.labels_of(starts))
        obs = self.frames(rows.flatten()).unflatten(0, rows.shape)
        return Batch(obs, action, self.obs_id[rows], labels=self.labels_of(starts))

    def labels_of(self, starts: Tensor) -> dict[str, Tensor]:
        """Labels of the windows that begin at these rows, (B, ...) each."""
        return {name: column[starts] for name, column in self.labels.items()}

    def frames(self, rows: Tensor) -> Tensor:
        """Observations of these rows, (R,) -> (R, 3, H, W) uint8 or (R, N, F) float."""
        return as_obs(self.obs.index_select(0, rows))  # ten times faster than self.obs[rows]

    def encode(self, model) -> Tensor:
        """Latents of all rows, (R, K, D) on the CPU; equal frames are encoded once, rows of real numbers each,
        and processes share the work.

        Of a model of clips every row of a window has the latent of the window.
        """
        if isinstance(model, JudgesClips):
            return self._encode_clips(model)
        names, index = (torch.arange(len(self.obs_id)) if self.rounded else self.obs_id).unique(return_inverse=True)
        rows = torch.empty_like(names).scatter_(0, index, torch.arange(len(index)))  # one of each
        if self.streamed:  # in the order of the file: an episode is unpacked once
            rows, order = rows.sort()
            index = order.argsort()[index]
        parts = [model.encode(self.frames(part).to(model.device)).float() for part in own_rows(rows).split(BATCH)]
        return gather(torch.cat(parts)).cpu().index_select(0, index)

    def _encode_clips(self, model) -> Tensor:
        starts = own_rows(self.starts)
        parts = [model.encode(self.gather(part).obs.to(model.device)).float() for part in starts.split(self.windows_per_batch)]
        clips = gather(torch.cat(parts)).cpu()
        latent = clips.new_zeros(len(self.obs_id), *clips.shape[1:])
        latent[self.starts[:, None] + self.steps] = clips[:, None]
        return latent

    def actions(self, rows: Tensor) -> Tensor:
        """Rows of any shape -> (..., A) as the transition reads them."""
        return vector(self.action[rows], self.spec.action)


def splits_of(model, world) -> tuple[str, ...]:
    """Splits that training needs: train, valid, and for a model of clips valid with a violated cause where the world has it."""
    pairs = world.versions("valid") if isinstance(model, JudgesClips) and isinstance(world, Violations) else {}
    return ("train", "valid", pairs["surprising"]) if "surprising" in pairs else ("train", "valid")


class EpisodeData(LightningDataModule):
    """Training and validation windows of two episode files; re-cut for every stage by `cut`.

    surprising: the validation clips with a violated cause, by which models of clips choose their best epoch; none: by the loss.
    copies: processes of this machine that have these data, each all of them.
    """

    def __init__(
        self, train: EpisodeFile, valid: EpisodeFile, spec: EnvSpec, seed: int, observation: str = "pixels",
        stream: bool | str = "auto", memory_gb: float = 8, surprising: EpisodeFile | None = None, copies: int = 1,
    ) -> None:  # fmt: skip
        super().__init__()
        files = (train, valid) if surprising is None else (train, valid, surprising)
        for file in files:
            for column in (spec.shown(observation).column, *(["action"] if spec.action.size else [])):
                file.source(column)  # Problem on a file without it, before a run folder is made
        self.stream = streams(files, spec.shown(observation), stream, memory_gb, copies)
        self.files, self.spec, self.seed, self.observation = files, spec, seed, observation
        self._cut: tuple | None = None
        self.loader: Callable[[Windows, int], Iterable[Batch]] | None = None  # of a stage whose epochs are no passes

    @classmethod
    def of(
        cls, cfg, train: EpisodeFile, valid: EpisodeFile, world, surprising: EpisodeFile | None = None, copies: int = 1
    ) -> "EpisodeData":
        """The data of a run, by its config; old runs have no key `data`.  copies: processes of this machine that have them."""
        how = {"stream": cfg.data.stream, "memory_gb": cfg.data.memory_gb} if "data" in cfg else {}
        return cls(train, valid, world.spec, cfg.seed, world.observation, **how, surprising=surprising, copies=copies)

    def cut(self, window: int, batch_size: int) -> None:
        """Set the windows of the next stage; equal windows are kept."""
        if self._cut != (window, batch_size):
            self._cut = (window, batch_size)
            self.parts = tuple(
                Windows(file, self.spec, window, batch_size, self.seed, not number, self.observation, self.stream)
                for number, file in enumerate(self.files)
            )
            self.train, self.valid = self.parts[:2]
        for part in self.parts:
            part.latent = part.chances = None  # of the weights, and of the errors, of the stage before

    def label(self, columns: Sequence[str]) -> None:
        """Batches of the next stage hold these columns of the files, beside what models are shown."""
        columns = {*columns, "label_trial"} if len(self.parts) > 2 else columns
        for file, part in zip(self.files, self.parts):
            found = file.read(*columns) if columns else {}
            part.labels = {name: torch.from_numpy(np.ascontiguousarray(v)).view(len(v), -1) for name, v in found.items()}

    @torch.inference_mode()
    def keep_latents(self, model) -> None:
        """Encode all frames with a frozen encoder; batches then hold latents instead of frames."""
        model.eval()
        for part in self.parts:
            part.latent = part.encode(model)

    def train_dataloader(self) -> Iterable[Batch]:
        if self.loader is not None:
            return self.loader(self.train, self.trainer.current_epoch)
        self.train.epoch = self.trainer.current_epoch  # the stage's Trainer asks anew every epoch
        return self.train

    def val_dataloader(self) -> Windows:
        return self.valid
