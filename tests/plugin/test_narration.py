import pytest
from roadseg.qgis_roadseg.narration import Narrator, time_left
from roadseg.training_core import events


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


def test_the_bar_follows_every_event_and_the_text_is_seldom(ear):
    narrator = Narrator(ear, every_s=60)
    for tile in range(101):
        narrator.tell(events.Progress(tile / 100, f"Tile {tile}", 100 - tile))
    assert ear.progress() == 100
    assert ear.told == ["Tile 0, about 2 min left"]


def test_numbers_of_a_step_share_a_line(ear):
    narrator = Narrator(ear, every_s=0)
    narrator.tell(events.Metric("loss", 0.123456, 7))
    assert ear.told == ["Step 7: loss 0.1235"]


def test_many_numbers_make_few_lines(ear):
    narrator = Narrator(ear, every_s=60)
    for step in range(1000):
        narrator.tell(events.Metric("loss", 0.5, step))
    assert len(ear.told) == 1


def test_logs_and_warnings_are_all_told(ear):
    narrator = Narrator(ear)
    narrator.tell(events.Log("one"))
    narrator.tell(events.Warning("two"))
    narrator.tell_foreign("three")
    narrator.tell(events.Heartbeat())
    assert ear.told == ["one", "two", "three"]
