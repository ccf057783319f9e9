"""A profile as it might be measured: training and inference of a ResNet34 U-Net, on a made-up machine."""

from __future__ import annotations

from training_core.profiling.profile import (
    Advice,
    Bound,
    Counters,
    Kind,
    LayerRow,
    Limits,
    LossTime,
    MemoryCurve,
    Phase,
    PrimitiveRow,
    Profile,
    Rate,
    Row,
    Run,
    Span,
    ThreadLoad,
    TimeLine,
    Trial,
)

CONVOLUTION, NORMALIZATION, ACTIVATION, POOLING = Kind.CONVOLUTION, Kind.NORMALIZATION, Kind.ACTIVATION, Kind.POOLING
UPSAMPLING, ADDITION, LOSS, OPTIMIZER = Kind.UPSAMPLING, Kind.ADDITION, Kind.LOSS, Kind.OPTIMIZER
COPY, PYTHON, OTHER = Kind.COPY, Kind.PYTHON, Kind.OTHER
WAITING, FORWARD, BACKWARD, OPTIMIZER_STEP = Phase.WAITING, Phase.FORWARD, Phase.BACKWARD, Phase.OPTIMIZER_STEP
VALIDATION, CONVERSION, UNACCOUNTED = Phase.VALIDATION, Phase.CONVERSION, Phase.UNACCOUNTED
COMPUTE, MEMORY = Bound.COMPUTE, Bound.MEMORY
PEAK, BANDWIDTH, CACHE_BANDWIDTH = 1.9e12, 4.2e10, 2.6e11
LIMITS = Limits(
    convolution={
        "fp32": (Rate(1, 1.2e11), Rate(2, 2.3e11), Rate(4, 4.4e11)),
        "bf16": (Rate(1, 5e11), Rate(2, 9.7e11), Rate(4, PEAK)),
        "int8": (Rate(1, 9e11), Rate(2, 1.8e12), Rate(4, 3.4e12)),
    },
    matrix={
        "fp32": (Rate(1, 1.3e11), Rate(2, 2.5e11), Rate(4, 4.6e11)),
        "bf16": (Rate(1, 4.7e11), Rate(2, 9.1e11), Rate(4, 1.7e12)),
    },
    bandwidth={
        "triad": (Rate(1, 1.4e10), Rate(2, 2.6e10), Rate(4, 3.9e10)),
        "read": (Rate(1, 1.6e10), Rate(2, 2.9e10), Rate(4, BANDWIDTH)),
        "copy": (Rate(1, 1.3e10), Rate(2, 2.4e10), Rate(4, 3.7e10)),
    },
    cache_per_s=CACHE_BANDWIDTH,
    cache_bytes=33_554_432,
    parallel_region_s=4.2e-6,
    machine={
        "cores": 4,
        "threads a core (SMT)": 1,
        "NUMA nodes": 1,
        "governor": "performance",
        "huge pages": "madvise",
        "allocator": "glibc",
        "frequency idle": "3.4 GHz",
        "frequency under load": None,
    },
)
# Blocks of the encoder's stages, their channels, and the side of their maps as a divisor of the image's.
_STAGES = ((1, 3, 64, 4), (2, 4, 128, 8), (3, 6, 256, 16), (4, 3, 512, 32))
# Channels in and out of the decoder's blocks, and the divisor of their maps.
_DECODER = ((768, 256, 16), (384, 128, 8), (192, 64, 4), (128, 32, 2), (32, 16, 1))


def convolutions(batch_size, size_px):
    """Layer, input and weight shape of each convolution, and its FLOP and bytes in BF16."""
    layers = [("encoder.conv1", 3, 64, 7, 2)]
    for stage, blocks, channels, divisor in _STAGES:
        for block in range(blocks):
            first = channels // 2 if block == 0 and stage > 1 else channels
            layers.append((f"encoder.layer{stage}.{block}.conv1", first, channels, 3, divisor))
            layers.append((f"encoder.layer{stage}.{block}.conv2", channels, channels, 3, divisor))
    for number, (first, last, divisor) in enumerate(_DECODER):
        layers.append((f"decoder.blocks.{number}.conv1.0", first, last, 3, divisor))
        layers.append((f"decoder.blocks.{number}.conv2.0", last, last, 3, divisor))
    layers.append(("segmentation_head.0", 16, 1, 3, 1))
    for name, first, last, kernel, divisor in layers:
        side = size_px // divisor
        flop = 2.0 * batch_size * side**2 * first * last * kernel**2
        size = 2.0 * (batch_size * side**2 * (first + last) + first * last * kernel**2)
        yield name, f"{batch_size}x{first}x{side}x{side} {last}x{first}x{kernel}x{kernel}", flop, size


