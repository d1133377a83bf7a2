"""Labels of clips, read by heads: squared error of numbers and cross entropy of classes, summed over the heads."""

from collections.abc import Iterator

from torch import Tensor
from torch.nn import functional as F

from losses.objective import LossTerms, gives
from models.interfaces import Batch

COLUMNS = ("label_features", "label_prior", "label_posterior", "label_version")


def head_loss(head, out: Tensor, label: Tensor) -> Tensor:
    """Of one head, mean over the clips, a scalar.  out (B, 1) or (B, classes), label (B,)."""
    if head.classes > 1:
        return F.cross_entropy(out, label.long())
    target = label.float()
    return F.binary_cross_entropy_with_logits(out[:, 0], target) if head.classes else F.mse_loss(out[:, 0], target)


class Labels:
    """A plain sum over heads: over all in the first epochs, afterwards and in validation over those that the clips ask for.

    Which those are the labels of the training clips say: a head is left out where all of them say "irrelevant".
    every_branch: epochs in which all heads are trained.  frozen: the encoder is, so that its vectors are computed once.
    """

    columns = COLUMNS  # of an episode file, which a batch then holds

    def __init__(self, every_branch: int = 10, frozen: bool = False) -> None:
        self.every_branch, self.encoder_is_fixed = every_branch, frozen
        self.asked: list[bool] | None = None

    def needs(self, model, spec) -> Iterator[tuple[bool, str]]:
        yield from gives(self, model, "clips")

    def prepare(self, model, windows) -> None:
        """Trees are fitted and pretrained weights taken up."""
        labels = windows.labels_of(windows.starts)
        model.begin(labels)
        self.asked = [not head.irrelevant(labels[head.column]) for head in model.heads.heads]

    def __call__(self, model, batch: Batch) -> LossTerms:
        latent = model.encode(batch.obs) if batch.latent is None else batch.latent[:, 0]
        everything = model.training and model.current_epoch < self.every_branch
        terms = {"numbers": latent.new_zeros(()), "classes": latent.new_zeros(()), "posterior": latent.new_zeros(())}
        for head, out, asked in zip(model.heads.heads, model.heads(latent), self.asked or [True] * len(model.heads.heads)):
            if everything or asked:
                kind = "posterior" if head.column == "label_posterior" else "classes" if head.classes else "numbers"
                terms[kind] = terms[kind] + head_loss(head, out, batch.labels[head.column].flatten(1)[:, head.index])
        return terms
