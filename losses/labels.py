"""Labels of clips, read by heads: squared error of numbers and cross entropy of classes, summed over the heads."""

from collections.abc import Iterator

from torch import Tensor
from torch.nn import functional as F

from losses.objective import LossTerms, gives
from models.interfaces import Batch

COLUMNS = ("label_features", "label_prior", "label_posterior", "label_version")


def head_loss(head, out: Tensor, label: Tensor, spread: float = 1.0) -> Tensor:
    """Of one head, mean over the clips, a scalar.  out (B, 1) or (B, classes), label (B,); numbers are counted in `spread`."""
    if head.classes > 1:
        return F.cross_entropy(out, label.long())
    target = label.float()
    if head.classes:
        return F.binary_cross_entropy_with_logits(out[:, 0], target)
    return F.mse_loss(out[:, 0] / spread, target / spread)


class Labels:
    """A plain sum over heads: over all in the first epochs, afterwards and in validation over those that the clips ask for.

    Clips do not ask for a head whose label is "irrelevant" in all of those for training.
    every_branch: epochs in which all heads are trained.  scaled: errors of numbers are counted in the standard deviation of the
    training labels, and their heads begin at the mean; false: as the labels are, as published.  frozen: the encoder is, so that
    its vectors are computed once.
    """

    columns = COLUMNS  # of an episode file, which a batch then holds

    def __init__(self, every_branch: int = 10, frozen: bool = False, scaled: bool = False) -> None:
        self.every_branch, self.encoder_is_fixed, self.scaled = every_branch, frozen, scaled
        self.asked: list[bool] | None = None
        self.spread: list[float] | None = None

    def needs(self, model, spec) -> Iterator[tuple[bool, str]]:
        yield from gives(self, model, "clips")

    def prepare(self, model, windows) -> None:
        """Fits trees, takes up pretrained weights, and notes which heads the clips ask for and how their labels spread."""
        labels = windows.labels_of(windows.starts)
        model.begin(labels)
        self.asked = [not head.irrelevant(labels[head.column]) for head in model.heads.heads]
        if self.scaled:
            self.spread = model.heads.begin(labels)

    def __call__(self, model, batch: Batch) -> LossTerms:
        latent = model.clips(batch)
        everything = model.training and model.current_epoch < self.every_branch
        terms = {"numbers": latent.new_zeros(()), "classes": latent.new_zeros(()), "posterior": latent.new_zeros(())}
        heads = model.heads.heads
        known = zip(self.asked or [True] * len(heads), self.spread or [1.0] * len(heads))
        for head, out, (asked, spread) in zip(heads, model.heads(latent), known):
            if everything or asked:
                kind = "posterior" if head.column == "label_posterior" else "classes" if head.classes else "numbers"
                terms[kind] = terms[kind] + head_loss(head, out, batch.labels[head.column].flatten(1)[:, head.index], spread)
        return terms
