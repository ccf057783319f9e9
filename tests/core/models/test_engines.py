import copy
import functools
import sys
import time
from types import SimpleNamespace

import pytest
import torch
from torch.optim import AdamW

from tests.core.support.bf16 import needs_bf16
from training_core.errors import JobError
from training_core.jobs import THREADS_VARIABLE
from training_core.learning.losses import road_loss
from training_core.models import engine_choice
from training_core.models.architectures import Architecture, build_network
from training_core.models.engine_choice import choose_engine, settle_threads
from training_core.models.engines import BF16, FP32, IPEX, NATIVE, TRAINING, IpexEngine, NativeEngine, why_not_ipex
from training_core.system import processor

ARCHITECTURE = Architecture(encoder="resnet18", in_channels=2)


@pytest.fixture
def without_ipex(monkeypatch):
    """A Python in which the extension cannot be imported."""
    monkeypatch.setitem(sys.modules, "intel_extension_for_pytorch", None)


@pytest.fixture
def ipex():
    obstacle = why_not_ipex()
    if obstacle:
        pytest.skip(obstacle)


@pytest.fixture
def old_processor(monkeypatch):
    """A machine whose processor has none of the newer instruction sets."""
    monkeypatch.setattr(processor, "instruction_sets", lambda: ("avx2",))


@functools.cache
def unet():
    """A network with random weights; do not change it."""
    torch.manual_seed(0)
    return build_network(ARCHITECTURE).eval()


@functools.cache
def batch():
    torch.manual_seed(1)
    images = torch.randn(2, 2, 64, 64)
    return images, (images[:, :1] > 0.5).to(torch.uint8)


@functools.cache
def trained(engine):
    """Return a network after three steps, as the engine has it, and the losses."""
    network = copy.deepcopy(unet()).train()
    network, optimizer = engine.prepare_training(network, AdamW(network.parameters(), lr=1e-3))
    losses = []
    for _ in range(3):
        loss = road_loss(engine.forward(network, batch()[0]), batch()[1])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return network, losses


def logits(network, engine, images):
    network.eval()
    with torch.inference_mode():
        return engine.forward(network, images)


def test_the_native_engine_is_always_there(without_ipex):
    assert choose_engine(NATIVE, FP32, TRAINING) == NativeEngine(FP32, "asked for")
    chosen = choose_engine("auto", FP32, TRAINING, trial=lambda engine: None, log=lambda line: None)
    assert chosen.name == NATIVE and "not installed" in chosen.reason


def test_asked_for_where_it_is_not_there_the_extension_is_refused(without_ipex):
    with pytest.raises(JobError, match="ipex cannot be used.*not installed") as refusal:
        choose_engine(IPEX, FP32, TRAINING)
    assert "native" in refusal.value.remedy


def test_an_extension_that_does_not_load_is_refused_with_the_reason(monkeypatch, tmp_path):
    monkeypatch.delitem(sys.modules, "intel_extension_for_pytorch", raising=False)
    (tmp_path / "intel_extension_for_pytorch.py").write_text("raise SystemExit('needs torch 1.0')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(JobError, match=r"does not load \(needs torch 1\.0\)"):
        choose_engine(IPEX, FP32, TRAINING)


@pytest.fixture
def eight_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(8)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("of_job", "of_settings", "step_s", "taken"),
    [
        (0, "", {8: 4, 4: 1, 2: 2}, 4),
        (0, "", {8: 4, 4: 2, 2: 1}, 2),
        (0, "", {8: 1, 4: 2}, 8),
        (0, "", {8: 1, 4: 0.98}, 8),
        (8, "", {8: 4, 4: 1}, 8),
        (0, "8", {8: 4, 4: 1}, 8),
    ],
)
def test_fewer_threads_compute_where_they_are_faster(eight_threads, monkeypatch, of_job, of_settings, step_s, taken):
    monkeypatch.setenv(THREADS_VARIABLE, of_settings)
    now_s, said = [0.0], []
    monkeypatch.setattr(engine_choice, "time", SimpleNamespace(perf_counter=lambda: sum(now_s)))
    settle_threads(lambda: now_s.append(step_s[torch.get_num_threads()]), of_job, said.append)
    assert torch.get_num_threads() == taken
    assert [line.split(":")[0] for line in said] == [f"{count} threads" for count in (4, 2) if count >= taken]


@pytest.mark.parametrize("asked", [BF16, "auto"])
def test_without_a_bf16_unit_fp32_is_used(old_processor, asked):
    said = []
    assert choose_engine(NATIVE, asked, TRAINING, log=said.append).precision == FP32
    assert [("no BF16 unit" in line and "FP32 is used" in line) for line in said] == [True] * (asked == BF16)


