"""A Dask scheduler and its workers as processes of their own, as on a cluster, but on the loopback interface."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress

PATIENCE_S = 30


class Processes:
    """A scheduler and workers; all of them end with the context.

    Parameters
    ----------
    folder : Path
        For their files.
    """

    def __init__(self, folder):
        self._folder, self._stack, self._count = folder, ExitStack(), 0
        self.address = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()

    def start_scheduler(self, port=0, arguments=(), variables=None):
        """Start a scheduler, wait until it listens, and return its process."""
        file = self._folder / f"scheduler{self._count}.json"
        self._count += 1
        process = self._start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", port, "--dashboard-address", "127.0.0.1:0",
            "--scheduler-file", file, *arguments, variables=variables,
        )  # fmt: skip
        self.address = json.loads(_once(file.read_text))["address"]
        return process

    def start_worker(self, *arguments, variables=None, folder=None):
        """Start a worker with its nanny, and return the nanny's process."""
        self._count += 1
        return self._start(
            "dask_worker", self.address, "--host", "127.0.0.1", "--no-dashboard", "--nthreads", 1,
            "--local-directory", self._folder / "scratch", "--name", f"w{self._count}", *arguments,
            variables=variables, folder=folder,
        )  # fmt: skip

    def wait_for_workers(self, count):
        """Wait until a number of workers have joined the scheduler."""
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=PATIENCE_S)

    def _start(self, module, *arguments, variables=None, folder=None):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **(variables or {})}
        with (self._folder / f"{module}{self._count}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{module}", *map(str, arguments)],
                stdout=log, stderr=log, env=environment, cwd=folder or self._folder, start_new_session=True,
            )  # fmt: skip
        self._stack.callback(end, process)
        return process


def end(process):
    """Kill a process with its children."""
    with suppress(ProcessLookupError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def write_certificates(folder):
    """Write a certificate and its key; return what names them in Dask's configuration."""
    from distributed.security import Security

    made, settings = Security.temporary(), {"ca-file": folder / "ca.pem"}
    settings["ca-file"].write_text(made.tls_ca_file)
    for role in ("scheduler", "worker", "client"):
        for part in ("cert", "key"):
            path = settings[f"{role}.{part}"] = folder / f"{role}_{part}.pem"
            path.write_text(getattr(made, f"tls_{role}_{part}"))
    return {f"distributed.comm.tls.{name}": str(path) for name, path in settings.items()}


def as_variables(settings):
    """Return the variables that say the same as settings of Dask's configuration."""
    return {"DASK_" + name.upper().replace(".", "__").replace("-", "_"): value for name, value in settings.items()}


def free_port():
    """Return a port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _once(read):
    """Return what can be read, as soon as it can."""
    until_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            text = read()
            json.loads(text)
            return text
        except (OSError, ValueError):
            assert time.monotonic() < until_s
            time.sleep(0.05)
