"""Pipelines of stages: the same model as one process learns, memory and time of two stages, forecasts for up to six.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/pipeline.py`. Three tables:

- equality: the largest difference between the state after some steps in a pipeline and that of one process which
  accumulates the same batches (weights, moments of AdamW, running statistics) in FP32 with live batch normalization
- steps: seconds, processor seconds and peak resident memory of each process for one process with one core and with two,
  and for two stages with a core each, cut by time and by memory; all take turns, and medians count
- forecasts: balance, bubble and speed-up of one to six stages from the measured times of parts, which send nothing,
  beside what Seal et al. (2020, Toward large-scale image segmentation on Summit) report

The networks are RoadSeg's ResNet34-UNet and a deeper one: ResNet101 with a decoder of twice the width.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Optional

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

PLAIN, DEEP = "ResNet34", "ResNet101, wide"
DEEP_WIDTHS = (512, 256, 128, 64, 32)
BATCH, LEARNING_RATE, MAX_STAGES = 4, 1e-3, 6
SUMMIT = "Summit, small U-Net on 6 GPUs: balance 14, 24, 30, 22, 12, 7 (of 109 layers), speed-up about 2"


@dataclass(frozen=True)
class Case:
    """What processes do.

    Parameters
    ----------
    network : str
        PLAIN or DEEP.
    size_px, batches : int
        Side of the chips, and batches of BATCH chips in a step.
    cores : list of list of int
        Of each process.
    balance : list of int
        Parts of each stage; empty for one process without stages, and for a measurement of the parts.
    steps : int
        0 measures the parts instead.
    state : str
        File that the state is kept in, if any.
    """

    network: str
    size_px: int
    batches: int
    cores: list[list[int]]
    balance: Sequence[int] = ()
    precision: str = "fp32"
    is_recomputing: bool = False
    steps: int = 4
    state: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices=("equality", "steps", "forecasts"),
                        default=["equality", "forecasts", "steps"])  # fmt: skip
    parser.add_argument("--networks", nargs="+", choices=(PLAIN, DEEP), default=[PLAIN, DEEP])
    parser.add_argument("--size-px", type=int, default=256)
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--measure", nargs=3, help="a case, a rank and a folder; for this script itself")
    arguments = parser.parse_args()
    if arguments.measure:
        case, rank, folder = arguments.measure
        print(json.dumps(measure(Case(**json.loads(case)), int(rank), folder)))
        return
    if "equality" in arguments.tables:
        show_equality()
    for network in arguments.networks:
        case = Case(network, arguments.size_px, arguments.batches, [[0]], precision=arguments.precision)
        costs = ask(Case(**{**asdict(case), "steps": 0}))[0]["costs"]
        if "forecasts" in arguments.tables:
            show_forecasts(network, costs)
        if "steps" in arguments.tables:
            show_steps(case, costs, arguments.turns)


def show_equality() -> None:
    """Compare what pipelines of two and three stages learn with what one process does."""
    import torch

    print("stages: largest difference of losses, and of the state after 3 steps (ResNet34, 6 x 4 x 96 px)")
    with tempfile.TemporaryDirectory() as folder:
        case = {"network": PLAIN, "size_px": 96, "batches": 6, "steps": 3}
        alone = ask(Case(**case, cores=[[0]], state=f"{folder}/alone"))[0]
        expected = torch.load(f"{folder}/alone")
        for balance in ([17, 6], [9, 9, 5]):
            cores, name = [[stage % 2] for stage in range(len(balance))], f"{folder}/{len(balance)}"
            every = ask(Case(**case, cores=cores, balance=balance, state=name))
            found = torch.load(name)
            assert found.keys() == expected.keys()
            of_losses = max(abs(own - other) for rank in every for own, other in zip(rank["losses"], alone["losses"]))
            of_state = max((found[each].double() - expected[each].double()).abs().max() for each in found)
            print(f"{len(balance)} {of_losses} {of_state.item()}", flush=True)


def show_forecasts(network: str, costs: Sequence[dict[str, Any]]) -> None:
    """Print what is expected of one to six stages."""
    print(f"\n{network}: forecasts; parts take {sum(map(seconds_of, costs)):.2f} s a batch")
    numbers = (8, 32)
    heads = "".join(f"{f'{batches} batches: bubble, speed-up':32}" for batches in numbers)
    print(f"{'stages':7}{'balance':25}{heads}")
    for stages in range(1, MAX_STAGES + 1):
        plans = [plan(costs, stages, batches) for batches in numbers]
        balance = ", ".join(map(str, plans[0].balance))
        expected = "".join(f"{each.bubble:10.0%}{each.speed_up:8.2f}{'':14}" for each in plans)
        print(f"{stages:<7}{balance:25}{expected}")
    print(SUMMIT, flush=True)


def show_steps(case: Case, costs: Sequence[dict[str, Any]], turns: int) -> None:
    """Measure one process and two stages in turns, and print them side by side."""
    planned, pair = plan(costs, 2, case.batches), [[0], [1]]
    ways: dict[str, tuple[Case, Optional[float]]] = {
        "one process, one core": (case, None),
        "one process, two cores": (changed(case, cores=[[0, 1]]), None),
        "one process, one core, recomputing": (changed(case, is_recomputing=True), None),
        "two stages": (changed(case, cores=pair, balance=planned.balance), planned.speed_up),
        "two stages, recomputing": (changed(case, cores=pair, balance=planned.balance, is_recomputing=True), None),
    }
    found: dict[str, list[list[dict[str, Any]]]] = {name: [] for name in ways}
    for _ in range(turns):
        for name, (way, _) in ways.items():
            found[name].append(ask(way))
    print(f"\n{case.network}, {case.precision}, {case.batches} batches of {BATCH} x {case.size_px} px a step")
    print(f"{'':36}{'balance':9}{'s a step':>9}{'speed-up':>10}{'computed':>10}  processor s        waiting   peak MB")
    alone_s = median_s(found["one process, one core"])
    for name, (way, expected) in ways.items():
        seconds, last = median_s(found[name]), found[name][-1]
        processor = ", ".join(f"{each['processor_s']:.2f}" for each in last)
        waiting = ", ".join(f"{each['waiting']:.0%}" for each in last)
        peaks = ", ".join(f"{max(turn[rank]['peak_bytes'] for turn in found[name]) / 1e6:.0f}"
                          for rank in range(len(last)))  # fmt: skip
        balance = ", ".join(map(str, way.balance)) or "-"
        forecast = f"{expected:10.2f}" if expected else f"{'-':>10}"
        numbers = f"{seconds:9.2f}{alone_s / seconds:10.2f}{forecast}"
        print(f"{name:36}{balance:9}{numbers}  {processor:19}{waiting:10}{peaks}", flush=True)


def changed(case: Case, **values: object) -> Case:
    return Case(**{**asdict(case), **values})


def median_s(turns: Sequence[Sequence[dict[str, Any]]]) -> float:
    return statistics.median(second for turn in turns for second in turn[0]["seconds"])


def seconds_of(cost: dict[str, Any]) -> float:
    return cost["forward_s"] + cost["backward_s"]


def plan(costs: Sequence[dict[str, Any]], stages: int, batches: int) -> Any:
    """Return a `PipelinePlan` of measured costs, as an AdamW has four copies of the weights."""
    from training_core.distributed.pipeline_plan import PartCost, plan_stages

    return plan_stages([PartCost(**each) for each in costs], stages, batches, copies=4)


def ask(case: Case) -> list[dict[str, Any]]:
    """Return what the processes of a case find."""
    with tempfile.TemporaryDirectory() as folder:
        question = [sys.executable, __file__, "--measure", json.dumps(asdict(case))]
        processes = [
            subprocess.Popen(
                [*question, str(rank), folder],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for rank in range(len(case.cores))
        ]
        answers = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise SystemExit(f"A process has failed: {case}")
    return [json.loads(answer.splitlines()[-1]) for answer in answers]


def measure(case: Case, rank: int, folder: str) -> dict[str, Any]:
    """Return what one process of a case finds: times, memory and losses of its steps, or the costs of parts."""
    from training_core.system.processor import prepare_process

    os.sched_setaffinity(0, case.cores[rank])
    prepare_process(len(case.cores[rank]))  # before torch is loaded
    import torch

    from training_core.distributed.group import ALONE, join_here

    torch.set_num_threads(len(case.cores[rank]))
    torch.manual_seed(0)
    if not case.steps:
        return {"costs": measured_costs(case)}
    size = len(case.cores)
    return measured_steps(case, join_here(folder, rank, size) if size > 1 else ALONE)


def measured_costs(case: Case) -> list[dict[str, Any]]:
    """Return what each part of a network costs."""
    from training_core.distributed.pipeline_plan import measure_parts
    from training_core.models.architectures import parts_of
    from training_core.models.engines import make_engine

    model, dtype = built(case), make_engine("native", case.precision).dtype
    return [asdict(each) for each in measure_parts(model, parts_of(model), dtype, (BATCH, 3, *2 * (case.size_px,)))]


def measured_steps(case: Case, group: Any) -> dict[str, Any]:
    """Return times, memory and losses of steps; the first one prepares kernels and memory, and does not count."""
    import resource

    import torch

    from training_core.distributed.pipeline_plan import StageWay
    from training_core.distributed.ranks import Ranks, follow, leading
    from training_core.jobs import FineTune
    from training_core.learning.chips import chips_of
    from training_core.learning.trainer import Trainer
    from training_core.models.engines import make_engine

    recipe = FineTune(batch_size=BATCH, accumulation=case.batches, chip_px=case.size_px, frozen_stages=0)
    engine = make_engine("native", case.precision)
    chips, labels = chips_of_step(BATCH * case.batches, case.size_px)
    if case.balance:
        ranks = Ranks(group, len(case.balance))
        layout = {"balance": case.balance}
        stage, make_step = StageWay().step(recipe, built(case), engine, layout, ranks.share)
        trainer = ranks.trainer(stage, engine, recipe, make_step)
        assigned = chips_of(ranks.share.assigned(case.batches), BATCH)
        chips, labels = chips[assigned].copy(), labels[assigned].copy()
    else:
        trainer = Trainer(built(case), engine, recipe)
    losses, seconds = [], []
    for step in range(case.steps):
        if step == 1:
            processor_s, waited_s = time.process_time(), trainer.stopwatch.timings_s["communication"]
        group.gather(torch.zeros(1))  # all begin together
        began_s = time.perf_counter()
        losses.append(trainer.step(chips, labels, LEARNING_RATE))
        seconds.append(time.perf_counter() - began_s)
    processor_s, waited_s = time.process_time() - processor_s, trainer.stopwatch.timings_s["communication"] - waited_s
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if case.state:
        if group.leads:
            with leading(group):
                torch.save(trainer.state_dict(), case.state)
        else:
            follow(trainer, group, (batch for batch in ()), [])
    return {
        "losses": losses,
        "seconds": seconds[1:],
        "processor_s": processor_s / (case.steps - 1),
        "waiting": waited_s / sum(seconds[1:]),
        "peak_bytes": peak_bytes,
    }


def built(case: Case) -> Any:
    """Return a network with random weights."""
    import segmentation_models_pytorch
    import torch

    from training_core.models.architectures import Architecture, build_network
    from training_core.models.decoder import DecoderBlock
    from training_core.models.recompute import recompute_activations

    if case.network == PLAIN:
        model = build_network(Architecture())
    else:
        model = segmentation_models_pytorch.Unet("resnet101", encoder_weights=None, decoder_channels=DEEP_WIDTHS)
        model.decoder.blocks = torch.nn.ModuleList(map(DecoderBlock, model.decoder.blocks))
        model.to(memory_format=torch.channels_last)
    return recompute_activations(model) if case.is_recomputing else model.train()


def chips_of_step(count: int, size_px: int) -> tuple[Any, Any]:
    """Return noise with labels, the same in every step."""
    import numpy as np

    random = np.random.default_rng(0)
    chips = random.standard_normal((count, 3, size_px, size_px), dtype=np.float32)
    return chips, (random.random((count, size_px, size_px)) > 0.9).astype(np.uint8)


if __name__ == "__main__":
    main()
