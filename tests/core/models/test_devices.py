import copy
import time

import pytest
import torch

from tests.core.support.devices import GONE, OUT_OF_MEMORY, plug_in
from training_core.errors import DeviceError, JobError, ModelFileError
from training_core.events import Log, Reporter
from training_core.jobs import FineTune, Segment, StepOptions
from training_core.learning.trainer import Trainer
from training_core.models import accelerator, openvino_model
from training_core.models.architectures import Architecture, build_network
from training_core.models.engine_choice import choose_anywhere, devices_at_hand
from training_core.models.engines import (
    DEVICES,
    FP16,
    FP32,
    TRAINING,
    TRAINING_DEVICES,
    NativeEngine,
    make_engine,
    why_not,
)
from training_core.models.fallback import FallbackEngine
from training_core.system import environment

NETWORK = build_network(Architecture(encoder="resnet18", in_channels=2)).eval()
IMAGES = torch.rand(2, 2, 64, 64, generator=torch.Generator().manual_seed(0))


@pytest.fixture(autouse=True)
def unset(monkeypatch):
    monkeypatch.delenv("ROADSEG_DEVICE", raising=False)


def chosen(reporter, trial, device="auto", limit_s=100.0, able=TRAINING_DEVICES):
    """Return the engine that a training chooses."""
    devices = devices_at_hand(FineTune(device=device), FP32, able, reporter)
    return choose_anywhere("auto", FP32, {"native": NativeEngine}, devices, trial, reporter, limit_s)


def sleeping(seconds):
    """Return a trial in which each engine sleeps."""
    return lambda engine: time.sleep(seconds[engine.name])


def test_a_model_on_a_device_learns_and_predicts_what_it_does_on_the_cpu(monkeypatch):
    fake = plug_in(monkeypatch)
    labels = (IMAGES[:, 0] > 0.5).to(torch.uint8).numpy()
    found = {}
    for name in ("native", "cuda"):
        engine = make_engine(name, FP32)
        trainer = Trainer(copy.deepcopy(NETWORK), engine, StepOptions(batch_size=2, chip_px=64), averaging=0.5)
        trainer.step(IMAGES.numpy(), labels, 0.01)
        trainer.load_state_dict(trainer.state_dict())
        trainer.step(IMAGES.numpy(), labels, 0.01)
        found[name] = trainer.weights()
        found[name]["predicted"] = engine.probability(engine.prepare_inference(trainer.model), IMAGES)
    assert all(torch.equal(tensor, found["cuda"][name]) for name, tensor in found["native"].items())
    assert len(fake.sent) == 5  # a model, two batches, and a model and a batch to infer


@pytest.mark.parametrize(("device_s", "taken"), [(0.002, "cuda"), (0.05, "native")])
def test_auto_takes_a_device_that_is_clearly_faster_and_says_so(monkeypatch, device_s, taken):
    plug_in(monkeypatch)
    told = []
    engine = chosen(Reporter(told.append), sleeping({"native": 0.02, "cuda": device_s}))
    assert engine.name == taken
    assert [each.message for each in told] == [f"Engine {taken}: {engine.reason}."]
    assert "cuda (a fake GPU)" in engine.reason and " ms" in engine.reason


def test_a_device_is_tried_even_where_there_is_no_time_for_the_other_engines(monkeypatch):
    plug_in(monkeypatch)
    assert chosen(Reporter(), sleeping({"native": 0.02, "cuda": 0.001}), limit_s=0.1).name == "cuda"
    assert chosen(Reporter(), sleeping({"native": 0.02, "cuda": 0.001}), limit_s=0.0).name == "native"


@pytest.mark.parametrize("device", ["auto", "cuda"])
@pytest.mark.parametrize("error", [GONE, OUT_OF_MEMORY, ModelFileError("OpenVINO cannot run this model: no kernel")])
def test_a_device_that_fails_in_the_trial_is_left_out_with_a_word(monkeypatch, device, error):
    plug_in(monkeypatch)

    def trial(engine):
        if engine.is_device:
            raise error

    told = []
    assert chosen(Reporter(told.append), trial, device).name == "native"
    assert sum(str(error).splitlines()[0] in each.message for each in told) == 1


def test_a_failure_of_the_cpu_is_none_of_a_device(monkeypatch):
    plug_in(monkeypatch)

    def trial(engine):
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        chosen(Reporter(), trial)


@pytest.mark.parametrize(("device", "variable"), [("cpu", ""), ("cpu", "cuda"), ("auto", "cpu")])
def test_a_device_that_is_forbidden_is_not_tried(monkeypatch, device, variable):
    plug_in(monkeypatch)
    monkeypatch.setenv("ROADSEG_DEVICE", variable)
    assert devices_at_hand(FineTune(device=device), FP32, TRAINING_DEVICES, Reporter()) == []


def test_where_there_is_too_little_to_do_only_a_device_that_is_asked_for_is_tried(monkeypatch):
    fake = plug_in(monkeypatch)
    for device, names in (("auto", []), ("cuda", ["cuda"])):
        found = devices_at_hand(FineTune(device=device), FP32, TRAINING_DEVICES, Reporter(), is_tried=False)
        assert [each.name for each in found] == names
    assert not fake.sent


def test_an_engine_that_is_asked_for_computes_on_the_cpu(monkeypatch):
    plug_in(monkeypatch)
    monkeypatch.setenv("ROADSEG_DEVICE", "cuda")
    assert devices_at_hand(FineTune(engine="native"), FP32, TRAINING_DEVICES, Reporter()) == []
    with pytest.raises(JobError, match=r"The engine native \(engine\) computes on the CPU, not on cuda \(device\)"):
        FineTune(engine="native", device="cuda")._check_together()


