"""A training step over a whole image: memory, time and redundancy by number of processes; how exact its gradients are.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/whole_images.py`, or with `--equality --size 2048`
for the errors of the gradients, relative to the largest one, by width of the halo. The image is generated: noise with a
grid of roads, all of it labeled. The model begins as the starter, with frozen batch normalization. Each process has a
core of its own; the seconds of processor time say how long a step takes where nothing else runs.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

ROAD_EVERY_PX, ROAD_WIDTH_PX = 256, 12
# Summit: 100 images of 10,000 x 10,000 x 4 px, each in 8 x 8 tiles of 1,250 px with a halo of 92 px.
SUMMIT = (10_000, 64, 1_250, 92)


@dataclass(frozen=True)
class Case:
    """A step to take.

    Parameters
    ----------
    folder : str
        Of the image.
    processes, threads : int
        Ranks that share the tiles out, and cores of each.
    precision, engine, recompute : str
        As in a job.
    core_px, halo_px : int
        Of the tiles; 0 and -1 choose the fastest tiles and the exact halo.
    gradients : str
        A file for them; empty for none.
    """

    folder: str
    size_px: int
    bands: int
    processes: int = 1
    threads: int = 1
    precision: str = "bf16"
    engine: str = "native"
    recompute: str = "auto"
    core_px: int = 0
    halo_px: int = -1
    gradients: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10_000, help="side of the image in pixels")
    parser.add_argument("--bands", type=int, default=4)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--threads", type=int, default=1, help="cores of a process")
    parser.add_argument("--engine", default="native")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--recompute", default="auto")
    parser.add_argument("--equality", action="store_true", help="compare gradients with the undivided image's")
    parser.add_argument("--core", type=int, default=512, help="core of the tiles for --equality")
    parser.add_argument("--rank", type=int, help="for this script itself")
    parser.add_argument("--case", help="for this script itself")
    arguments = parser.parse_args()
    if arguments.case:
        print(json.dumps(measure(Case(**json.loads(arguments.case)), arguments.rank)))
        return
    with tempfile.TemporaryDirectory() as folder:
        make_image(Path(folder), arguments.size, arguments.bands)
        case = Case(
            folder, arguments.size, arguments.bands, 1, arguments.threads, arguments.precision, arguments.engine,
            arguments.recompute,
        )  # fmt: skip
        if arguments.equality:
            compare(case, arguments.core)
        else:
            for count in arguments.processes:
                show_step(replace(case, processes=count))
            size_px, tiles, core_px, halo_px = SUMMIT
            redundancy = tiles * (core_px + 2 * halo_px) ** 2 / size_px**2
            print(f"Summit: {tiles} tiles of {core_px + 2 * halo_px} px, halo {halo_px} px, E {redundancy:.2f}")


def make_image(folder: Path, size_px: int, bands: int) -> None:
    """Write an image and its labels to files, in strips."""
    values = np.lib.format.open_memmap(folder / "values.npy", "w+", np.uint8, (bands, size_px, size_px))
    labels = np.lib.format.open_memmap(folder / "labels.npy", "w+", np.uint8, (size_px, size_px))
    random = np.random.default_rng(0)
    is_road = np.arange(size_px) % ROAD_EVERY_PX < ROAD_WIDTH_PX
    for top in range(0, size_px, 512):
        rows = slice(top, min(top + 512, size_px))
        labels[rows] = is_road[rows, None] | is_road
        noise = random.integers(60, 140, (bands, *labels[rows].shape), dtype=np.uint8)
        values[:, rows] = noise + 60 * labels[rows]


def show_step(case: Case) -> None:
    """Take a step, and print what it took."""
    ranks = run(case)
    for rank, found in enumerate(ranks):
        print(
            f"{case.size_px} px, rank {rank + 1} of {case.processes}, {case.engine} {case.precision}: "
            f"{found['tiles']} tiles of {found['tile']} px, halo {found['halo_px']} px"
            f"{', recomputing' * found['is_recomputing']}, E {found['redundancy']:.2f}; estimated "
            f"{found['estimate_gb']:.1f} GB, peak {found['peak_gb']:.1f} GB ({found['own_gb']:.1f} GB without the "
            f"mapped image); {found['wall_s']:.0f} s, processor {found['processor_s']:.0f} s, waited "
            f"{found['waited_s']:.0f} s; loss {found['loss']:.6f}",
            flush=True,
        )


def compare(case: Case, core_px: int) -> None:
    """Print the errors of the loss and the gradients of tiles by halo, and on two processes."""
    folder = Path(case.folder)
    whole = replace(case, core_px=-(-case.size_px // 32) * 32, gradients=str(folder / "whole.npz"))
    (undivided,) = run(whole)
    exact_px = undivided["halo_px"]
    print("tiles                   halo  processes       E  error of the loss  of the gradients")
    for halo_px, processes in ((exact_px, 1), (exact_px, 2), (288, 1), (128, 1), (0, 1)):
        path = folder / "tiles.npz"
        tiled = replace(case, core_px=core_px, halo_px=halo_px, processes=processes, gradients=str(path))
        found, *_ = run(tiled)
        loss = abs(found["loss"] / undivided["loss"] - 1)
        error = largest_error(folder / "whole.npz", path)
        tiles = f"{found['all_tiles']} x {found['tile']} px"
        print(
            f"{tiles:21} {halo_px:6} {processes:10} {found['redundancy']:7.2f} {loss:18.1e} {error:17.1e}", flush=True
        )


def largest_error(expected: Path, found: Path) -> float:
    """Return the largest error of any gradient in a file, relative to the largest gradient in another one."""
    with np.load(expected) as whole, np.load(found) as tiles:
        largest = max(np.abs(whole[name]).max() for name in whole.files)
        return max(np.abs(tiles[name] - whole[name]).max() for name in whole.files) / largest


def run(case: Case) -> list[dict[str, Any]]:
    """Take a step with a process for each rank, and return what each measured."""
    command = [sys.executable, __file__, "--case", json.dumps(dataclasses.asdict(case)), "--rank"]
    Path(case.folder, "store").unlink(missing_ok=True)
    processes = [
        subprocess.Popen([*command, str(rank)], stdout=subprocess.PIPE, text=True) for rank in range(case.processes)
    ]
    outputs = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise SystemExit("A process failed.")
    return [json.loads(output.splitlines()[-1]) for output in outputs]


def measure(case: Case, rank: int) -> dict[str, Any]:
    """Take the step as one of the ranks."""
    cores = sorted(os.sched_getaffinity(0))
    first = rank * case.threads
    os.sched_setaffinity(0, {cores[number % len(cores)] for number in range(first, first + case.threads)})

    from training_core.system import processor

    processor.prepare_process(case.threads)

    import torch

    from training_core.distributed.data_parallel import DataParallel
    from training_core.jobs import StepOptions
    from training_core.learning.plan import MemoryPlan, room_for
    from training_core.learning.trainer import build_optimizer
    from training_core.models.architectures import adapt_first_layer, build_network, set_training_mode
    from training_core.models.engines import make_engine
    from training_core.models.loading import load_weights
    from training_core.models.recompute import recompute_activations
    from training_core.segmentation.measured import image_halo_px
    from training_core.whole_images.samples import ImageSample
    from training_core.whole_images.step import add_image_gradients
    from training_core.whole_images.tiles import TilePlan, plan_tiles

    torch.set_num_threads(case.threads)
    group = join(case, rank)
    weights, card = load_weights(str(ROOT / "resources" / "starter" / "roads.safetensors"))
    names = tuple(f"band {number}" for number in range(case.bands))
    architecture = replace(card.architecture, in_channels=case.bands)
    recipe = StepOptions(batch_norm="frozen", recompute=case.recompute)
    engine = make_engine(case.engine, case.precision)
    shape = case.size_px, case.size_px
    if group.leads:
        if case.core_px:
            halo_px = case.halo_px if case.halo_px >= 0 else image_halo_px(architecture)
            layout = dataclasses.asdict(TilePlan(case.core_px, halo_px))
            memory = MemoryPlan(case.recompute == "yes", 0, "", layout)
        else:
            room = room_for(architecture, case.processes, case.processes)
            memory = plan_tiles(architecture, engine, recipe, [shape], room)
    memory = MemoryPlan(**group.broadcast_document(dataclasses.asdict(memory) if group.leads else None))
    plan = TilePlan(**memory.layout)
    model = build_network(architecture)
    model.load_state_dict(adapt_first_layer(weights, card.architecture.first_layer, card.band_names, names))
    model, optimizer = engine.prepare_training(model, build_optimizer(model, "adamw"))
    set_training_mode(model, 0, "frozen")
    if memory.is_recomputing:
        recompute_activations(model)
    share = DataParallel(group)
    share.attach(model)
    sample = ImageSample(
        values=np.load(Path(case.folder, "values.npy"), mmap_mode="r"),
        known=np.broadcast_to(np.True_, shape),
        training=np.load(Path(case.folder, "labels.npy"), mmap_mode="r"),
        classes=None,
        scale=np.full(case.bands, 1 / 40, np.float32),
        offset=np.full(case.bands, -100 / 40, np.float32),
        labeled_px=case.size_px**2,
    )
    group.gather(torch.zeros(1))  # all begin together
    waited_s, wall_s, processor_s = group.waited_s, time.perf_counter(), time.process_time()
    loss = add_image_gradients(model, engine, sample, plan, share=share, tick=report(rank))
    share.finish()
    if case.gradients and group.leads:
        np.savez(case.gradients, **{name: each.grad.float().numpy() for name, each in model.named_parameters()})
    optimizer.step()
    tiles = list(plan.tiles(*shape))
    return {
        "tiles": len(tiles[rank :: group.size]),
        "all_tiles": len(tiles),
        "tile": round(plan.tile_px(*shape) ** 0.5),
        "halo_px": plan.halo_px,
        "is_recomputing": memory.is_recomputing,
        "redundancy": plan.redundancy(*shape),
        "estimate_gb": memory.peak_bytes / 1e9,
        "wall_s": time.perf_counter() - wall_s,
        "processor_s": time.process_time() - processor_s,
        "waited_s": group.waited_s - waited_s,
        "loss": loss,
        **peak_memory(),
    }


def join(case: Case, rank: int) -> Any:
    """Return the group of the case's ranks."""
    from training_core.distributed.group import ALONE, join_here

    return ALONE if case.processes == 1 else join_here(case.folder, rank, case.processes, 3 * 3600)


def report(rank: int) -> Any:
    """Return a callable that prints how far a rank is, beside the results."""
    began_s = time.perf_counter()
    return lambda done: print(f"rank {rank}: {done:.0%} {time.perf_counter() - began_s:.0f} s", file=sys.stderr)


def peak_memory() -> dict[str, float]:
    """Return the most memory that this process has had, in GB, and that without what is mapped from files now."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak, mapped = (int(status[name].split()[0]) * 1024 / 1e9 for name in ("VmHWM", "RssFile"))
    return {"peak_gb": peak, "own_gb": peak - mapped}


if __name__ == "__main__":
    main()
