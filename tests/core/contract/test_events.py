"""Events of a job: JSON lines and back, progress in parts, cancellation, listeners."""

import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_core import events
from training_core.errors import Cancelled
from training_core.events import Reporter, decode, describe_failures, encode, time_left

TEXT = st.text()
NUMBER = st.floats(allow_nan=False)
EVENTS = st.one_of(
    st.builds(events.Progress, NUMBER, TEXT, st.none() | NUMBER),
    st.builds(events.Metric, TEXT, NUMBER, st.integers()),
    st.builds(events.Log, TEXT),
    st.builds(events.Warning, TEXT),
    st.just(events.Heartbeat()),
    st.builds(
        events.State, TEXT, TEXT, st.integers(), st.integers(), st.integers(), NUMBER,
        st.lists(st.lists(NUMBER, min_size=2, max_size=2), max_size=2),
    ),
    st.builds(events.Learned, st.integers(), NUMBER),
    st.builds(events.Prediction, TEXT, st.lists(NUMBER, min_size=4, max_size=4), st.integers(), NUMBER, NUMBER),
    st.builds(events.Correction, st.integers(), TEXT, TEXT, TEXT),
    st.builds(events.Kept, TEXT, TEXT, st.none() | NUMBER),
    st.builds(events.Traced, st.integers(), TEXT, st.none() | NUMBER, st.none() | NUMBER),
    st.builds(events.Result, st.dictionaries(TEXT, NUMBER | TEXT | st.lists(TEXT) | st.dictionaries(TEXT, NUMBER))),
    st.builds(events.Error, TEXT, TEXT, TEXT),
)  # fmt: skip


def events_of(act):
    """Return the events that a function sends to its reporter."""
    sent = []
    act(Reporter(sent.append))
    return sent


@given(EVENTS)
def test_an_event_survives_encoding_as_one_line(event):
    line = encode(event)
    assert "\n" not in line and "\r" not in line
    assert json.loads(line)["event"] == event.kind
    assert decode(line) == event
    assert decode(line + "\n") == event


@pytest.mark.parametrize(
    "line",
    [
        *("", "Downloading: 100%", "3", "null", "[]", "{}", '"event"', '{"event": "applause"}', '{"event": ["log"]}'),
        '{"event": "log"}',
        '{"event": "log", "message": "a", "colour": "red"}',
        '{"event": "log", "message": "cut of',
        '{"level": "info", "message": "as other libraries log"}',
    ],
)
def test_other_lines_are_no_events(line):
    assert decode(line) is None


@given(st.text())
def test_decoding_any_line_raises_nothing(line):
    decode(line)


def test_progress_is_clipped_to_0_and_1():
    sent = events_of(lambda reporter: [reporter.progress(fraction) for fraction in (-1, 0, 0.5, 1, 7)])
    assert [event.fraction for event in sent] == [0, 0, 0.5, 1, 1]


def test_a_part_maps_its_progress_to_its_span():
    def act(reporter):
        half = reporter.part(0.5, 1)
        half.progress(0)
        half.progress(0.5)
        half.part(0.5, 1).progress(0.5)
        half.progress(1, "done")

    sent = events_of(act)
    assert [event.fraction for event in sent] == pytest.approx([0.5, 0.75, 0.875, 1])
    assert sent[-1].message == "done" and sent[-1].eta_s == 0


def test_the_time_left_is_extrapolated():
    def act(reporter):
        threading.Event().wait(0.3)
        reporter.progress(0.01)
        reporter.progress(0.25)
        reporter.part(0.5, 1).progress(0.5)
        reporter.progress(0.25, eta_s=42.04)

    unknown, quarter, three_quarters, given_ = events_of(act)
    assert unknown.eta_s is None
    assert quarter.eta_s == pytest.approx(0.9, abs=0.3)
    assert three_quarters.eta_s == pytest.approx(0.1, abs=0.1)
    assert given_.eta_s == 42.0


def test_cancellation_reaches_every_part():
    stop = threading.Event()
    reporter = Reporter(is_cancelled=stop.is_set)
    part = reporter.part(0, 0.5)
    part.check_cancelled()
    assert not reporter.is_cancelled
    stop.set()
    assert part.is_cancelled
    with pytest.raises(Cancelled) as stopped:
        part.part(0, 1).check_cancelled()
    assert stopped.value.code == "cancelled"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""),
        (0, ""),
        (3, "less than a minute left"),
        (61, "about 1 min left"),
        (3540, "about 59 min left"),
        (3599, "about 1 h 0 min left"),
        (4800, "about 1 h 20 min left"),
    ],
)
def test_time_left_in_words(seconds, words):
    assert time_left(seconds) == words


def test_what_failed_is_told_with_its_reason_and_remedy_and_without_passwords(monkeypatch):
    monkeypatch.setattr(events, "MAX_DESCRIBED", 2)
    failures = [
        {"scene": "a.tif", "reason": "It has no CRS.", "remedy": "Assign one."},
        {"scene": "", "reason": "https://me:secret@example.org/b.tif is missing.", "remedy": ""},
        {"scene": "c.tif", "reason": "It is damaged.", "remedy": "Copy it again."},
    ]
    told = describe_failures({"partial": True, "failures": failures}).splitlines()
    assert "3 failed" in told[0]
    assert told[1] == "a.tif: It has no CRS. Assign one."
    assert told[2].startswith("https://") and "secret" not in told[2]
    assert "other 1" in told[3] and len(told) == 4
