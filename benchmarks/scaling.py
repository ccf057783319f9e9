"""Training over several processes: the exchange of gradients, strong and weak scaling, and what follows for 128 nodes.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/scaling.py --results FILE --plot FILE`. What is
measured, with a core for each process:

- the exchange of the gradients of a ResNet34-UNet by itself, in FP32 and BF16, over loopback and between two network
  namespaces joined by a veth pair (as root): unlimited, 10 Gbit/s and 1 Gbit/s
- training steps, native BF16 and FP32, on chips of two sizes: one process with one and with two cores, two processes
  that share whole batches or split each, and two that know nothing of each other

All take turns, and medians count. The model of `scaling_model.py` is fitted to these, compared with
them, and drawn for 1 to 128 nodes. Turns are added to those in the file of results; with --turns 0 it is only shown.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.namespaces import INTERFACES, joined_namespaces

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

TIMEOUT_S = 300
LOOPBACK, VETH = "loopback", "veth"
LINKS = {LOOPBACK: None, VETH: "", "10 Gbit/s": "10gbit", "1 Gbit/s": "1gbit"}
# Of how many parameters gradients are exchanged: the first layers', a third of the encoder's, all 24.4 million values.
SMALL, MEDIUM, ALL = 3, 60, 1000


@dataclass(frozen=True)
class Case:
    """What is measured.

    Parameters
    ----------
    precision : str
        fp32 or bf16: of the model, or of gradients on their way.
    cores : list of list of int
        Of each process.
    link : str
        One of LINKS.
    parameters : int
        For an exchange: of so many of the model's parameters.
    size_px, batches : int
        For steps: side of the chips, and batches in a step.
    is_apart : bool
        Whether each process trains by itself.
    repeats : int
        Of what is timed, in a turn.
    """

    precision: str
    cores: list[list[int]]
    link: str = LOOPBACK
    parameters: int = 0
    size_px: int = 0
    batches: int = 1
    is_apart: bool = False
    repeats: int = 5


@dataclass
class Measured:
    """What the first process of a case measured in all turns.

    Parameters
    ----------
    seconds : list of float
        Of each exchange or step.
    busy_s : list of float
        In which the processor worked for this process.
    values : int
        Gradient values that were exchanged.
    backward : float
        Share of the backward pass in a step.
    """

    case: Case
    seconds: list[float] = field(default_factory=list)
    busy_s: list[float] = field(default_factory=list)
    values: int = 0
    backward: float = 0.0

    @property
    def median_s(self) -> float:
        """What it took."""
        return statistics.median(self.seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--sizes-px", type=int, nargs="+", default=[192, 512])
    parser.add_argument("--results", type=Path, help="JSON file to which what is measured is added")
    parser.add_argument("--plot", type=Path, help="SVG file to draw")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that processes and namespaces go
    from benchmarks.scaling_projection import draw, show

    if arguments.results and arguments.results.exists():
        rows = json.loads(arguments.results.read_text())
        every = [Measured(**{**row, "case": Case(**row["case"])}) for row in rows]
    else:
        every = [Measured(case) for case in cases(arguments.sizes_px)]
    for turn in range(arguments.turns):
        measure(every, turn + 1)
        if arguments.results:
            arguments.results.write_text(json.dumps([asdict(measured) for measured in every]))
    show(every)
    if arguments.plot:
        draw(every, arguments.plot)


def cases(sizes_px: Sequence[int]) -> list[Case]:
    """Return what to measure: exchanges, then steps by size and precision."""
    pair, both = [[0], [1]], ("bf16", "fp32")
    links = LINKS if os.geteuid() == 0 else [LOOPBACK]
    found = [
        Case(precision, pair, link, parameters, repeats=9)
        for link in links
        for precision in both
        for parameters in ((SMALL, MEDIUM, ALL) if link in (LOOPBACK, VETH) else (ALL,))
    ]
    found += [
        Case(precision, [[rank % 2] for rank in range(ranks)], parameters=parameters, repeats=9)
        for ranks in (4, 8)
        for precision in both
        for parameters in (SMALL, ALL)
    ]
    for size_px in sizes_px:
        for precision in both:
            found += [
                Case(precision, [[0]], size_px=size_px),
                Case(precision, [[0, 1]], size_px=size_px),
                Case(precision, pair, size_px=size_px, is_apart=True),
                *(Case(precision, pair, link, size_px=size_px, batches=2) for link in links if link != VETH),
            ]
    return found


def measure(every: Sequence[Measured], turn: int) -> None:
    """Measure each case once more, and add what was found."""
    for measured in every:
        found = measure_once(measured.case)
        measured.seconds += found.pop("seconds")
        measured.busy_s += found.pop("busy_s")
        for name, value in found.items():
            setattr(measured, name, value)
        print(f"turn {turn}: median so far {1000 * measured.median_s:8.1f} ms, {measured.case}", flush=True)


def measure_once(case: Case) -> dict[str, object]:
    """Measure a case with its processes, and return what the first one found."""
    rate = LINKS[case.link]
    with tempfile.TemporaryDirectory() as folder, nullcontext() if rate is None else joined_namespaces(rate) as within:
        question = [sys.executable, str(ROOT / "benchmarks" / "scaling_ranks.py"), json.dumps(asdict(case))]
        processes = [
            subprocess.Popen(
                [*(within[rank] if within else ()), *question, str(rank), f"{folder}/store"],
                env={**os.environ, "GLOO_SOCKET_IFNAME": INTERFACES[rank] if within else "lo"},
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for rank in range(len(case.cores))
        ]
        try:
            answers = [process.communicate(timeout=TIMEOUT_S)[0] for process in processes]
        finally:
            for process in processes:
                process.kill()
    if any(process.returncode for process in processes):
        raise SystemExit(f"A process has failed: {case}")
    return json.loads(next(line for line in answers[0].splitlines() if line.startswith("{")))


if __name__ == "__main__":
    main()
