"""The precision in which a machine trains fastest: bfloat16 where it has instructions for it, for elsewhere it is emulated."""

from functools import lru_cache

from omegaconf import OmegaConf

SINGLE, MIXED = "32-true", "bf16-mixed"


@lru_cache
def fast_precision(accelerator: str) -> str:
    """`${fast_precision:accelerator}`: of trainers on `cpu` or `gpu`.

    A processor without AVX-512 (or bfloat16 of its own) multiplies in bfloat16 thirty times slower than in single precision, and trains two hundred
    times slower. Where no GPU is seen, the answer for `gpu` is that of a present one.
    """
    import torch

    if accelerator == "gpu":
        native = not torch.cuda.is_available() or torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        native = torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return MIXED if native else SINGLE


OmegaConf.register_new_resolver("fast_precision", fast_precision, replace=True)
