"""Decision trees kept as tensors: fitted by scikit-learn, stored in the checkpoint, read without it."""

import numpy as np
import torch
from torch import Tensor, nn

NODES = 8192  # of all trees of a module together, so that every checkpoint of it has the same shapes


class Trees(nn.Module):
    """One tree for each of Q targets, fitted together and asked together.

    inputs (B, F) float; targets and answers (B, Q) whole numbers. Before `fit` every answer is 0. Nodes of all trees lie one
    after the other: a node below which nothing lies has feature -1, an input <= threshold goes to the first child.
    """

    def __init__(self, targets: int) -> None:
        super().__init__()
        self.register_buffer("roots", torch.zeros(targets, dtype=torch.int32))
        self.register_buffer("feature", torch.full((NODES,), -1, dtype=torch.int16))
        self.register_buffer("threshold", torch.zeros(NODES, dtype=torch.float64))
        self.register_buffer("below", torch.zeros(NODES, 2, dtype=torch.int32))
        self.register_buffer("answer", torch.zeros(NODES, dtype=torch.int16))

    def fit(self, inputs: Tensor, targets: Tensor) -> None:
        """Grow the trees until their leaves are pure; equal data give equal trees.  inputs (M, F), targets (M, Q).

        ValueError where targets are others than the trees were made for, or more nodes are needed than there is room for.
        """
        from sklearn.tree import DecisionTreeClassifier

        if len(inputs) != len(targets) or not len(inputs) or targets.shape[1:] != self.roots.shape:
            raise ValueError(f"trees are fitted to inputs (M, F) and targets (M, {len(self.roots)}), got {tuple(inputs.shape)} "
                             f"and {tuple(targets.shape)}; pass the labels of the same clips")  # fmt: skip
        inputs, place = inputs.detach().cpu().float().numpy(), 0
        for number, target in enumerate(targets.cpu().numpy().T):
            grown = DecisionTreeClassifier(random_state=0).fit(inputs, target)
            tree, end = grown.tree_, place + grown.tree_.node_count
            if end > NODES:
                raise ValueError(f"the trees of {len(inputs)} clips need more than {NODES} nodes; raise "
                                 f"models.trees.NODES")  # fmt: skip
            here, leaf = slice(place, end), tree.children_left < 0
            below = np.stack([tree.children_left, tree.children_right], 1) + place
            self.roots[number] = place
            self.feature[here] = torch.from_numpy(np.where(leaf, -1, tree.feature))
            self.threshold[here] = torch.from_numpy(tree.threshold.copy())
            self.below[here] = torch.from_numpy(np.where(leaf[:, None], 0, below))
            self.answer[here] = torch.from_numpy(grown.classes_[tree.value[:, 0].argmax(1)])
            place = end

    def forward(self, inputs: Tensor) -> Tensor:
        node = self.roots.long().expand(len(inputs), -1)
        inputs = inputs.float().double()  # scikit-learn compares single precision with double
        while (self.feature[node] >= 0).any():
            feature = self.feature[node].long()
            value = inputs.gather(1, feature.clamp(min=0))
            below = self.below[node, (value > self.threshold[node]).long()].long()
            node = torch.where(feature >= 0, below, node)
        return self.answer[node].long()


class Rules(nn.Module):
    """What should follow: features (B, F)  ->  prior rules (B, P) and the posterior rules (B, Q) that one expects.

    variant: what the posterior is read from. combined: features and prior, the paper's.  normal: prior.  direct: features.
    hidden: features that the trees are not shown.
    """

    VARIANTS = ("combined", "normal", "direct")

    def __init__(self, prior: int = 13, posterior: int = 9, variant: str = "combined", hidden: tuple[int, ...] = ()) -> None:
        super().__init__()
        if variant not in self.VARIANTS:
            raise ValueError(f"trees are {', '.join(self.VARIANTS)}, got '{variant}'; set model.trees=")
        self.variant, self.hidden = variant, list(hidden)
        self.prior, self.posterior = Trees(prior), Trees(posterior)

    def _shown(self, features: Tensor) -> Tensor:
        return features.float().index_fill(1, torch.tensor(self.hidden, device=features.device, dtype=torch.long), -1.0)

    def _causes(self, features: Tensor, prior: Tensor) -> Tensor:
        parts = {"combined": (features, prior), "normal": (prior,), "direct": (features,)}[self.variant]
        return torch.cat([part.float() for part in parts], 1)

    def fit(self, features: Tensor, prior: Tensor, posterior: Tensor) -> None:
        """Fit to the true labels of clips: features (M, F), prior (M, P), posterior (M, Q)."""
        features = self._shown(features)
        self.prior.fit(features, prior)
        self.posterior.fit(self._causes(features, prior), posterior)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        features = self._shown(features)
        prior = self.prior(features)
        return prior, self.posterior(self._causes(features, prior))
