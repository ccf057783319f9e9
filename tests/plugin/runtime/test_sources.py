"""Where packages come from, with pip itself and indexes on this machine."""

import socket
import sys
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from roadseg.qgis_roadseg.runtime import build, runtime, sources
from roadseg.qgis_roadseg.runtime.runtime import CPU, CUDA, Amount, RequirementSet
from roadseg.qgis_roadseg.runtime.sources import Sources
from roadseg.training_core.errors import RuntimeEnvironmentError

from ..support.acting import Ear
from ..support.wheels import make_wheel, no_own_index

BASE = Path(sys.base_prefix, "bin", "python3")


@pytest.fixture
def index(tmp_path, monkeypatch):
    """An empty folder that a server on this machine shows as the index of CPU builds."""
    folder = tmp_path / "cpu"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(sources, "CPU_INDEX", f"http://127.0.0.1:{server.server_port}")
        yield folder
        server.shutdown()


@pytest.fixture
def torch_set(no_runtime, tmp_path, monkeypatch):
    """A requirement set of torch and torchvision; its default packages, for CUDA, need a package of nvidia's."""
    no_own_index(monkeypatch, tmp_path)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(runtime.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    wheels = tmp_path / "default"
    make_pytorch(wheels, "2.8.0", "0.23.0", requires=["nvidia-x"])
    make_wheel(wheels, name="nvidia_x", version="12")
    make_wheel(wheels)
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime" / "common.txt").write_text("tiny==1.2\n")
    lines = f"--no-index\n--find-links {wheels}\ntorch==2.8.0\ntorchvision==0.23.0\n-r common.txt\n"
    (tmp_path / "runtime" / "torches.txt").write_text(lines)
    monkeypatch.setattr(runtime, "RESOURCES", tmp_path)
    return RequirementSet("torches", ((3, 9), (3, 99)), Amount(0.6, 2.3))


@pytest.fixture(params=[pytest.param("pip", marks=pytest.mark.slow), "uv"])
def tool(request, torch_set, monkeypatch):
    """Each of the tools that install."""
    if request.param == "uv":
        monkeypatch.setattr(build.shutil, "which", lambda name: str(Path(sys.executable).with_name(name)))
    return request.param


def make_pytorch(folder, torch, torchvision, requires=()):
    make_wheel(folder, f"__version__ = {torch!r}", name="torch", version=torch, requires=requires)
    needs = [f"torch=={torch.partition('+')[0]}"]
    make_wheel(folder, f"__version__ = {torchvision!r}", name="torchvision", version=torchvision, requires=needs)


def show(folder, torch, torchvision):
    """Lay out wheels as an index: one folder for each package."""
    make_pytorch(folder, torch, torchvision)
    for wheel in list(folder.glob("*.whl")):
        package = folder / wheel.name.partition("-")[0]
        package.mkdir(exist_ok=True)
        wheel.rename(package / wheel.name)


def installed(requirements, given=None):
    ear = Ear()
    versions = build.build(requirements, given or Sources(), BASE, ear)
    has_cuda = any(requirements.folder.rglob("nvidia_x.py"))
    return versions["torch"], versions["torchvision"], has_cuda, ear.text


def test_pytorch_comes_from_the_index_of_cpu_builds(torch_set, index, tool):
    show(index, "2.8.0+cpu", "0.23.0+cpu")
    torch, torchvision, has_cuda, told = installed(torch_set)
    assert (torch, torchvision, has_cuda) == ("2.8.0+cpu", "0.23.0+cpu", False)
    assert "about 0.6 GB. On disk: about 2.3 GB" in told


def test_pytorch_comes_from_the_default_index_where_that_of_cpu_builds_cannot_be_reached(torch_set, tool, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        monkeypatch.setattr(sources, "CPU_INDEX", f"http://127.0.0.1:{closed.getsockname()[1]}")
    torch, torchvision, has_cuda, told = installed(torch_set)
    assert (torch, torchvision, has_cuda) == ("2.8.0", "0.23.0", True)
    assert "cannot be reached. PyTorch comes from the default index, with CUDA libraries" in told
    assert f"downloads {CUDA.download_gb} GB instead of {CPU.download_gb} GB" in told


@pytest.mark.parametrize("versions", [("2.9.0+cpu", "0.24.0+cpu"), ("2.8.0+cpu", "0.24.0+cpu")])
def test_builds_of_two_indexes_are_never_mixed(torch_set, index, tool, versions):
    show(index, *versions)
    torch, torchvision, has_cuda, told = installed(torch_set)
    assert (torch, torchvision, has_cuda) == ("2.8.0", "0.23.0", True)
    assert {"pip": "No matching distribution", "uv": "No solution found"}[tool] in told
    assert "instead of" in told


def test_packages_with_an_index_of_their_own_come_from_nowhere_else(torch_set, index, monkeypatch, tool):
    """As a build for a device, which the builds for CPUs would pass over."""
    show(index, "2.8.0+cu1", "0.23.0+cu1")
    theirs, closed = replace(torch_set, index=sources.CPU_INDEX), "http://127.0.0.1:9"
    monkeypatch.setattr(sources, "CPU_INDEX", closed)
    assert installed(theirs)[:2] == ("2.8.0+cu1", "0.23.0+cu1")
    with pytest.raises(RuntimeEnvironmentError, match=f"{closed}, the index of PyTorch for torches, cannot be"):
        build.build(replace(torch_set, index=closed), Sources(), BASE, Ear())


def test_an_index_that_is_silent_is_given_up(qgis_app, monkeypatch):
    monkeypatch.setattr(sources, "PROBE_MS", 300)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert not sources.answers(f"http://127.0.0.1:{silent.getsockname()[1]}", Ear())


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PIP_CONFIG_FILE", "[global]\nextra-index-url = https://mirror.example.org\n"),
        ("PIP_FIND_LINKS", "/wheels"),
        ("UV_DEFAULT_INDEX", "https://mirror.example.org"),
    ],
)
def test_what_the_person_has_configured_is_all_that_is_used(torch_set, index, monkeypatch, tmp_path, variable, value):
    show(index, "2.8.0+cpu", "0.23.0+cpu")
    assert sources.choose(torch_set, Sources(), BASE, Ear()) == (sources.CPU_INDEX, torch_set.amount)
    if variable == "PIP_CONFIG_FILE":
        (tmp_path / "pip.conf").write_text(value)
        value = str(tmp_path / "pip.conf")
    monkeypatch.setenv(variable, value)
    address, amount = sources.choose(torch_set, Sources(), BASE, Ear())
    assert (address, amount.may_be_less) == ("", True)


