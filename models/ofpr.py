"""OFPR-Net and its comparisons: models that judge a clip, surprising or not, from what heads read off a video."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from models.interfaces import Batch
from models.trees import Rules
from models.world_model import WorldModel

# The 24 features in their order; a number behind a name: how many classes, the last of them "irrelevant".
FEATURES = {
    "object_height": 0, "object_width": 0, "left_size": 0, "right_size": 0, "left_prior_speed": 0, "right_prior_speed": 0,
    "left_posterior_speed": 0, "right_posterior_speed": 0, "left_prior_direction": 3, "right_prior_direction": 3,
    "left_posterior_direction": 3, "right_posterior_direction": 3, "container_height": 0, "container_width": 0,
    "wall_opening": 3, "wall_soft": 3, "opening_width": 0, "opening_height": 0, "contact_point": 0,
    "middle_segment_height": 0, "object_shape": 8, "left_shape": 8, "right_shape": 8, "container_shape": 3,
}  # fmt: skip
POSTERIOR = (
    "support_holds", "seen_in_middle", "fit", "protrude", "right_changed_direction", "left_changed_direction",
    "right_sped_up", "left_sped_up", "passed_through",
)  # fmt: skip
RULES = 3  # answers of a rule: no, yes, irrelevant
POSTERIOR_SPEEDS = tuple(number for number, name in enumerate(FEATURES) if "posterior" in name)
MISSING = -1.0  # the label of a number that is irrelevant


class Head(NamedTuple):
    """What a head reads: entry `index` of a column of labels; classes 0: a number, 1: yes or no, more: one of them."""

    name: str
    column: str
    index: int
    classes: int

    def irrelevant(self, labels: Tensor) -> bool:
        """Whether the labels of all clips (M, ...) say that there is nothing to be read."""
        if self.classes == 1:
            return False
        own = labels.flatten(1)[:, self.index]
        return bool((own == (self.classes - 1 if self.classes else MISSING)).all())


FEATURE_HEADS = tuple(Head(name, "label_features", n, classes) for n, (name, classes) in enumerate(FEATURES.items()))
POSTERIOR_HEADS = tuple(Head(name, "label_posterior", n, RULES) for n, name in enumerate(POSTERIOR))
VERSION_HEAD = Head("surprising", "label_version", 0, 1)


class Heads(nn.Module):
    """One perceptron for each head on the vector of a clip: latent (B, 1, D)  ->  a list of (B, 1), or (B, classes) logits."""

    def __init__(self, heads: Sequence[Head], width: int = 700) -> None:
        super().__init__()
        if width < 8:
            raise ValueError(f"heads halve the vector of a clip three times, got width={width}; set model.width= to 8 or more")
        self.heads = tuple(heads)
        halves = [width, width // 2, width // 4, width // 8]
        self.nets = nn.ModuleList()
        for head in self.heads:
            layers = [m for a, b in zip(halves, halves[1:]) for m in (nn.Linear(a, b), nn.ReLU())]
            self.nets.append(nn.Sequential(*layers, nn.Linear(halves[-1], max(1, head.classes))))

    @torch.no_grad()
    def begin(self, labels: dict[str, Tensor]) -> list[float]:
        """Numbers begin at mean and spread of the labels of all training clips (M, ...).  -> the spread of every head.

        Of classes it is 1, and of numbers at least .1: a constant would have none.
        """
        spreads = []
        for head, net in zip(self.heads, self.nets):
            of, spread = labels[head.column].flatten(1)[:, head.index].double(), 1.0
            if not head.classes:
                spread = max(0.1, float(of.std(unbiased=False)))
                net[-1].weight.mul_(spread)
                net[-1].bias.fill_(of.mean())
            spreads.append(spread)
        return spreads

    def forward(self, latent: Tensor) -> list[Tensor]:
        with torch.autocast(latent.device.type, enabled=False):  # numbers are compared with each other: no halved digits
            return [net(latent[:, 0].float()) for net in self.nets]

    def answers(self, latent: Tensor) -> Tensor:
        """(B, heads): the number, the likeliest class, or the probability of yes."""
        told = []
        for head, out in zip(self.heads, self(latent)):
            told.append(out.argmax(1) if head.classes > 1 else out[:, 0].sigmoid() if head.classes else out[:, 0])
        return torch.stack([one.float() for one in told], 1)


class ClipModel(WorldModel):
    """A video encoder and heads. It judges clips and predicts no frames: of the verbs `encode` takes clips (B, T, C, H, W).

    heads: what is read.  A subclass says with `_judge` how what is read surprises.
    """

    PARTS = ("encoder", "heads")

    def __init__(self, encoder: nn.Module, heads: Sequence[Head], width: int = 700) -> None:
        super().__init__(encoder, None)
        self.heads = Heads(heads, width)

    def begin(self, labels: dict[str, Tensor]) -> None:
        """Told the labels of all training clips (M, ...) before training."""
        self.encoder.begin()

    def clips(self, batch: Batch) -> Tensor:
        """Latents (B, 1, D) of the clips of a batch: those of a frozen encoder are there already."""
        return self.encode(batch.obs) if batch.latent is None else batch.latent[:, 0]

    @torch.no_grad()
    def answers(self, obs: Tensor) -> Tensor:
        """What the heads read off clips: (B, T, C, H, W)  ->  (B, heads)."""
        return self.heads.answers(self.encode(obs))

    def judge(self, obs: Tensor, posterior: Tensor) -> Tensor:
        """Surprise (B,) at clips (B, T, C, H, W) in which `posterior` (B, 9) was observed; no, yes, irrelevant: 0, 1, 2."""
        return self._judge(self.answers(obs), posterior)

    def judge_latent(self, latent: Tensor, posterior: Tensor) -> Tensor:
        """The same (B,) of clips that were encoded, (B, 1, D)."""
        return self._judge(self.heads.answers(latent), posterior)

    def _judge(self, answers: Tensor, posterior: Tensor) -> Tensor:
        raise NotImplementedError


class OFPRNet(ClipModel):
    """Features by heads, prior and expected posterior rules by trees; surprise 1 where the observed posterior differs, else 0.

    trees: combined | normal | direct, of models/trees.py.  posterior_speeds: false hides what the clip says of speeds and
    directions afterwards from the trees.  observed: what the expectation is compared with, oracle: the true posterior;
    heads: that of the nine posterior heads.
    """

    def __init__(
        self, encoder: nn.Module, width: int = 700, trees: str = "combined", posterior_speeds: bool = True,
        observed: str = "oracle",
    ) -> None:  # fmt: skip
        super().__init__(encoder, (*FEATURE_HEADS, *POSTERIOR_HEADS), width)
        if observed not in ("oracle", "heads"):
            raise ValueError(f"what is observed is oracle or heads, got '{observed}'; set model.observed=")
        self.observed = observed
        self.rules = Rules(variant=trees, hidden=() if posterior_speeds else POSTERIOR_SPEEDS)
        # Every process fits the trees to the same labels; torch cannot send their short numbers from one to another.
        self._ddp_params_and_buffers_to_ignore = [f"rules.{name}" for name, _ in self.rules.named_buffers()]

    def begin(self, labels: dict[str, Tensor]) -> None:
        """Fits the trees to the true labels."""
        super().begin(labels)
        self.rules.fit(labels["label_features"], labels["label_prior"], labels["label_posterior"])

    def _judge(self, answers: Tensor, posterior: Tensor) -> Tensor:
        features, seen = answers.split([len(FEATURE_HEADS), len(POSTERIOR_HEADS)], 1)
        _, expected = self.rules(features)
        observed = posterior.to(expected.device) if self.observed == "oracle" else seen.long()
        return (expected != observed).any(1).float()


class OFNet(ClipModel):
    """The ablation: the expected posterior rules read off directly, without features and trees."""

    def __init__(self, encoder: nn.Module, width: int = 700) -> None:
        super().__init__(encoder, POSTERIOR_HEADS, width)

    def _judge(self, answers: Tensor, posterior: Tensor) -> Tensor:
        return (answers.long() != posterior.to(answers.device)).any(1).float()


class Baseline(ClipModel):
    """The probability that a clip surprises, learned where none does: it can learn no more than a constant."""

    def __init__(self, encoder: nn.Module, width: int = 700) -> None:
        super().__init__(encoder, (VERSION_HEAD,), width)

    def _judge(self, answers: Tensor, posterior: Tensor) -> Tensor:
        return answers[:, 0]