@pytest.mark.parametrize(
    ("flag", "speedup", "expected"), [("amx_bf16", 0.5, BF16), ("avx512_bf16", 1.9, BF16), ("avx512_bf16", 0.6, FP32)]
)
def test_bf16_is_used_where_it_is_fast_unless_asked_otherwise(monkeypatch, flag, speedup, expected):
    """With AMX it is; else it is measured: some processors take BF16 instructions at half of the speed of FP32."""
    monkeypatch.setattr(processor, "instruction_sets", lambda: (flag,))
    monkeypatch.setattr(engine_choice, "bf16_speedup", lambda: speedup)
    said = []
    assert choose_engine(NATIVE, "auto", TRAINING, log=said.append).precision == expected
    assert any("60% of its speed in FP32" in line for line in said) == (expected == FP32)
    assert [choose_engine(NATIVE, asked, TRAINING).precision for asked in (BF16, FP32)] == [BF16, FP32]


def test_the_speed_of_bf16_is_measured_once():
    before = torch.random.get_rng_state()
    speedup = engine_choice.bf16_speedup()
    assert 0.01 < speedup < 100 and engine_choice.bf16_speedup() == speedup
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(("slow", "fast"), [(NATIVE, IPEX), (IPEX, NATIVE)])
def test_auto_takes_the_fastest_and_says_why(ipex, slow, fast):
    tried, said = [], []

    def trial(engine):
        tried.append(engine.name)
        time.sleep(0.02 if engine.name == slow else 0.002)

    chosen = choose_engine("auto", FP32, TRAINING, trial, said.append)
    assert chosen.name == fast and chosen.precision == FP32
    assert tried.count(slow) == tried.count(fast) > 1
    assert len(said) == 1 and slow in said[0] and fast in said[0] and " ms" in said[0]
    assert chosen.reason in said[0]


def test_a_slow_first_step_ends_the_trial_before_it_takes_too_long(ipex, monkeypatch):
    monkeypatch.setattr(engine_choice, "LOADING_S", 0.0)
    tried = []

    def trial(engine):
        tried.append(engine.name)
        time.sleep(0.05)

    assert choose_engine("auto", FP32, TRAINING, trial, lambda line: None, limit_s=0.1).name == NATIVE
    assert tried == [NATIVE]
    choose_engine("auto", FP32, TRAINING, trial, lambda line: None, limit_s=100.0)
    assert IPEX in tried
    tried.clear()
    monkeypatch.setattr(engine_choice, "LOADING_S", 4.0)
    assert choose_engine("auto", FP32, TRAINING, trial, lambda line: None, limit_s=1.0).name == NATIVE and not tried


@needs_bf16
def test_training_in_bf16_goes_the_same_way():
    _, exact = trained(NativeEngine(FP32))
    _, rounded = trained(NativeEngine(BF16))
    assert rounded == pytest.approx(exact, rel=0.05)
    assert exact[-1] < exact[0]


PRECISIONS = [FP32, pytest.param(BF16, marks=needs_bf16)]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_extension_trains_as_native_does_and_a_plain_network_can_load_the_weights(ipex, precision):
    _, expected_losses = trained(NativeEngine(precision))
    network, losses = trained(IpexEngine(precision))
    assert losses == pytest.approx(expected_losses, rel=0.01)
    weights = network.state_dict()
    plain = copy.deepcopy(unet())
    assert {name: tensor.shape for name, tensor in weights.items()} == {
        name: tensor.shape for name, tensor in plain.state_dict().items()
    }
    assert all(tensor.dtype != torch.bfloat16 for tensor in weights.values())
    plain.load_state_dict(weights)
    expected = logits(network, IpexEngine(precision), batch()[0])
    found = logits(plain, NativeEngine(precision), batch()[0])
    # In BF16 the extension sums filters of the decoder that are rounded already, and native rounds their sums.
    tolerance = 0.05 if precision == BF16 else 0.01
    torch.testing.assert_close(found, expected, atol=tolerance * float(expected.abs().max()), rtol=0)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_extension_predicts_what_the_model_does_and_leaves_it_as_it_is(ipex, precision):
    before = {name: tensor.clone() for name, tensor in unet().state_dict().items()}
    expected = logits(unet(), NativeEngine(FP32), batch()[0])
    engine = IpexEngine(precision)
    found = logits(engine.prepare_inference(unet()), engine, batch()[0])
    tolerance = 0.05 if precision == BF16 else 1e-3
    torch.testing.assert_close(found, expected, atol=tolerance * float(expected.abs().max()), rtol=0)
    for name, tensor in unet().state_dict().items():
        torch.testing.assert_close(tensor, before[name], atol=0, rtol=0)
