"""Squared error of the transition alone, on latents that are whitened before the stage."""

from collections.abc import Iterator

from losses.nll import LatentPrediction
from losses.objective import gives


class WhitenedPrediction(LatentPrediction):
    """`LatentPrediction` on a `WhitenedEncoder`, whose directions are fitted to training frames before the stage."""

    FRAMES = 20_000
    wants_learned_encoder = False

    def needs(self, model, spec) -> Iterator[tuple[bool, str]]:
        return gives(self, model, "whitened")

    def prepare(self, model, windows) -> None:
        """Fit the whitening to frames spread over all episodes."""
        rows = len(windows.obs)
        model.encoder.fit(windows.frames(windows.starts[:: max(1, rows // self.FRAMES)]))
