"""Trainers take bfloat16 only where it is computed natively; elsewhere it is many times slower, or not there at all."""

import pytest
import torch

from models import native_precision
from train.fit import prepare

NATIVE = (torch.ops.mkldnn, "_is_mkldnn_bf16_supported")


@pytest.fixture
def processor(monkeypatch):
    """processor(native): one with or without bfloat16."""

    def of(native: bool) -> None:
        native_precision.fast_precision.cache_clear()
        monkeypatch.setattr(*NATIVE, lambda: native)
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_f": True, "avx512_bf16": native}, raising=False)

    yield of
    native_precision.fast_precision.cache_clear()


@pytest.mark.parametrize("native, precision", [(True, "bf16-mixed"), (False, "32-true")])
@pytest.mark.parametrize("trainer", ["quick", "minutes"])
def test_trainers_take_what_is_native(compose, processor, trainer, native, precision):
    """The trainers of a processor were in bfloat16 on any: one without trained two hundred times slower, and said nothing."""
    processor(native)
    assert compose("fit", f"trainer={trainer}").trainer.precision == precision
    assert compose("fit", f"trainer={trainer}", "trainer.precision=16-mixed").trainer.precision == "16-mixed"


@pytest.mark.parametrize("native, precision", [(True, "bf16-mixed"), (False, "32-true")])
def test_a_gpu_is_asked_itself(compose, processor, monkeypatch, native, precision):
    processor(False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: native)
    assert compose("fit", *prepare([])).trainer.precision == precision


def test_a_build_of_torch_without_the_question_is_single(compose, processor, monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    processor(True)
    assert compose("fit").trainer.precision == "32-true"


@pytest.mark.parametrize("told", [{"avx512_f": True, "avx512_vnni": True, "avx512_bf16": False, "amx_bf16": False}, None])
def test_avx512_alone_is_single(compose, processor, monkeypatch, told):
    """oneDNN calls bfloat16 supported there, and emulates it: half as many updates in the same minutes.
    An older torch cannot tell."""
    processor(True)
    if told is None:
        monkeypatch.delattr(torch.cpu, "get_capabilities")
    else:
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: told)
    assert compose("fit").trainer.precision == "32-true"


@pytest.mark.parametrize("instruction", ["avx512_bf16", "amx_bf16", "bf16"])
def test_any_instruction_will_do(compose, processor, monkeypatch, instruction):
    processor(True)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {instruction: True})
    assert compose("fit").trainer.precision == "bf16-mixed"


def test_bfloat16_asked_for_is_refused_where_it_is_emulated(command_here, processor, small, tmp_path):
    processor(False)
    done = command_here("train/fit.py", *small, "trainer.precision=bf16-mixed", cwd=tmp_path)
    assert done.returncode == 1 and not list(tmp_path.iterdir())
    assert (
        "trainer.precision=bf16-mixed needs bfloat16, which this machine has no instructions for; set trainer.precision=32-true"
        in done.stderr
    )
