"""Ctrl+C and SIGTERM stop qgis_process while an algorithm runs; the worker only plays its part."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from scripts import headless

from .conftest import write_image

WORKER = """
import json, os, sys, time
os.setpgid(0, 0)
print(json.dumps({{"event": "heartbeat"}}), flush=True)
open({started!r}, "w").write(str(os.getpid()))
sys.stdin.read()
print(json.dumps({{"event": "error", "code": "cancelled", "message": "Stopped.", "remedy": ""}}), flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_run_and_leaves_nothing(number, tmp_path):
    started, temporary, python = tmp_path / "started", tmp_path / "temporary", tmp_path / "python"
    temporary.mkdir()
    (tmp_path / "worker.py").write_text(WORKER.format(started=str(started)))
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path}/worker.py"\n')
    python.chmod(0o755)
    (tmp_path / "m.safetensors").touch()
    mask = tmp_path / "mask.tif"
    values = {"INPUT": write_image(tmp_path / "a.tif"), "MODEL": str(tmp_path / "m.safetensors"), "MASK": str(mask)}
    headless.qgis_process("--version")  # which enables the plugin in a new profile
    process = subprocess.Popen(
        ["qgis_process", "--json", "run", "roadseg:segment", "-"],
        env=headless.environment(ROADSEG_PYTHON=str(python), TMPDIR=str(temporary)),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stdin.write(json.dumps({"inputs": values}))
    process.stdin.close()
    process.stdin = None
    assert wait_for(started.exists, 120)
    process.send_signal(number)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 1 and "Stopped." in told and "Traceback" not in told
    assert list(temporary.glob("roadseg*")) == [] and not mask.exists()
    assert wait_for(lambda: not os.path.exists(f"/proc/{started.read_text()}"), 20)


def wait_for(is_so, seconds):
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        time.sleep(0.05)
    return is_so()