def test_what_the_person_gives_is_all_that_is_used(torch_set, index, tmp_path):
    show(index, "2.8.0+cpu", "0.23.0+cpu")
    wheels = tmp_path / "default"
    assert sources.choose(torch_set, Sources(extra_index_url="https://cpu.example.org"), BASE, Ear())[0] == ""
    address, amount = sources.choose(torch_set, Sources(wheels=str(wheels)), BASE, Ear())
    assert (address, amount.download_gb, amount.disk_gb) == ("", 0, CUDA.disk_gb)
    (wheels / "nvidia_x-12-py3-none-any.whl").unlink()
    assert sources.choose(torch_set, Sources(wheels=str(wheels)), BASE, Ear())[1].disk_gb == 2.3


def test_elsewhere_the_default_index_has_cpu_builds(torch_set, index, monkeypatch):
    show(index, "2.8.0+cpu", "0.23.0+cpu")
    monkeypatch.setattr(sys, "platform", "win32")
    assert sources.choose(torch_set, Sources(), BASE, Ear()) == ("", torch_set.amount)


def test_a_disk_that_is_too_small_is_told_before_the_download(torch_set, index, monkeypatch, tmp_path):
    show(index, "2.8.0+cpu", "0.23.0+cpu")
    usage = sources.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(sources.shutil, "disk_usage", lambda path: usage._replace(free=2_000_000_000))
    ear = Ear()
    with pytest.raises(RuntimeEnvironmentError, match=r"needs 2.9 GB in .*runtime, but only 2.0 GB are free") as why:
        build.build(torch_set, Sources(), BASE, ear)
    assert "TMPDIR" in why.value.remedy
    assert "Successfully installed" not in ear.text
    assert list(torch_set.folder.parent.glob("*torches-*/*")) == []


def test_of_an_own_index_either_build_is_possible(tmp_path, monkeypatch):
    usage = sources.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(sources.shutil, "disk_usage", lambda path: usage._replace(free=5_000_000_000))
    ear = Ear()
    sources.check_room(sources.replace(CUDA, may_be_less=True), tmp_path, ear)
    assert (
        f"up to {CUDA.disk_gb} GB" in ear.text and "This is enough only if the packages come without CUDA." in ear.text
    )
    with pytest.raises(RuntimeEnvironmentError, match=f"needs {CUDA.disk_gb + CUDA.download_gb:.1f} GB"):
        sources.check_room(CUDA, tmp_path, Ear())


def test_megabytes_are_counted():
    ear = Ear()
    tell = sources.tell_megabytes(Amount(0.6, 2.3), ear)
    tell("  Downloading torch-2.8.0+cpu-cp311-cp311-linux_x86_64.whl (184.0 MB)")
    tell("  Downloading affine-3.0-py3-none-any.whl (500 kB)")
    tell("  Using cached affine-3.0-py3-none-any.whl (500 kB)")  # again, after a connection that broke
    tell("Installing collected packages: torch")
    tell("Downloading scipy (115.5MiB)")  # uv
    assert [line for line in ear.told if "about" in line] == [
        "Downloading torch-2.8.0+cpu-cp311-cp311-linux_x86_64.whl: 184 of about 600 MB",
        *["Downloading affine-3.0-py3-none-any.whl: 184 of about 600 MB"] * 2,
        "Downloading scipy: 300 of about 600 MB",
    ]
    assert ear.progress() == 10 + 75 / 2
