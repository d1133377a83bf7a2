"""Squared error of the transition alone, on latents that are whitened before the stage."""

from collections.abc import Iterator

import torch

from losses.nll import LatentPrediction
from losses.objective import gives


class WhitenedPrediction(LatentPrediction):
    """`LatentPrediction` on a `WhitenedEncoder`, whose directions are fitted to training frames before the stage."""

    FRAMES = 20_000  # or all, where there are fewer
    wants_learned_encoder = False

    def needs(self, model, spec) -> Iterator[tuple[bool, str]]:
        return gives(self, model, "whitened")

    def prepare(self, model, windows) -> None:
        """Fit the whitening to frames spread evenly over all episodes, their ends too."""
        rows = windows.rows
        model.encoder.fit(windows.frames(rows[torch.linspace(0, len(rows) - 1, min(self.FRAMES, len(rows))).round().long()]))
