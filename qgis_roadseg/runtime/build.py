"""Build of a managed runtime: in a temporary folder, checked, then renamed into place (atomic).

Scope: uv, venv, pip, folders. Independent of the runtime's use.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace as changed
from pathlib import Path
from typing import Optional

from qgis.core import QgsProcessingFeedback
from qgis.PyQt.QtCore import QLockFile

from ...training_core.errors import Cancelled, RuntimeEnvironmentError
from ...training_core.jobs.file_systems import replace
from .locks import is_in_use, lock_at
from .network import handed_on, remedy_of, was_cut_off, without_credentials
from .process import POSIX, RUN_MODULE, RUN_PROGRAM, run_to_end
from .pythons import NoPython, fitting, none_found, reason_of, version_of
from .runtime import CUDA, Amount, RequirementSet, check, interpreter, managed_set, named, preferred_sets
from .sources import Sources, check_room, choose, pip_has_index, tell_megabytes, told_of_cuda

RETRIES = 3  # after a connection that broke


def set_up(
    requirements: Optional[RequirementSet],
    sources: Sources,
    base: Optional[Path],
    force: bool,
    feedback: QgsProcessingFeedback,
    added: Sequence[RequirementSet] = (),
) -> tuple[Path, dict[str, str]]:
    """Return a Python that works as the runtime, and its packages' versions; build it where there is none.

    Raises RuntimeEnvironmentError if the Python that the user has named does not work, or a step of the build failed.
    Raises Cancelled if the user stopped it.

    Parameters
    ----------
    requirements : RequirementSet, optional
        What to install; None keeps the set that is installed, or else takes the best one that there is a Python for.
    added : sequence of RequirementSet
        Installed into the same environment, where they are not yet in it.
    """
    named_python = named()
    if named_python is not None and not force:
        feedback.pushInfo(f"{named_python} is set as the runtime's Python, so nothing is built.")
        needed = [requirements or preferred_sets()[-1], *added]
        try:
            return named_python, check(named_python, _modules_of(*needed), feedback.isCanceled)
        except RuntimeEnvironmentError as error:
            command = " ".join([f"{named_python} -m pip install", *_files_of(*needed)])
            raise RuntimeEnvironmentError(error.message, f"{error.remedy} It gets them by: {command}") from error
    *better, last = [requirements] if requirements else _sets_in_order(force)
    for each in better:
        try:
            return _set_up(each, sources, base, force, feedback, added)
        except NoPython as error:
            feedback.pushWarning(f"{error.message.strip()}\nTrying another set of packages.")
    return _set_up(last, sources, base, force, feedback, added)


def _sets_in_order(force: bool) -> list[RequirementSet]:
    installed = None if force else managed_set()
    return [*([installed] if installed else []), *(each for each in preferred_sets() if each != installed)]


def _set_up(
    requirements: RequirementSet,
    sources: Sources,
    base: Optional[Path],
    force: bool,
    feedback: QgsProcessingFeedback,
    added: Sequence[RequirementSet],
) -> tuple[Path, dict[str, str]]:
    python = interpreter(requirements.folder)
    if python.is_file() and not force:
        try:
            versions = check(python, requirements.modules, feedback.isCanceled)
        except RuntimeEnvironmentError as error:
            feedback.pushWarning(f"{error.message}\nRebuilding it.")
        else:
            versions.update(add(requirements, added, sources, feedback) if added else {})
            with suppress(OSError):  # whoever may not write there has not set up another one either
                os.utime(requirements.folder)  # the one set up last is the one used
            return python, versions
    versions = build(requirements, sources, base, feedback, added)
    if named() is not None:
        feedback.pushWarning(f"{named()} is set as the runtime's Python, and takes precedence over this one.")
    return python, versions


def add(
    requirements: RequirementSet, added: Sequence[RequirementSet], sources: Sources, feedback: QgsProcessingFeedback
) -> dict[str, str]:
    """Install sets of packages into the environment of another set, unless they are in it; return their versions.

    Nothing that is there changes, so jobs may run meanwhile. Raises RuntimeEnvironmentError if the installation failed.
    Raises Cancelled if the user stopped it. The environment works as before then.
    """
    folder, modules = requirements.folder, _modules_of(*added)
    python = interpreter(folder)
    try:
        return check(python, modules, feedback.isCanceled)
    except RuntimeEnvironmentError:
        _report(feedback, 10, f"Installing {', '.join(each.name for each in added)}")
    amount = sum((each.amount for each in added), Amount(0, 0))
    amount = changed(amount, download_gb=0) if sources.wheels else amount
    check_room(amount, folder, feedback)
    steps = _uv_steps if _uses_uv(python) else _pip_steps
    _, install = steps(python, folder)
    with _explaining_wheels(sources, [requirements, *added], python), tempfile.TemporaryDirectory() as scratch:
        pins = Path(scratch, "installed.txt")
        pins.write_text("\n".join(_installed(folder)), encoding="utf-8")
        command = [*install, *sources.arguments(), "-c", str(pins), *_files_of(*added)]
        _install(command, feedback, tell_megabytes(amount, feedback), handed_on(python))
    _report(feedback, 90, "Checking")
    return check(python, modules, feedback.isCanceled)


def _installed(environment: Path) -> list[str]:
    """Return the packages in an environment, as requirements of exactly what is there."""
    found = [*environment.glob("lib/*/site-packages/*.dist-info"), *environment.glob("Lib/site-packages/*.dist-info")]
    return sorted({"==".join(each.stem.rsplit("-", 1)) for each in found})


def build(
    requirements: RequirementSet,
    sources: Sources,
    base: Optional[Path],
    feedback: QgsProcessingFeedback,
    added: Sequence[RequirementSet] = (),
) -> dict[str, str]:
    """Build the environment of a requirement set, in place of one that is there, and return its packages' versions.

    Raises RuntimeEnvironmentError if a step failed; nothing is left behind. Raises Cancelled if the user stopped it;
    nothing is left behind.
    """
    if sources.wheels and not Path(sources.wheels).is_dir():
        raise RuntimeEnvironmentError(f"The folder of wheels {sources.wheels} does not exist.")
    with _build_folder(requirements.folder) as folder:
        base, install, configured = _make_environment(requirements, base, folder, feedback)
        index, amount = choose(requirements, sources, configured, feedback)
        amount = sum((each.amount for each in added), amount)
        variables = handed_on(configured)
        check_room(amount, folder, feedback)
        _report(feedback, 10, "Installing packages, which takes a few minutes")
        tell = tell_megabytes(amount, feedback)
        with _explaining_wheels(sources, [requirements, *added], base):
            if index:
                # By itself, so that torch and torchvision never come from different indexes: the next step finds both.
                try:
                    _install([*install, "--index-url", index, *requirements.pytorch], feedback, tell, variables)
                except RuntimeEnvironmentError as error:
                    if requirements.index:
                        raise
                    feedback.pushWarning(f"{error.message}\n{told_of_cuda()}")
                    check_room(CUDA, folder, feedback)
                    tell = tell_megabytes(CUDA, feedback)
            _install([*install, *sources.arguments(), *_files_of(requirements, *added)], feedback, tell, variables)
        _report(feedback, 90, "Checking")
        return check(interpreter(folder), _modules_of(requirements, *added), feedback.isCanceled)


def _make_environment(
    requirements: RequirementSet, base: Optional[Path], folder: Path, feedback: QgsProcessingFeedback
) -> tuple[Path, list[str], Path]:
    """Make a virtual environment with the first Python that can, and tell why others cannot.

    Returns that Python, the command that installs into the environment what follows, and the Python whose pip tells how
    the person has configured pip.
    """
    refused: dict[Path, str] = {}

    def refuse(python: Path, reason: str) -> None:
        refused[python] = reason
        feedback.pushInfo(f"Skipping {python}: {reason}.")

    for python in fitting(requirements, base, refuse):
        _report(feedback, 5, f"Creating an environment with {python}")
        uses_uv = _uses_uv(python)
        make, install = (_uv_steps if uses_uv else _pip_steps)(python, folder)
        try:
            _run(make, feedback, feedback.pushConsoleInfo, {})
        except RuntimeEnvironmentError as error:
            refuse(python, reason_of(error))
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(exist_ok=True)
        else:
            return python, install, python if uses_uv else interpreter(folder)
    raise none_found(requirements, base, refused)


def _install(
    command: list[str], feedback: QgsProcessingFeedback, on_line: Callable[[str], None], variables: Mapping[str, str]
) -> None:
    """Run a tool that downloads, and once more each time the connection broke: what has come is in its cache."""
    for retries_left in reversed(range(RETRIES + 1)):
        try:
            _run(command, feedback, on_line, variables)
            break
        except RuntimeEnvironmentError as error:
            if not retries_left or "--no-index" in command or not was_cut_off(error.message):
                raise
            feedback.pushWarning("The connection was lost. Resuming the download.")


def _run(
    command: list[str], feedback: QgsProcessingFeedback, on_line: Callable[[str], None], variables: Mapping[str, str]
) -> None:
    """Run a tool that may name an address with a password, and tell its lines without that."""
    program, *arguments = command
    try:
        run_to_end(program, arguments, lambda line: on_line(without_credentials(line)), feedback.isCanceled, variables)
    except RuntimeEnvironmentError as error:
        remedy = remedy_of(error.message) or error.remedy
        raise RuntimeEnvironmentError(without_credentials(error.message), remedy) from None


def _files_of(*sets: RequirementSet) -> list[str]:
    return [argument for each in sets for argument in ("-r", str(each.file))]


def _modules_of(*sets: RequirementSet) -> list[str]:
    return [module for each in sets for module in each.modules]


def _uses_uv(python: Path) -> bool:
    # uv ignores pip's configuration: where that names an index, pip is used.
    return shutil.which("uv") is not None and not pip_has_index(python)


def _uv_steps(base: Path, folder: Path) -> tuple[list[str], list[str]]:
    """Return the commands that make an environment, and that install into it what follows."""
    lead = [str(base), "-I", "-c", RUN_PROGRAM] if POSIX else []
    uv = [*lead, str(shutil.which("uv"))]
    # As pip does, take the best version of all indexes, not of the first one with the package.
    options = ["--no-progress", "--index-strategy", "unsafe-best-match"]
    return (
        [*uv, "venv", "--no-progress", "--python", str(base), str(folder)],
        [*uv, "pip", "install", "--python", str(interpreter(folder)), *options],
    )


def _pip_steps(base: Path, folder: Path) -> tuple[list[str], list[str]]:
    options = ["--no-input", "--progress-bar", "off", "--disable-pip-version-check"]
    return (
        [str(base), "-I", "-c", RUN_MODULE, "venv", str(folder)],
        [str(interpreter(folder)), "-I", "-c", RUN_MODULE, "pip", "install", *options],
    )


@contextmanager
def _explaining_wheels(sources: Sources, sets: Sequence[RequirementSet], base: Path) -> Iterator[None]:
    """Add to the error of an installation from a folder of wheels how to fill that folder."""
    try:
        yield
    except RuntimeEnvironmentError as error:
        if not sources.wheels:
            raise
        python = "python{}.{}".format(*version_of(base))
        files = " ".join(f"-r {each.file.name}" for each in sets)
        raise RuntimeEnvironmentError(
            f"{error.message}\n",
            f"{sources.wheels} must contain all packages for this system and {python}. On a connected machine with "
            f"the same system and Python, run: {python} -m pip download --only-binary=:all: {files} -d "
            f"{Path(sources.wheels).name} (in {sets[0].file.parent}).",
        ) from error


@contextmanager
def _build_folder(final: Path) -> Iterator[Path]:
    """Yield a folder to build in, which is renamed to `final` on success and removed on failure."""
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(final.parent, error.strerror) from error
    lock = lock_at(final.with_name(f".{final.name}.lock"))
    if not lock.tryLock(0):
        if lock.error() != QLockFile.LockError.LockFailedError:
            raise _unwritable(final.parent, "no file can be created in it")
        raise RuntimeEnvironmentError(f"{final} is being built by another QGIS.", "Wait for it, or stop it there.")
    try:
        _check_unused(final)
        prefix = f".{final.name}-"
        for leftover in final.parent.glob(f"{prefix}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=final.parent))
        try:
            yield folder
            _check_unused(final)  # a job may have begun meanwhile
            _replace(final, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        lock.unlock()


def _unwritable(folder: Path, reason: str) -> RuntimeEnvironmentError:
    return RuntimeEnvironmentError(
        f"RoadSeg cannot write to the runtime's folder {folder} ({reason}).",
        "Make the folder writable, make room on its disk, or choose a Python with all packages in RoadSeg's settings.",
    )


def _check_unused(environment: Path) -> None:
    if is_in_use(environment):
        raise RuntimeEnvironmentError(
            f"{environment} is in use by a running job, perhaps of another QGIS.", "Wait for it, or stop it."
        )


def _replace(final: Path, built: Path) -> None:
    # A virtual environment may be renamed: its Python finds its base by pyvenv.cfg. Only the scripts of its packages
    # hold the old path, and those are never called.
    former = built.with_name(f"{built.name}-former")
    try:
        if final.exists():
            replace(final, former)
        replace(built, final)
    except OSError as error:
        if former.exists() and not final.exists():
            replace(former, final)
        raise RuntimeEnvironmentError(
            f"{final} cannot be replaced ({error.strerror}).", "Stop the jobs that use it and try again."
        ) from error
    shutil.rmtree(former, ignore_errors=True)


def _report(feedback: QgsProcessingFeedback, progress: float, text: str) -> None:
    if feedback.isCanceled():
        raise Cancelled()
    feedback.setProgress(progress)
    feedback.setProgressText(text)
