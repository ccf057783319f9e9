"""Encoders pretrained on ImageNet: fetched once from the hub of segmentation_models_pytorch, then read from a file.

Scope: the file of an encoder. Independent of the model that it becomes a part of. Nothing is fetched unless a job asks
for `imagenet`. Only safetensors are taken; the library would fall back on a pickle.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from ..errors import RuntimeEnvironmentError
from ..events import Reporter
from ..jobs.file_systems import replace
from .architectures import TIMM, Architecture

# The registry of the library: which repository, at which revision.
_REGISTRY = "segmentation_models_pytorch.encoders"
_FILE, _README = "model.safetensors", "README.md"
_TIMEOUT_S = 20.0


def encoder_file(encoder: str) -> Path:
    """Return the file of an encoder's weights, which may also be put there by hand."""
    return _data_folder() / "weights" / f"{encoder}-imagenet.safetensors"


def _data_folder() -> Path:
    """Return the folder for RoadSeg's own data, the same as in QGIS (`qgis_roadseg/paths.py`)."""
    home = Path.home()
    if sys.platform == "win32":
        parent = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        parent = home / "Library" / "Application Support"
    else:
        parent = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return parent / "roadseg"


def fetch_encoder(encoder: str, reporter: Reporter) -> Path:
    """Return the file of an encoder pretrained on ImageNet, fetched if it is not there yet.

    The license of the weights is logged. Raises RuntimeEnvironmentError if it cannot be fetched, is damaged on its way,
    or cannot be written.
    """
    path = encoder_file(encoder)
    if path.is_file():
        return path
    place = _place(Architecture(encoder=encoder).library_name)
    hub = importlib.import_module("huggingface_hub")
    hub.constants.HF_HUB_DISABLE_TELEMETRY = True  # it would report each use to its makers
    url = hub.hf_hub_url(filename=_FILE, **place)
    reporter.log(f"Fetching {encoder}, pretrained on ImageNet, from {url}.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, ignore_cleanup_errors=True) as folder:
            options = {**place, "local_dir": folder, "etag_timeout": _TIMEOUT_S}
            expected = hub.get_hf_file_metadata(url, timeout=_TIMEOUT_S).etag
            fetched = Path(hub.hf_hub_download(filename=_FILE, tqdm_class=_progress_class(reporter), **options))
            found = hashlib.sha256(fetched.read_bytes()).hexdigest()
            if found != expected:
                raise OSError(f"its checksum is {found}, not {expected}")
            reporter.log(f"The license of these weights: {_license(hub, options)} ({place['repo_id']}).")
            partial = path.with_suffix(f".{os.getpid()}.part")
            shutil.move(fetched, partial)
            replace(partial, path)
    except (OSError, ValueError, RuntimeError, hub.errors.HTTPError) as error:
        raise RuntimeEnvironmentError(
            f"The weights of {encoder}, pretrained on ImageNet, cannot be fetched: {error}.",
            f"Connect to the internet; or fetch {url} elsewhere, and put it here as {path}.",
        ) from error
    return path


def _place(library_name: str) -> dict[str, str]:
    """Return the repository and revision of the weights, from the library or, for some encoders, from timm."""
    if library_name.startswith(TIMM):
        timm = importlib.import_module("timm")
        return {"repo_id": timm.get_pretrained_cfg(library_name.removeprefix(TIMM)).hf_hub_id, "revision": "main"}
    settings = importlib.import_module(_REGISTRY).encoders[library_name]["pretrained_settings"]["imagenet"]
    return {"repo_id": settings["repo_id"], "revision": settings["revision"]}


def _license(hub: Any, options: dict[str, Any]) -> str:
    """Return the license that the weights' page names."""
    try:
        text = Path(hub.hf_hub_download(filename=_README, **options)).read_text("utf-8")
    except (OSError, ValueError, RuntimeError, hub.errors.HTTPError):
        return "not stated"
    lines = (line.partition(":") for line in text.splitlines())
    return next((value.strip() for name, _, value in lines if name.strip() == "license"), "not stated")


def _progress_class(reporter: Reporter) -> type:
    """Return a class of progress bars for the hub that passes progress to a reporter and ends when it is cancelled."""
    base = importlib.import_module("huggingface_hub.utils").tqdm

    class Progress(base):  # type: ignore[misc, valid-type]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **{**options, "disable": True})  # nothing on the terminal

        def update(self, n: float = 1) -> None:
            reporter.check_cancelled()
            self.n += n
            if self.total:
                reporter.progress(min(1.0, self.n / self.total), "Fetching the encoder")

    return Progress
