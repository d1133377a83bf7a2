"""Kinds of action, known here and nowhere else: an index (boards), a vector of numbers (torques), or nothing (a video).

To every other file of models and losses an action is a float vector (..., A) whose width A may be 0. `owners`: the vector is
that many equal blocks, and block o belongs to object o; 1: it belongs to no object in particular.

Who reads what of an action:
- `gnn`, `interaction`, `tracks` and `fingers` give each slot its owner's block (`per_slot`). Their slots share weights, so
  nothing else could tell a slot which part of the action is its own. The order of slots is thereby that of owners. In
  `interaction` alone a slot is also told the blocks of the others, by their messages.
- `causal` does the same and also reads which slots are acted on (`acted`), all of them, whatever its graph. The graph claims
  which slot moves which, so a mechanism must not read what is done to other objects. With graph=full it makes no such claim and
  reads the whole action.
- `modular`, `edge`, `transformer` and `pairwise_lstm` read the whole action with weights of their own for each slot or ordered
  pair, and `mlp`, `lstm`, `rssm`, `rim` and `scoff` read it beside one vector for all objects. They learn which block moves
  which slot, in whatever order the encoder arranged the slots; blocks would impose an order and save them nothing but weights.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def vector(raw: Tensor, action) -> Tensor:
    """A recorded column as the floats that transitions read: (...,) of indices or (..., size)  ->  (..., size) float32.

    action: anything with `size` (numbers of the result) and `discrete` (the column holds an index below size). Size 0: the
    column is (..., 0). ValueError where the column is of another kind or width.
    """
    if action.discrete:
        if raw.is_floating_point():
            raise ValueError(f"discrete actions are whole numbers below {action.size}, got a column of {raw.dtype}")
        return F.one_hot(raw.long(), action.size).float()
    if raw.shape[-1:] != (action.size,):
        raise ValueError(f"actions are vectors (..., {action.size}), got a column of shape {tuple(raw.shape)}")
    return raw.float()


def block_size(size: int, owners: int, slots: int) -> int:
    """Numbers of an action of `size` that each slot reads: size / owners.

    ValueError where there are fewer slots than owners, or where the owners' blocks cannot be equal.
    """
    if size == 0:
        return 0
    if not 1 <= owners <= slots:
        raise ValueError(f"actions belong to {owners} objects and the model has {slots} slots; expected a slot for "
                         f"each object, set model.slots={owners} or more")  # fmt: skip
    if size % owners:
        raise ValueError(f"an action of {size} numbers has no {owners} equal blocks; set owners=1 if it belongs to no object")
    return size // owners


def per_slot(action: Tensor, owners: int, slots: int) -> Tensor:
    """The part of an action that each slot reads: (..., A)  ->  (..., K, A / owners).

    owners = slots: slot k gets block k.  owners < slots: the slots after the last owner get zeros.  owners = 1: every slot
    gets the whole action.  A = 0: (..., K, 0).  Blocks and copies are views. ValueError as of `block_size`.
    """
    width = block_size(action.shape[-1], owners, slots)
    if owners == 1 or not width:
        return action.unsqueeze(-2).expand(*action.shape[:-1], slots, width)
    blocks = action.view(*action.shape[:-1], owners, width)
    return blocks if owners == slots else F.pad(blocks, (0, 0, 0, slots - owners))


def acted(action: Tensor, owners: int, slots: int) -> Tensor:
    """How strongly each slot is acted on, the length of its block: (..., A)  ->  (..., K).

    One-hot actions give 1 for the owner and 0 for the others. All zeros where an action belongs to no slot in particular
    (owners = 1 of several slots) and where there is none.
    """
    if owners == 1 < slots:
        return action.new_zeros(*action.shape[:-1], slots)
    return torch.linalg.vector_norm(per_slot(action, owners, slots), dim=-1)


def distinct(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """The different blocks among those of several actions: (N, K, a)  ->  (blocks (U, a), index of each slot's (N, K))."""
    flat = blocks.flatten(0, 1)
    if not flat.shape[-1]:  # torch looks for no distinct rows of width 0
        return flat[:1], torch.zeros(blocks.shape[:2], dtype=torch.long, device=blocks.device)
    found, index = flat.unique(dim=0, return_inverse=True)
    return found, index.view(blocks.shape[:2])


def commands(action: Tensor, owners: int) -> tuple[Tensor, Tensor]:
    """One-hot actions (..., A)  ->  the object acted on (...,) and the choice commanded (...,), both long.

    ValueError where there is no action or where it is not one equal block for each owner.
    """
    choices = block_size(action.shape[-1], owners, owners)
    if not choices:
        raise ValueError("commands are read back from actions, and this world has none; expected discrete actions")
    index = action.argmax(-1)
    return index // choices, index % choices


class ActionLinear(nn.Linear):
    """torch's linear layer for whole actions (..., A); of width 0 it gives its bias, which starts at zero."""

    def reset_parameters(self) -> None:
        if self.in_features:
            super().reset_parameters()
        else:  # torch does the same, and warns of a weight without numbers
            nn.init.zeros_(self.bias)
