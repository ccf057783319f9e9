import json
import subprocess
import sys

import pytest
from roadseg.qgis_roadseg.runtime import process
from roadseg.qgis_roadseg.runtime.process import RUN_MODULE, ChildProcess, Ending, LineReader, run_to_end
from roadseg.training_core.errors import Cancelled, RuntimeEnvironmentError

from ..conftest import PLUGINS
from ..support.acting import wait_until_gone


def run_python(code):
    with ChildProcess(sys.executable, ["-c", code]) as process:
        out, err, polls, running = [], [], 0, True
        while running:
            running = process.is_running
            lines = process.poll()
            out += lines.out
            err += lines.err
            polls += 1
        return out, err, process.ending, polls


def test_lines_are_made_of_whatever_comes():
    reader = LineReader()
    text = "Straße\r\n字\n\nrest"
    lines = [line for byte in text.encode() for line in reader.feed(bytes([byte]))]
    assert lines == ["Straße", "字", ""]
    assert reader.rest() == ["rest"]
    assert reader.rest() == []


def test_a_line_without_end_does_not_fill_the_memory():
    reader = LineReader(longest=10)
    for _ in range(1000):
        assert reader.feed(b"x" * 7) == []
    assert reader.feed(b"\nnext\n") == ["x" * 10, "next"]


def test_programs_that_write_in_the_code_page_of_windows_are_understood(monkeypatch):
    monkeypatch.setattr(process, "SYSTEM_ENCODING", "cp1252")
    text = "C:\\Users\\Müller\n"
    assert LineReader().feed(text.encode("cp1252")) == LineReader().feed(text.encode()) == ["C:\\Users\\Müller"]


def test_both_outputs_and_the_status_are_heard():
    out, err, ending, _ = run_python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (out, err, ending) == (["out"], ["err"], Ending(3, False))


def test_nothing_said_just_before_the_end_is_lost():
    out, *_ = run_python("print('\\n'.join(map(str, range(200000))))")
    assert out == [str(number) for number in range(200000)]


def test_a_signal_is_told_from_a_status():
    assert run_python("import os; os.kill(os.getpid(), 9)")[2] == Ending(9, True)
    assert run_python("import sys; sys.exit(9)")[2] == Ending(9, False)


def test_waiting_for_a_process_that_has_closed_its_outputs_costs_no_time():
    *_, polls = run_python("import os, time; os.close(1); os.close(2); time.sleep(1)")
    assert polls < 100  # each of which waits a tenth of a second; in vain, there are some 100,000


def test_killing_does_not_reach_beyond_the_process():
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    with ChildProcess(sys.executable, ["-c", "import time; time.sleep(60)"]) as process:
        child = int(process._process.processId())
    assert wait_until_gone(child)
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


def test_running_to_the_end_and_the_last_words_of_a_failure():
    heard = []
    assert run_to_end(sys.executable, ["-c", "print('a'); print('b')"], heard.append) == "a\nb"
    assert heard == ["a", "b"]
    with pytest.raises(RuntimeEnvironmentError, match=r"(?s)failed with status 2:.*No space left"):
        run_to_end(sys.executable, ["-c", "import sys; print('No space left', file=sys.stderr); sys.exit(2)"])


def test_cancelling_ends_the_process_and_its_children(tmp_path):
    (tmp_path / "parent.py").write_text(
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    heard = []
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n" + RUN_MODULE
    with pytest.raises(Cancelled):
        run_to_end(sys.executable, ["-I", "-c", code, "parent"], heard.append, lambda: bool(heard))
    assert wait_until_gone(int(heard[0]))


PARENT = """
import json, sys
plugins, folder, how, what = json.loads(sys.argv[1])
sys.path.insert(0, plugins)
from roadseg.qgis_roadseg.runtime import process
code = f"import sys; sys.path.insert(0, {folder!r})\\n" + getattr(process, how)
with process.ChildProcess(sys.executable, ["-c", code, *what]) as child:
    while True:
        for line in child.poll().out:
            print(line, flush=True)
"""


@pytest.mark.parametrize("how", ["RUN_MODULE", "RUN_PROGRAM"])
def test_a_process_and_its_children_end_where_the_one_that_started_them_is_killed(how, tmp_path):
    (tmp_path / "started.py").write_text(
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(os.getpid(), child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    what = ["started"] if how == "RUN_MODULE" else [sys.executable, str(tmp_path / "started.py")]
    values = json.dumps([PLUGINS, str(tmp_path), how, what])
    parent = subprocess.Popen([sys.executable, "-B", "-c", PARENT, values], stdout=subprocess.PIPE, text=True)
    started = [int(number) for number in parent.stdout.readline().split()]
    parent.kill()
    parent.communicate()
    assert len(started) == 2 and all(wait_until_gone(number) for number in started)
