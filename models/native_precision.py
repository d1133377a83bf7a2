"""The precision in which a machine trains fastest: bfloat16 where the processor has instructions for it, else single."""

from functools import lru_cache

SINGLE, MIXED = "32-true", "bf16-mixed"
INSTRUCTIONS = ("avx512_bf16", "amx_bf16", "bf16")  # of Intel and AMD, of Intel, of ARM


@lru_cache
def fast_precision(accelerator: str) -> str:
    """Of trainers on `cpu`, `gpu`, or `auto`, which takes a GPU where one is seen.

    A processor without instructions for bfloat16 trains in it two times slower than in single precision if it has AVX-512. If
    it has not either, it multiplies thirty times slower, and torch's LSTM does not run. Where no GPU is seen, the answer for
    `gpu` is that of a present one.
    """
    import torch  # tables that train nothing need not wait for it

    seen = torch.cuda.is_available()
    if accelerator == "gpu" or accelerator == "auto" and seen:
        native = not seen or torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        told = getattr(torch.cpu, "get_capabilities", dict)()  # torch of before cannot tell
        here = any(told.get(name) for name in INSTRUCTIONS)  # oneDNN calls supported what AVX-512 emulates
        native = here and torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return MIXED if native else SINGLE
