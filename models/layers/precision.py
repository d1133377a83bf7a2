"""Single precision where latents flow, whatever precision runs around it.

The hinge loss lets latents grow to a root mean square of 4 to 5, and changes to predict are a thousandth of that: less than
one step of bfloat16 at that size. Rounded latents leave the transition without a gradient, and open-loop errors add up. So
the perceptron that writes a slot and the last layer of a transition compute in single precision; the maps before them and
the inner layers of the transition run in bfloat16 and add half as much noise again (docs/measured.md).
"""

import torch
from torch import Tensor, nn

FOLLOWS = ("cpu",)  # devices whose recurrent layers run in the precision that autocast asks for


def _product(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.baddbmm(bias, x, weight) if x.ndim == 3 else torch.addmm(bias, x, weight)


class _ExactProduct(torch.autograd.Function):
    """bias + x @ weight in single precision, its gradient in `rough`, whose rounding is relative and loses nothing."""

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, bias: Tensor, rough: torch.dtype) -> Tensor:
        ctx.save_for_backward(x.to(rough), weight)
        ctx.kind = x.dtype
        return _product(x.float(), weight, bias)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        x, weight = ctx.saved_tensors
        rough = gradient.to(x.dtype)
        of_x = (rough @ weight.to(x.dtype).mT).to(ctx.kind) if ctx.needs_input_grad[0] else None
        return of_x, (x.mT @ rough).float(), gradient.sum(-2, keepdim=weight.ndim == 3), None


def exact_product(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """bias + x @ weight, in single precision where autocast asks for less.

    x (N, I) and weight (I, O), or stacked, (K, N, I) and (K, I, O).
    """
    device = x.device.type
    if not torch.is_autocast_enabled(device):
        return _product(x, weight, bias)
    with torch.autocast(device, enabled=False):
        return _ExactProduct.apply(x, weight, bias, torch.get_autocast_dtype(device))


def recurrent(layer: nn.RNNBase, x: Tensor, state):
    """A recurrent layer of torch: outputs and state. On a GPU any autocast runs it in float16, and nobody scales the gradients
    of bfloat16 training, so that small ones vanish: there it computes in single precision.
    """
    if x.device.type in FOLLOWS:
        return layer(x, state)
    with torch.autocast(x.device.type, enabled=False):
        return layer(x.float(), tuple(part.float() for part in state) if isinstance(state, tuple) else state.float())


class LatentLinear(nn.Linear):
    """torch's linear layer for latents: its output is computed in single precision."""

    def forward(self, x: Tensor) -> Tensor:
        if not torch.is_autocast_enabled(x.device.type):
            return super().forward(x)
        return exact_product(x.flatten(0, -2), self.weight.T, self.bias).unflatten(0, x.shape[:-1])