@pytest.mark.parametrize(("device", "variable"), [("xpu", ""), ("auto", "xpu"), ("auto", "openvino-npu")])
def test_in_place_of_a_device_that_is_missing_or_does_not_train_the_cpu_computes_with_a_warning(
    monkeypatch, device, variable
):
    plug_in(monkeypatch)
    monkeypatch.setenv("ROADSEG_DEVICE", variable)
    reporter = Reporter()
    assert chosen(reporter, lambda engine: None, device).name == "native"
    (warning,) = reporter.warnings
    assert f"The device {variable or device} cannot be used: it " in warning and "The CPU computes." in warning


def test_a_variable_that_names_no_device_is_refused(monkeypatch):
    monkeypatch.setenv("ROADSEG_DEVICE", "nonsense")
    with pytest.raises(JobError, match=r"ROADSEG_DEVICE is 'nonsense'.*Give one of auto, cpu, cuda") as refusal:
        environment.check()
    assert "openvino-npu" in refusal.value.remedy


@pytest.mark.parametrize(
    "told",
    [
        "The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver",
        "Found no NVIDIA driver on your system",
    ],
)
def test_a_build_for_gpus_without_one_or_with_an_old_driver_says_why(monkeypatch, told):
    def fail(*_, **__):
        raise RuntimeError(f"{told}.\nMore lines.")

    accelerator.probe.cache_clear()
    monkeypatch.setattr(accelerator, "built_kind", lambda: "cuda")
    monkeypatch.setattr(torch, "ones", fail)
    try:
        assert why_not("cuda") == told
        with pytest.raises(DeviceError, match=r"The device cuda cannot be used: .* Update its driver") as failure:
            accelerator.find("cuda")
        assert told in str(failure.value)
        assert why_not("mps") == "the PyTorch that is installed is not built for mps"
        log = []
        monkeypatch.setattr("training_core.models.engine_choice.built_kind", lambda: "cuda")
        assert devices_at_hand(FineTune(), FP32, TRAINING_DEVICES, Reporter(log.append)) == []
        assert [type(each) for each in log] == [Log] and told in log[0].message
    finally:
        accelerator.probe.cache_clear()


def test_in_bf16_a_device_computes_where_it_has_units_for_it(monkeypatch):
    for has_bf16, precision in ((True, "bf16"), (False, "fp32")):
        plug_in(monkeypatch, has_bf16=has_bf16)
        (engine,) = devices_at_hand(FineTune(device="cuda"), "auto", TRAINING_DEVICES, Reporter())
        assert engine.precision == precision
        (engine,) = devices_at_hand(FineTune(device="cuda"), FP32, TRAINING_DEVICES, Reporter())
        assert engine.precision == FP32


def test_when_a_device_fails_while_it_infers_the_cpu_goes_on(monkeypatch):
    plug_in(monkeypatch, fails_at=3, error=OUT_OF_MEMORY)  # a model, a batch, and the next batch
    device, warnings = make_engine("cuda", FP32), []
    engine = FallbackEngine(device, device.prepare_inference(NETWORK), NETWORK, False, warnings.append)
    native = NativeEngine(FP32)
    expected = native.probability(native.prepare_inference(NETWORK), IMAGES)
    for name in ("cuda", "native", "native"):
        torch.testing.assert_close(engine.probability(None, IMAGES), expected, atol=0.02, rtol=0)
        assert engine.name == name
    assert len(warnings) == 1 and "a fake GPU" in warnings[0] and "CUDA out of memory" in warnings[0]
    assert "The CPU computes from here on." in warnings[0]


def test_a_device_of_openvino_computes_what_the_cpu_does_at_any_size():
    engine, native = make_engine("openvino-auto", FP32), NativeEngine(FP32)
    prepared, on_cpu = engine.prepare_inference(NETWORK), native.prepare_inference(NETWORK)
    for shape in ((2, 2, 64, 64), (1, 2, 32, 64), (2, 2, 64, 64)):
        images = IMAGES[: shape[0], :, : shape[2], : shape[3]]
        torch.testing.assert_close(
            engine.probability(prepared, images), native.probability(on_cpu, images), atol=1e-4, rtol=0
        )


def test_a_device_of_openvino_that_refuses_an_operation_is_told_and_left_out(monkeypatch):
    def refuse(core, model, device, settings):
        raise RuntimeError("Exception from core.cpp:\n[NPU] Unsupported operation: ConvTranspose")

    openvino = openvino_model.import_openvino()
    monkeypatch.setattr(openvino.Core, "compile_model", refuse)
    monkeypatch.setattr("training_core.models.engines.why_not_device", lambda device: None)
    reporter = Reporter()

    def trial(engine):
        engine.probability(engine.prepare_inference(NETWORK), IMAGES)

    devices = devices_at_hand(Segment(device="openvino-npu"), "auto", DEVICES, reporter)
    assert [(each.name, each.precision) for each in devices] == [("openvino-npu", FP16)]
    assert choose_anywhere("auto", FP32, TRAINING, devices, trial, reporter, 0.0).name == "native"
    assert len(reporter.warnings) == 1 and "Unsupported operation: ConvTranspose" in reporter.warnings[0]


def test_devices_of_openvino_are_found_by_name(monkeypatch):
    openvino = openvino_model.import_openvino()
    monkeypatch.setattr(openvino.Core, "available_devices", ["CPU", "GPU.0", "GPU.1"])
    assert why_not("openvino-gpu") is None and "finds no NPU" in why_not("openvino-npu")
    devices = devices_at_hand(Segment(), "auto", DEVICES, Reporter())
    assert "openvino-gpu" in [each.name for each in devices] and "openvino-auto" not in [each.name for each in devices]
