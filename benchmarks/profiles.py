"""Where the time goes, by class of processor: profiles of training and inference, beside those of another checkout.

Run with the runtime's Python: `$(make -s runtime-python) benchmarks/profiles.py --classes AVX2 all`. Each profile is
one of the job `profile`, in a process of its own; lesser processors are made by the variables that limit the libraries'
instruction sets. `--other FOLDER` names another checkout, such as `git worktree add ../before COMMIT` makes, whose
profiles are compared with these; `--keep FOLDER` keeps the JSON files and the reports.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from training_core.profiling.profile import Profile, Run, read_profile
from training_core.profiling.profile_comparison import compare

CLASSES = {
    "AVX2": {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"},
    "AVX512": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "ATEN_CPU_CAPABILITY": "avx512"},
    "all": {},
}
PRIMITIVES, DIFFERENCES = 10, 6


def main() -> None:
    """Profile each class, here and in the other checkout, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", nargs="*", choices=CLASSES, default=["all"])
    parser.add_argument("--other", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("options", nargs="*", help="further options of the job, such as engine=all chip_px=128")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="roadseg-profiles-") as name:
        folder = asked.keep or Path(name)
        folder.mkdir(exist_ok=True)
        for of_class in asked.classes:
            here = profiled(ROOT, of_class, folder / of_class, asked)
            print(f"\n== {of_class}: {here.hardware}")
            for run in here.runs:
                show(run, here)
            if asked.other:
                show_differences(profiled(asked.other.resolve(), of_class, folder / f"{of_class}_other", asked), here)


def profiled(checkout: Path, of_class: str, path: Path, asked: argparse.Namespace) -> Profile:
    """Return a profile that a checkout takes of itself."""
    words = [f"--{each.replace('_', '-', each.partition('=')[0].count('_'))}" for each in asked.options]
    outputs = [f"--profile={path}.json", f"--report={path}.html", f"--seconds={asked.seconds}"]
    command = [sys.executable, "-m", "training_core", "profile", *outputs, *words]
    done = subprocess.run(
        command, cwd=checkout, env={**os.environ, **CLASSES[of_class]}, stdin=subprocess.DEVNULL, capture_output=True
    )
    if done.returncode:
        raise SystemExit(f"profile failed in {checkout}:\n{done.stderr.decode(errors='replace')[-2000:]}")
    return read_profile(f"{path}.json")


def show(run: Run, profile: Profile) -> None:
    """Print a run: its pace, its kinds of operations, and its largest primitives."""
    peak = profile.limits.peak(run.precision)
    print(f"\n{run.name}, batch {run.batch_size}, {run.size_px} px: {1000 * run.step_s:.1f} ms a step, "
          f"{run.images_per_s:.2f} images/s, {run.peak_share(profile.limits):.0%} of {peak / 1e9:.0f} GFLOP/s; "
          f"unaccounted {run.unaccounted_share:.1%}, overhead {run.overhead_share:.1%}")  # fmt: skip
    print(", ".join(f"{row.name} {row.share:.1%}" for row in run.kinds if row.share >= 0.005))
    for row in run.primitives[:PRIMITIVES]:
        roof = f"{row.roof_share:.0%} of {row.bound}" if row.roof_share else ""
        words = (row.phase, row.name, row.shape, row.dtype, row.implementation)
        print(f"  {row.share:6.1%} {1000 * row.time_s:7.2f} ms {row.calls:4.0f} x {roof:16} {' '.join(words)}")


def show_differences(before: Profile, after: Profile) -> None:
    """Print what became faster or slower."""
    for compared in compare(before, after).runs:
        print(f"\n{compared.name}: {1000 * compared.step_before_s:.1f} ms before, "
              f"{1000 * compared.step_after_s:.1f} ms after, ratio {compared.ratio:.3f}")  # fmt: skip
        for row in compared.tables["kinds"].head(DIFFERENCES).itertuples():
            print(f"  {row.share:+7.1%} {1000 * row.before_s:8.2f} -> {1000 * row.after_s:8.2f} ms {row.name}")


if __name__ == "__main__":
    main()
