"""What `scaling.py` measures, as one of its processes does it: `scaling_ranks.py CASE RANK STORE`, CASE in JSON."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

if TYPE_CHECKING:
    import numpy as np

    from training_core.distributed.group import Group

BATCH, WARM_UPS, TIMEOUT_S = 4, 2, 120


def main() -> None:
    case, rank, store = json.loads(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    from training_core.system.processor import prepare_process

    cores = case["cores"][rank]
    os.sched_setaffinity(0, cores)
    prepare_process(len(cores))  # before torch is loaded
    import torch
    from torch import distributed

    from training_core.distributed.group import ALONE, join

    torch.set_num_threads(len(cores))
    size = len(case["cores"])
    group = join(distributed.FileStore(store, size), rank, size, timeout_s=TIMEOUT_S) if size > 1 else ALONE

    def wait() -> None:
        group.gather(torch.zeros(1))

    if case["parameters"]:
        found = time_exchange(case, group, wait)
    else:
        found = time_steps(case, ALONE if case["is_apart"] else group, wait)
    print(json.dumps(found))
    if size > 1:
        wait()
        distributed.destroy_process_group()


def time_exchange(case: dict[str, Any], group: Group, wait: Callable[[], None]) -> dict[str, Any]:
    """Return the seconds of exchanges of gradients, and of the processor, less those in which they are only made."""
    import torch

    from training_core.distributed.gradient_exchange import GradientExchange
    from training_core.models.architectures import Architecture, build_network

    parameters = list(build_network(Architecture()).parameters())[: case["parameters"]]
    gradients = [torch.ones_like(each) for each in parameters]

    def make_gradients() -> None:
        for parameter, gradient in zip(reversed(parameters), reversed(gradients)):
            parameter.grad = None
            parameter.backward(gradient)

    def exchange_gradients() -> None:
        exchange.begin_round(group.size, is_last=True)
        make_gradients()
        exchange.finish()

    making_s = statistics.median(timed(make_gradients, case["repeats"], wait)[0])
    exchange = GradientExchange(parameters, group, is_compressed=case["precision"] == "bf16")
    seconds, busy_s = timed(exchange_gradients, case["repeats"], wait)
    return {
        "seconds": [second - making_s for second in seconds],
        "busy_s": [second - making_s for second in busy_s],
        "values": sum(each.numel() for each in parameters),
    }


def time_steps(case: dict[str, Any], group: Group, wait: Callable[[], None]) -> dict[str, Any]:
    """Return the seconds of training steps, and the share of the backward pass."""
    import torch

    from training_core.distributed.ranks import Ranks
    from training_core.jobs import FineTune
    from training_core.learning.chips import chips_of
    from training_core.learning.step import ChipStep
    from training_core.models.architectures import Architecture, build_network
    from training_core.models.engines import make_engine

    precision, size_px, batches = case["precision"], case["size_px"], case["batches"]
    torch.manual_seed(0)
    recipe = FineTune(batch_size=BATCH, chip_px=size_px, accumulation=batches, frozen_stages=0)
    ranks, engine = Ranks(group), make_engine("native", precision)
    trainer = ranks.trainer(build_network(Architecture()), engine, recipe, partial(ChipStep, share=ranks.share))
    chips, labels = chips_of_step(BATCH * batches, size_px)
    assigned = chips_of(ranks.share.assigned(batches), BATCH)
    chips, labels = chips[assigned], labels[assigned]
    seconds, busy_s = timed(lambda: trainer.step(chips, labels, 1e-4), case["repeats"], wait)
    computed_s = sum(trainer.stopwatch.timings_s[part] for part in ("forward", "backward", "optimizer"))
    return {"seconds": seconds, "busy_s": busy_s, "backward": trainer.stopwatch.timings_s["backward"] / computed_s}


def chips_of_step(count: int, size_px: int) -> tuple[np.ndarray, np.ndarray]:
    """Return noise with labels, the same in every step."""
    import numpy as np

    random = np.random.default_rng(0)
    chips = random.standard_normal((count, 3, size_px, size_px), dtype=np.float32)
    return chips, (random.random((count, size_px, size_px)) > 0.9).astype(np.uint8)


def timed(do: Callable[[], None], repeats: int, wait: Callable[[], None]) -> tuple[list[float], list[float]]:
    """Return the seconds of each repetition, and of the processor in it; all processes begin together."""
    seconds, busy_s = [], []
    for _ in range(WARM_UPS + repeats):
        wait()
        began_s, began_busy_s = time.perf_counter(), time.process_time()
        do()
        seconds.append(time.perf_counter() - began_s)
        busy_s.append(time.process_time() - began_busy_s)
    return seconds[WARM_UPS:], busy_s[WARM_UPS:]


if __name__ == "__main__":
    main()
