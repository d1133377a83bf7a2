"""Trees in checkpoints: the answers of scikit-learn, bit by bit, before and after a file."""

import numpy as np
import pytest
import torch

from envs.problem import Problem
from eval.runs.checkpoints import load_weights, save_weights
from models import trees
from models.encoders.video import VideoEncoder
from models.ofpr import OFNet, OFPRNet
from models.trees import Rules, Trees


def labels(count=200, seed=0):
    """Features (M, 24), prior (M, 13) and posterior (M, 9) with a rule of "a > b" in each."""
    rng = np.random.default_rng(seed)
    features = torch.from_numpy(rng.uniform(0, 2, (count, 24)).astype(np.float32))
    prior, posterior = torch.full((count, 13), 2), torch.full((count, 9), 2)
    prior[:, 12] = features[:, 0] < features[:, 17]
    posterior[:, 8] = prior[:, 12]
    posterior[:, 0] = features[:, 18] > 1
    return features, prior, posterior


def small(kind=OFPRNet, **options):
    return kind(VideoEncoder(width=16, channels=2), width=16, **options)


def test_the_answers_are_those_of_scikit_learn():
    from sklearn.tree import DecisionTreeClassifier

    (features, prior, _), (fresh, _, _) = labels(), labels(500, 1)
    ours = Trees(13)
    ours.fit(features, prior)
    fresh[:50] = features[:50].nextafter(torch.tensor(9.0))  # numbers that lie close to a threshold
    for asked in (features, fresh, ours.threshold[:100, None].float().expand(-1, 24)):
        told = ours(asked)
        for q in range(13):
            grown = DecisionTreeClassifier(random_state=0).fit(features.numpy(), prior[:, q].numpy())
            assert np.array_equal(told[:, q], grown.predict(asked.numpy()))


@pytest.mark.parametrize("variant", Rules.VARIANTS)
def test_trees_come_back_from_a_checkpoint_bit_by_bit(variant, tmp_path):
    torch.manual_seed(0)
    model, again = small(trees=variant), small(trees=variant)
    model.rules.fit(*labels())
    save_weights(model, tmp_path / "model.ckpt")
    load_weights(again, tmp_path / "model.ckpt")
    for name, part in model.rules.state_dict().items():
        assert part.dtype == again.rules.state_dict()[name].dtype and torch.equal(part, again.rules.state_dict()[name])
    fresh = labels(300, 2)[0]
    for one, other in zip(model.rules(fresh), again.rules(fresh)):
        assert torch.equal(one, other) and one.unique().numel() > 1


def test_every_variant_knows_its_training_clips_and_the_rule():
    features, prior, posterior = labels()
    for variant in Rules.VARIANTS:
        rules = Rules(variant=variant)
        rules.fit(features, prior, posterior)
        told = rules(features)
        assert torch.equal(told[0], prior)
        assert torch.equal(told[1][:, 8], posterior[:, 8])
        assert torch.equal(told[1], posterior) == (variant != "normal")  # no prior rule tells of feature 18


def test_hidden_features_are_not_read():
    features, prior, posterior = labels()
    rules = Rules(hidden=(18,))
    rules.fit(features, prior, posterior)
    other = features.clone()
    other[:, 18] = 5 - other[:, 18]
    assert torch.equal(rules(features)[1], rules(other)[1])
    assert not (rules.posterior.feature == 18).any()


def test_what_trees_cannot_be_is_told(monkeypatch, tmp_path):
    features, prior, _ = labels()
    with pytest.raises(ValueError, match="trees are combined, normal, direct, got 'oblique'; set model.trees="):
        Rules(variant="oblique")
    with pytest.raises(ValueError, match=r"targets \(M, 9\), got \(200, 24\) and \(200, 13\)"):
        Trees(9).fit(features, prior)
    monkeypatch.setattr(trees, "NODES", 20)
    with pytest.raises(ValueError, match="more than 20 nodes"):
        Trees(13).fit(features, prior)


def test_a_checkpoint_of_another_architecture_is_refused(tmp_path):
    save_weights(small(OFNet), tmp_path / "model.ckpt")
    with pytest.raises(Problem, match="holds another architecture: .* weights differ, first heads.nets"):
        load_weights(small(), tmp_path / "model.ckpt")