def make_run(what="training", engine="native", precision="bf16", batch_size=4, size_px=480, slowness=1.0):
    """A run that takes its time in proportion to `slowness`."""
    is_training = what == "training"
    primitives, layers = {}, {}

    def add(layer, name, kind, phase, shape, flop, size, efficiency, implementation=""):
        ideal_s = max((flop or 0) / PEAK, size / BANDWIDTH / 3)
        time_s = slowness * ideal_s / efficiency
        primitives.setdefault((name, phase, shape), []).append((time_s, flop, size, kind, implementation, efficiency))
        forward_s, backward_s = layers.get(layer, (0.0, 0.0))
        layers[layer] = (forward_s, backward_s + time_s) if phase == BACKWARD else (forward_s + time_s, backward_s)

    for number, (layer, shape, flop, size) in enumerate(convolutions(batch_size, size_px)):
        brgconv = "brgconv:avx512_core_bf16" if number else "jit:avx512_core_bf16"
        add(
            layer,
            "aten::mkldnn_convolution",
            CONVOLUTION,
            FORWARD,
            shape,
            flop,
            size,
            0.35 + 0.012 * (number % 30),
            brgconv,
        )
        normalized = layer.replace("conv", "bn") if "encoder" in layer else layer[:-1] + "1"
        maps = shape.split()[0]
        if number < 43:
            add(normalized, "aten::batch_norm", NORMALIZATION, FORWARD, maps, size, 2 * size, 0.4)
            add(normalized[:-3] + "relu", "aten::relu_", ACTIVATION, FORWARD, maps, None, size, 0.6)
        if is_training:
            add(layer, "aten::convolution_backward", CONVOLUTION, BACKWARD, shape, 2 * flop, 3 * size, 0.3, brgconv)
            add(normalized, "aten::native_batch_norm_backward", NORMALIZATION, BACKWARD, maps, 2 * size, 4 * size, 0.35)
            add(layer, "reorder", COPY, BACKWARD, maps, None, size, 0.5)
    pixels = batch_size * size_px**2
    add("encoder.maxpool", "aten::max_pool2d", POOLING, FORWARD, f"{batch_size}x64x240x240", None, 32.0 * pixels, 0.5)
    for number, (first, _, divisor) in enumerate(_DECODER):
        side = size_px // divisor
        shape, size = f"{batch_size}x{first}x{side}x{side}", 2.5 * batch_size * first * side**2
        add(f"decoder.blocks.{number}", "aten::upsample_nearest2d", UPSAMPLING, FORWARD, shape, None, size, 0.5)
        add(f"encoder.layer{number % 4 + 1}.0", "aten::add_", ADDITION, FORWARD, shape, None, size, 0.7)
    if is_training:
        add("loss", "road_loss", LOSS, FORWARD, f"{batch_size}x1x{size_px}x{size_px}", 30.0 * pixels, 8.0 * pixels, 0.7)
        add("optimizer", "fused_adamw", OPTIMIZER, OPTIMIZER_STEP, "24430097", 12.0 * 24.4e6, 28.0 * 24.4e6, 0.8)
    return _assembled(primitives, layers, what, engine, precision, batch_size, size_px)


def _assembled(primitives, layers, what, engine, precision, batch_size, size_px):
    is_training = what == "training"
    busy_s = sum(time_s for calls in primitives.values() for time_s, *_ in calls)
    step_s = busy_s / 0.93

    def share(time_s):
        return time_s / step_s

    rows, by_kind, by_phase = [], {}, {}
    for (name, phase, shape), calls in primitives.items():
        time_s = sum(call[0] for call in calls)
        flop, size = (sum(call[place] or 0 for call in calls) for place in (1, 2))
        kind, implementation, efficiency = calls[0][3:]
        by_kind[kind] = by_kind.get(kind, 0) + time_s
        by_phase[phase] = by_phase.get(phase, 0) + time_s
        bound = COMPUTE if flop / PEAK > size / BANDWIDTH / 3 else MEMORY
        rows.append(
            PrimitiveRow(
                name, len(calls), time_s, share(time_s), 0.03 * time_s, flop or None, size, efficiency, bound, kind,
                phase, shape, "channels last" if "x" in shape else "contiguous", precision, implementation,
                0.1 * time_s if kind == CONVOLUTION and phase == BACKWARD else 0.0,
            )
        )  # fmt: skip
    waiting_s, other_s, rest_s = 0.03 * step_s, 0.03 * step_s, 0.01 * step_s
    phases = [(WAITING, waiting_s), (FORWARD, by_phase[FORWARD])]
    if is_training:
        phases += [(BACKWARD, by_phase[BACKWARD]), (OPTIMIZER_STEP, by_phase[OPTIMIZER_STEP]), (VALIDATION, other_s)]
    else:
        phases += [(CONVERSION, other_s)]
    phases += [(UNACCOUNTED, rest_s)]
    kinds = [*by_kind.items(), (PYTHON, other_s), (OTHER, waiting_s), (UNACCOUNTED, rest_s)]
    parts = [*layers.items(), ("input", (waiting_s + other_s, 0.0)), (UNACCOUNTED, (rest_s, 0.0))]
    sizes = {layer: (flop, size) for layer, _, flop, size in convolutions(batch_size, size_px)}
    layer_rows = []
    for name, (forward_s, backward_s) in parts:
        time_s = forward_s + backward_s
        flop, size = sizes.get(name, (None, None))
        scale = 3 if is_training else 1
        is_step_part = name in ("optimizer", "input", UNACCOUNTED)
        layer_rows.append(
            LayerRow(
                name, 2.0, time_s, share(time_s), 0.02 * time_s, flop and scale * flop, size and scale * size,
                flop and min(1.0, scale * flop / PEAK / time_s), COMPUTE if flop else "",
                0.0 if is_step_part else forward_s, 0.0 if is_step_part else backward_s,
            )
        )  # fmt: skip

    def largest_first(found):
        return tuple(sorted(found, key=lambda row: -row.time_s))

    return Run(
        what=what,
        engine=engine,
        precision=precision,
        threads=4,
        batch_size=batch_size,
        size_px=size_px,
        step_s=step_s,
        spread_s=0.02 * step_s,
        steps=37,
        phases=tuple(Row(name, 1.0, time_s, share(time_s), 0.02 * time_s) for name, time_s in phases),
        kinds=largest_first(Row(name, 9.0, time_s, share(time_s), 0.02 * time_s) for name, time_s in kinds),
        layers=largest_first(layer_rows),
        primitives=largest_first(rows),
        unaccounted_share=0.01,
        overhead_share=0.013,
        counters=Counters(812.0, 0.043, 0.012, 0.94, 17.0),
        memory=_memory(is_training),
        time_line=_time_line(rows, phases, is_training),
        options={"batch_size": batch_size, "recompute": "auto"} if is_training else {"tile_px": size_px},
    )


