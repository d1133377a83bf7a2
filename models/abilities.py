"""What a model, a part of it or an objective can do beyond its promise: small protocols, asked for by `isinstance`.

What one merely is (the kind of its latents, columns that it reads) is an attribute with a usual value. Letters as in
`models.interfaces`.
"""

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from torch import Tensor

from models.interfaces import Latent

# -- models -----------------------------------------------------------------------------------------------------------


@runtime_checkable
class JudgesClips(Protocol):
    """A model that says how much whole clips (B, T, C, H, W) surprise, and predicts no frames. Its encoder gives clips."""

    def judge(self, obs: Tensor, posterior: Tensor) -> Tensor:
        """Surprise (B,) at clips in which `posterior` (B, 9) was observed; no, yes, irrelevant: 0, 1, 2."""

    def judge_latent(self, latent: Tensor, posterior: Tensor) -> Tensor:
        """`judge` of clips that were encoded, latent (B, 1, D)."""

    def answers(self, obs: Tensor) -> Tensor:
        """What is read off clips, (B, heads), in the order of `heads.heads`."""


@runtime_checkable
class Filters(Protocol):
    """A model that can be given what was seen, from which its rollouts go on where its transition `Remembers`."""

    def filter(self, latents: Tensor, actions: Tensor) -> Tensor | None:
        """The memory of a history: latents (B, T+1, K, D), actions (B, T, A)  ->  (B, M);
        None where its transition keeps none.
        """


# -- transitions -------------------------------------------------------------------------------------------------------


@runtime_checkable
class Remembers(Protocol):
    """A transition with memory, which is a value (B, M) and never kept on the module; a call without one begins an episode."""

    def start(self, latent: Tensor) -> Tensor:
        """The memory at the start of an episode: latent (B, K, D)  ->  (B, M)."""

    def step(self, latent: Tensor, action: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """One step: latent (B, K, D), action (B, A), memory (B, M)  ->  (next latent (B, K, D), memory (B, M))."""


@runtime_checkable
class ComparesFrames(Protocol):
    """A transition whose memory holds the frame before, to learn from what has changed: another board is no change of it."""

    def elsewhere(self, memory: Tensor, seen: Tensor, latent: Tensor) -> Tensor:
        """The memory (B, M) once what the last step came to is read too, seen (B, K, D), and another board, latent (B, K, D),
        is where it goes on."""


@runtime_checkable
class ReadsWindows(Protocol):
    """A transition that uses more of a training window than one frame:
    earlier frames, or the true next values of other slots.
    """

    def windows(self, latent: Tensor, action: Tensor) -> Tensor:
        """Predictions of all steps: latent (B, T+1, K, D), action (B, T, A)  ->  (B, T, K, D)."""


@runtime_checkable
class TriesAll(Protocol):
    """A transition that computes what all actions share once."""

    def all_actions(self, latent: Tensor, actions: Tensor) -> Tensor:
        """One step under each of some actions: latent (B, K, D), actions (N, A)  ->  (B, N, K, D)."""


@runtime_checkable
class KeepsStatistics(Protocol):
    """A transition that keeps statistics of what it is trained on."""

    def track(self, latent: Tensor, action: Tensor) -> None:
        """Called with every training window: latent (B, T+1, K, D), action (B, T, A)."""


@runtime_checkable
class Penalised(Protocol):
    """A transition with losses of its own."""

    def penalties(self) -> dict[str, Tensor]:
        """Named scalars, added to every loss that trains it."""


@runtime_checkable
class Stochastic(Protocol):
    """A transition that says a distribution of the next latent."""

    def prior(self, latent: Tensor, action: Tensor) -> Latent:
        """Of the frames after the first of windows: latent (B, T+1, K, D), action (B, T, A)  ->  (B, T, K, D) each."""


@runtime_checkable
class DrawsGraph(Protocol):
    """A transition whose slots read one another along a graph.  graph: learned, or what it was told."""

    graph: str

    def edges(self) -> Tensor:
        """Probability of every edge, [child, parent].  (K, K) in [0, 1]."""


# -- parts and objectives ----------------------------------------------------------------------------------------------


@runtime_checkable
class Demands(Protocol):
    """A part, or an objective, that does not go with everything."""

    def needs(self, model, spec) -> Iterator[tuple[bool, str]]:
        """(is met, sentence that says what to change) pairs.  spec: `cfg.spec`."""


@runtime_checkable
class Prepared(Protocol):
    """An objective that looks at the data before its stage."""

    def prepare(self, model, windows) -> None:
        """windows: those of training."""


@runtime_checkable
class Stateful(Protocol):
    """An objective that keeps something beside the model, which goes with the state of its stage."""

    def state_dict(self) -> dict: ...

    def load_state_dict(self, state: dict) -> None: ...
