"""Files of arrays by name: archives of numpy without any pickled object.

Scope: the format. Independent of what the arrays mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from ..errors import OutputError


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays to a file; the same arrays give the same bytes.

    Parameters
    ----------
    path : Path
        Ends in .npz.
    arrays : mapping of str to ndarray (...), any numeric dtype
        By name.
    """
    np.savez_compressed(path, **arrays)


def read_arrays(path: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Return the arrays that a file holds, by name.

    Parameters
    ----------
    names : iterable of str
        Those that it must hold.

    Returns
    -------
    dict of str to ndarray (...), any numeric dtype
        As they were written.

    Raises
    ------
    OutputError
        The file is missing, or damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as held:
            return {name: held[name] for name in {*names, *held.files}}
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise OutputError(f"{path} cannot be read: {error}.", "Delete it, and run the job again.") from error
