"""Default model files in dialogs, from the models folder of the settings.

Scope: the names and times of files. Independent of their content.
"""

from __future__ import annotations

import contextlib
from itertools import count
from pathlib import Path
from typing import Optional

from ...training_core import jobs
from ...training_core.jobs import OptionField

MODEL_SUFFIX, ONNX_SUFFIX = ".safetensors", ".onnx"
_OUTPUT_SUFFIXES = {jobs.MODEL_OUTPUT: MODEL_SUFFIX, jobs.ONNX_OUTPUT: ONNX_SUFFIX}


def suggestion(field: OptionField, folder: str) -> Optional[str]:
    """Return the default path of a model field in a dialog; None for no default.

    Parameters
    ----------
    field : OptionField
        Any field of a job.
    folder : str
        The models folder; empty for none.
    """
    if not folder or not Path(folder).is_dir():
        return None
    if field.option.kind in _OUTPUT_SUFFIXES:
        return str(free_path(Path(folder), _OUTPUT_SUFFIXES[field.option.kind]))
    if field.option.kind == jobs.MODEL and field.option.required:
        newest = newest_model(Path(folder))
        return None if newest is None else str(newest)
    return None


def newest_model(folder: Path) -> Optional[Path]:
    """Return the newest model file in a folder; None without one."""
    written = {}
    for path in folder.glob(f"*{MODEL_SUFFIX}"):
        with contextlib.suppress(OSError):  # it may be deleted since
            written[path] = path.stat().st_mtime
    return max(written, key=written.__getitem__, default=None)


def free_path(folder: Path, suffix: str) -> Path:
    """Return an unused path in a folder: model, else model 2, and so on."""
    names = (folder / f"model{'' if number == 1 else f' {number}'}{suffix}" for number in count(1))
    return next(path for path in names if not path.exists())