def _memory(is_training):
    rising = [int(2.6e9 * (number / 400) ** 0.7) for number in range(400)]
    if not is_training:
        return MemoryCurve(
            tuple(int(4e8 * (1 + number % 9) / 9) for number in range(300)), ((FORWARD, 299),), 98_000_000
        )
    falling = [int(2.6e9 * (1 - number / 600)) + 90_000_000 * (number % 20 < 3) for number in range(600)]
    phases = ((FORWARD, 399), (BACKWARD, 999), (OPTIMIZER_STEP, 1009))
    return MemoryCurve((*rising, *falling, *[97_000_000] * 10), phases, 391_000_000)


def _time_line(rows, phases, is_training):
    spans, ends, begin_s = [], [], 0.0
    for phase, duration_s in phases:
        ends.append((phase, begin_s, begin_s + duration_s))
        at_s = begin_s
        for row in (each for each in rows if each.phase == phase):
            pieces = int(row.calls) * 3
            for piece in range(pieces):
                spans.append(
                    Span("main thread", row.name, row.kind, f"layer {piece}", at_s, 0.97 * row.time_s / pieces)
                )
                at_s += row.time_s / pieces
        begin_s += duration_s
    if is_training:
        spans += [
            Span("data thread", "chip", "other", "", 0.1 * begin_s * number, 0.06 * begin_s) for number in range(9)
        ]
    loads = tuple(
        ThreadLoad(f"thread {number}", tuple(0.95 - 0.2 * number * (step % 7 == 0) for step in range(60)), begin_s / 60)
        for number in range(4)
    )
    return TimeLine(tuple(ends), tuple(sorted(spans, key=lambda span: span.begin_s)), loads)


def make_profile(*runs, **members):
    """A profile of these runs, or of a training and an inference run."""
    runs = runs or (make_run(), make_run("inference", batch_size=1, size_px=512))
    advice = (
        Advice(
            "batch normalization bound by memory", runs[0].name,
            "Batch normalization takes 21 % of the step at 9 % of the memory bandwidth.",
            "Train with a smaller chip, so that maps stay in the cache.", 0.08, {"chip_px": 384},
            "guide.md#profiling", Trial(0.31, 0.296),
        ),
        Advice("small batch", runs[0].name, "A batch has 4 images.", "Take larger batches.", 0.05, {"batch_size": 8},
               "guide.md#profiling"),
        Advice("busy neighbor", runs[-1].name, "Others took 4 % of the processor.", "Close other programs.", 0.04),
    )  # fmt: skip
    losses = (
        LossTime("RoadSeg", 0.0021, 1.0),
        LossTime("torchvision focal loss", 0.0049, 2.33),
        LossTime("segmentation_models_pytorch focal loss", 0.0057, 2.71),
    )
    given = {
        "hardware": "A processor, 4 cores",
        "limits": LIMITS,
        "runs": runs,
        "advice": advice,
        "losses": losses,
        "options": {"what": "both", "seconds": 60.0, "engine": "auto", "bands": (1, 2, 3), "report": "report.html"},
        "versions": {"roadseg": "1.2.3", "torch": "2.8.0"},
        "warnings": ("The frequency under load cannot be read.",),
    }
    return Profile(**{**given, **members})
