"""The precision in which a machine trains fastest: bfloat16 where it has instructions for it, for elsewhere it is emulated."""

from functools import lru_cache

SINGLE, MIXED = "32-true", "bf16-mixed"


@lru_cache
def fast_precision(accelerator: str) -> str:
    """Of trainers on `cpu`, `gpu`, or `auto`, which takes a GPU where one is seen.

    A processor without AVX-512, or bfloat16 of its own, multiplies in bfloat16 thirty times slower than in single precision, and torch's
    LSTM does not run there at all. Where no GPU is seen, the answer for `gpu` is that of a present one.
    """
    import torch  # tables that train nothing need not wait for it

    seen = torch.cuda.is_available()
    if accelerator == "gpu" or accelerator == "auto" and seen:
        native = not seen or torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        native = torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return MIXED if native else SINGLE
