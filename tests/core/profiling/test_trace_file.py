"""The trace of a few steps, where it cannot be written."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from training_core.errors import ResourceError
from training_core.profiling.trace_file import write_trace


@pytest.mark.parametrize("written", [None, "", '{"traceEvents": [{"ph": "X",'], ids=["nothing", "empty", "half"])
def test_a_temporary_folder_without_room_is_named(tmp_path, written):
    def export(path):  # as PyTorch's, which tells nobody
        if written is not None:
            Path(path).write_text(written)

    runs = [SimpleNamespace(profiler=SimpleNamespace(export_chrome_trace=export))]
    with pytest.raises(ResourceError, match="temporary folder") as refused:
        write_trace(tmp_path / "trace.json", runs)
    assert "TMPDIR" in refused.value.remedy and not (tmp_path / "trace.json").exists()
