from roadseg.qgis_roadseg.narration import Narrator
from roadseg.training_core import events


def test_the_bar_follows_every_event_and_the_text_is_seldom(ear):
    narrator = Narrator(ear, every_s=60)
    for tile in range(101):
        narrator.tell(events.Progress(tile / 100, f"Tile {tile}", 100 - tile))
    assert ear.progress() == 100
    assert ear.told == ["Tile 0, about 2 min left"]


def test_a_training_is_told_with_step_loss_pace_and_time_left(ear):
    Narrator(ear).tell(events.Progress(0.4, "Step 120: loss 0.087, 2.31 images/s", 200.0))
    assert ear.told == ["Step 120: loss 0.087, 2.31 images/s, about 3 min left"]


def test_numbers_of_a_step_share_a_line(ear):
    narrator = Narrator(ear, every_s=0)
    narrator.tell(events.Metric("loss", 0.123456, 7))
    narrator.tell(events.Metric("learning_rate", 0.001, 7))
    narrator.tell(events.Metric("loss", 0.1, 8))
    assert ear.told == ["Step 7: loss 0.1235, learning rate 0.001"]


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


def test_a_flood_of_events_and_foreign_lines_does_not_hold_up_qgis(ear):
    moves = []
    ear.progressChanged.connect(moves.append)
    narrator = Narrator(ear, every_s=60)
    for step in range(50_000):
        narrator.tell(events.Progress(step / 50_000, f"Step {step}"))
        narrator.tell_foreign("a library's print")
    assert len(moves) <= 1001 and moves[-1] == 100
    assert len(ear.told) == 102 and ear.told[-1] == "More lines like these are left out."
