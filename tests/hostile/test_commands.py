"""Commands that no client sends, to a session in a process of its own: each is passed over, and the session goes on."""

from __future__ import annotations

import json
import random

import pytest

from tests.core.support.worker_process import LiveWorker
from training_core import events
from training_core.jobs import Live, from_options

SEED = 20261124
_ROAD = {"layer": "roads", "id": "1", "geometry": "LINESTRING (390010 5819990, 390150 5819900)"}


def _labels(**members: object) -> str:
    return json.dumps({"command": "labels", "sequence": 1, "changes": [{**_ROAD, **members}]})


def _line(points: int) -> str:
    return ", ".join(f"{390000 + number % 190} {5819810 + number * 7 % 190}" for number in range(points))


LINES: dict[str, bytes] = {
    **{f"only {content[:12]!r}": content for content in (
        b"{}", b"[]", b"null", b"3", b'"stop"', b"NaN", b"\0", b"\xff\xfe{", b"\x80\x04\x95.", b"[" * 1_000_000,
        b'{"command":' * 100_000, b"9" * 1_000_000, b'"' + b"x" * 5_000_000 + b'"',
    )},
    "20 MB": b'{"command": "' + b"x" * 20_000_000 + b'"}',
    **{f"command {name!r:.20}": json.dumps({"command": name}).encode()
       for name in ("", "Stop", "__class__", "run", None, 3, ["stop"], {"stop": 1}, "x" * 100_000, "\ud800")},
    "stop, and something else": b'{"command": "stop", "kill": true}',
    "two stops in a line": b'{"command": "stop"}{"command": "stop"}',
    **{f"a geometry {wkt[:24]!r}": _labels(geometry=wkt).encode() for wkt in (
        "", "LINESTRING", "LINESTRING (0 0)", "LINESTRING (1e400 0, 0 0)", "POINT (1 1)", "TIN EMPTY", "x" * 100_000,
        "LINESTRING (nan nan, nan nan)", "SRID=4326;LINESTRING (0 0, 1 1)", "CIRCULARSTRING (0 0, 1 1, 2 0)",
        "GEOMETRYCOLLECTION (" * 500 + ")" * 500,
    )},
    **{f"{member} {value!r:.20}": _labels(**{member: value}).encode()
       for member in ("layer", "id", "width_m", "sure") for value in ([], {}, True, "x" * 100_000)
       if (member, value) != ("sure", True)},
    "changes in changes": json.dumps({"command": "labels", "sequence": 1, "changes": [[_ROAD]]}).encode(),
    **{f"an extent {value!r:.24}": json.dumps({"command": "view", "extent": value}).encode()
       for value in ([], [0, 0, 0, 0], [1, 1, 0, 0], [0] * 1000, [[0, 0], [1, 1]], "0,0,1,1", [0, 0, 1, 10**19])},
    **{f"a place {value!r:.20}": json.dumps({"command": "correct", "sequence": 1, "x": value, "y": 0}).encode()
       for value in (None, "1", [1], 10**19, True)},
    **{f"a model {value!r:.20}": json.dumps({"command": "keep", "model": value}).encode()
       for value in (None, 3, "", "\0", "x" * 100_000, "/proc/model.safetensors", "/nowhere/\ud800/m.safetensors")},
}  # fmt: skip
# Valid commands without an effect that matters; they must take no longer than others.
HARMLESS: dict[str, bytes] = {
    "labels far away": _labels(geometry="LINESTRING (-9e9 -9e9, 9e9 9e9)").encode(),
    "a long line": _labels(geometry=f"LINESTRING ({_line(20_000)})").encode(),
    "an erased feature that never was": _labels(geometry=None, id="never").encode(),
    "a view of the whole world": b'{"command": "view", "extent": [-9e9, -9e9, 9e9, 9e9]}',
    "a view without the image": b'{"command": "view", "extent": [0, 0, 1, 1]}',
    "a view of less than a pixel": b'{"command": "view", "extent": [390000.1, 5819990.1, 390000.2, 5819990.2]}',
    "a click in the sea": b'{"command": "correct", "sequence": 1, "x": 0, "y": 0}',
    "pause": b'{"command": "pause"}',
}


def _fuzzed(line: bytes, number: int) -> bytes:
    """Return a line of which some bytes are others."""
    chance = random.Random(SEED + number)
    content = bytearray(line)
    for at in chance.sample(range(len(content)), min(len(content), chance.choice((1, 2, 6)))):
        content[at] = chance.choice(b'{}[]:," 9-ntf\\\xff\x00')
    return bytes(content).replace(b"\n", b" ")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["known", "fuzzed"])
def test_whatever_is_sent_the_session_goes_on(goods, tmp_path, kind):
    options = goods.options("live", tmp_path / "out")
    lines = [*LINES.values(), *HARMLESS.values()]
    if kind == "fuzzed":
        sound = [*HARMLESS.values(), _labels().encode()] * 25
        lines = [_fuzzed(line, number) for number, line in enumerate(sound) if len(line) < 1000]
    with LiveWorker(from_options(Live, {**options, "folder": str(tmp_path / "session")}), tmp_path) as worker:
        worker.wait_for(events.State, state="waiting")
        for line in lines:
            worker.write(line)
        worker.send("labels", sequence=99, changes=[{**_ROAD, "id": "good"}])
        worker.send("stop")
        result = worker.wait_for(events.Result, timeout_s=120).result
        assert worker.end()[0] == 0 and result["roads"] >= 1
        warnings = [event.message for event in worker.all_of(events.Warning)]
        assert all(len(message) < 2000 and "Traceback" not in message for message in warnings)
        # One of the harmless lines is warned of, too: the long one crosses itself too often.
        assert kind != "known" or len(warnings) == len(LINES) + 1
        assert not worker.all_of(events.Error) and "Traceback" not in worker.errors
