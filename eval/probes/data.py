"""What probes are asked about: held-out episodes, read once, and what several probes ask of a model, computed once."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch

from envs.episodes import EpisodeFile
from envs.frames import frame_ids
from envs.problem import Problem
from envs.streams import Stream
from eval.rollouts import actions_of, encode_frames, rollout_at
from eval.runs.answers import Answers

IMPOSSIBLE = "event_invalid"  # how columns begin that flag an action that could not be done: nothing happens there
T = TypeVar("T")


class Data:
    """E windows of a file that are long enough for every horizon: one of each episode, more where there are fewer episodes.

    obs (E, T+1, ...), what the model is shown; action (E, T+1, ...); actions (E, T+1, A), the same as the transition reads
    them. horizons: in steps.  asked: the most episodes.  counterfactuals: how many of them are asked what if.  say: is told
    what has been done.
    protocol: what results.json says of all this; probes add to it.  arrays: what a probe leaves for the report, by its name.
    answers: which episodes were answered rightly, by the metric that they make; see `keep_answers`.
    """

    def __init__(
        self, run, file: EpisodeFile, horizons: list[int], episodes: int, counterfactuals: int,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:  # fmt: skip
        longest = int(file.ep_len.max()) - 1
        if max(horizons) > longest:
            raise Problem(f"horizon {max(horizons)} is longer than the episodes of {file.path} ({longest} actions); "
                          f"shorten horizons=")  # fmt: skip
        self._run, self.file, self.horizons, self.say = run, file, sorted(horizons), say
        self.asked, self.counterfactuals, self._done = episodes, counterfactuals, {}
        (self.obs,) = self.read(run.world.shown.column)
        self.protocol = {
            "pool": len(self), "asked": episodes, "rule": "grouped", "direction": "prediction queries true outcomes",
            "ties": "count against us, of outcomes less what they share",
            "split": file.header["split"], "observation": run.world.observation,
            "episodes": min(len(self), int((file.ep_len > max(horizons)).sum())),
            "too_short": int((file.ep_len <= max(horizons)).sum()),
            "distinct": {f"h{h}": len(np.unique(self.groups(h))) for h in self.horizons},
            "events": {f"h{h}": {name: int(seen.sum()) for name, seen in self.events(h).items()} for h in self.horizons},
            "counterfactual_states": 0,
        }  # fmt: skip
        self.arrays: dict[str, dict] = {}
        self.answers: dict[str, Answers] = {}

    def __len__(self) -> int:
        return len(self.obs)

    def read(self, *names: str) -> list[np.ndarray]:
        """Columns of the windows, (E, T+1, ...) each."""
        return self.file.windows(*names, steps=max(self.horizons), count=self.asked)

    def _once(self, *key, make: Callable[[], T]) -> T:
        if key not in self._done:
            self._done[key] = make()
        return self._done[key]

    def keep_answers(self, metric: str, answers: Answers, which: np.ndarray | slice = slice(None)) -> None:
        """Answers of windows, all or some, by their episodes: windows of one overlap,
        and one more of them is hardly another chance."""
        starts = self.file.starts(max(self.horizons), self.asked)[which]
        self.answers[metric] = answers.together(np.searchsorted(self.file.ep_offset, starts, "right"))

    @property
    def data_dir(self) -> Path | None:
        """Where other splits of the same data lie; none: where the run found its own."""
        folder = self.file.path.parent
        return None if folder == Path(self._run.config.data_dir) else folder

    @cached_property
    def action(self) -> np.ndarray:
        if not self._run.world.spec.action.size:  # a video records none
            return np.zeros((*self.obs.shape[:2], 0), np.float32)
        return self.read("action")[0]

    @cached_property
    def actions(self) -> torch.Tensor:
        return actions_of(self.action, self._run.world.spec)

    @cached_property
    def state(self) -> np.ndarray:
        """(E, T+1, ...) rows of the column `state`, for worlds that go on from them."""
        return self.read("state")[0]

    @cached_property
    def chosen(self) -> np.ndarray:
        """The episodes that are asked what if, the same for every run; none where nobody asks."""
        return Stream.ASKED.rng().permutation(len(self))[: self.counterfactuals]

    @cached_property
    def start(self) -> torch.Tensor:
        """Latents (E, K, D) of the first observations."""
        return encode_frames(self._run.model, self.obs[:, 0])

    def target(self, horizon: int) -> torch.Tensor:
        """Latents (E, K, D) of the true outcomes."""
        return self._once("target", horizon, make=lambda: encode_frames(self._run.model, self.obs[:, horizon]))

    def predicted(self, horizon: int) -> torch.Tensor:
        """Latents (E, K, D) predicted in open loop from the first observations."""
        return self._predicted[horizon]

    @cached_property
    def _predicted(self) -> dict[int, torch.Tensor]:
        """By the horizons, of one rollout over the longest."""
        return dict(
            zip(self.horizons, rollout_at(self._run.model, self.start, self.actions[:, : max(self.horizons)], self.horizons))
        )

    def groups(self, horizon: int) -> np.ndarray:
        """(E,) equal for episodes whose outcomes are the same."""
        resolution = self._run.world.shown.resolution
        return self._once("groups", horizon, make=lambda: frame_ids(self.obs[:, horizon], resolution))

    def events(self, horizon: int) -> dict[str, np.ndarray]:
        """Which episodes saw an event in their first `horizon` steps, (E,) bool each."""
        return {name: seen[:, :horizon].any(1) for name, seen in self._events.items()}

    @cached_property
    def _events(self) -> dict[str, np.ndarray]:
        known = dict.fromkeys((*self.file.columns, *self.file.made_from))
        names = [name for name in known if name.startswith("event_") and not name.startswith(IMPOSSIBLE)]
        return {name.removeprefix("event_"): seen for name, seen in zip(names, self.read(*names))} if names else {}
