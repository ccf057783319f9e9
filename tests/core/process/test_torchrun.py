import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.core.support.towns import ROAD_M

ROOT = Path(__file__).parents[3]


@pytest.fixture
def port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def start(rank, port, *options):
    """Start a rank as torchrun or SLURM do."""
    variables = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": 2,
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-m", "training_core", "finetune", *map(str, options), "--events"],
        cwd=ROOT, env={**os.environ, **{name: str(value) for name, value in variables.items()}},
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def last_of(process):
    text, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    return json.loads(text.splitlines()[-1])


def recipe(town, folder, **changed):
    options = {
        "rasters": town.raster, "roads": town.roads, "aoi": town.aoi, "base_model": "", "width_m": ROAD_M, "steps": 1,
        "chip_px": 64, "batch_size": 1, "accumulation": 2, "threads": 2, "model": folder / "model.safetensors",
        **changed,
    }  # fmt: skip
    return [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", value)]


@pytest.mark.slow
def test_a_rank_that_cannot_read_its_image_ends_all_before_they_learn(town, tmp_path, port):
    broken, out = tmp_path / "broken.tif", tmp_path / "out"
    broken.write_text("no image")
    out.mkdir()
    ranks = [start(0, port, *recipe(town, out)), start(1, port, *recipe(town, out, rasters=broken))]
    first, second = map(last_of, ranks)
    assert first["code"] == second["code"] == "imagery" and "broken.tif" in second["message"]
    assert re.search(r"^Rank 1 of 2 on .+: .*broken\.tif", first["message"])
    assert not list(out.iterdir())


@pytest.mark.slow
def test_a_port_in_use_is_said(town, tmp_path):
    with socket.socket() as other:
        other.bind(("", 0))
        other.listen()
        port = other.getsockname()[1]
        told = last_of(start(0, port, *recipe(town, tmp_path)))
    assert told["code"] == "worker" and f"127.0.0.1:{port}" in told["message"] and "port" in told["remedy"]
