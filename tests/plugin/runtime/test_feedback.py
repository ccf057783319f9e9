from roadseg.qgis_roadseg.runtime.feedback import EventFeedback
from roadseg.training_core import events


def test_the_bar_follows_every_event_and_the_text_is_seldom(ear):
    shown = EventFeedback(ear, every_s=60)
    for tile in range(101):
        shown.report(events.Progress(tile / 100, f"Tile {tile}", 100 - tile))
    assert ear.progress() == 100
    assert ear.told == ["Tile 0, about 2 min left"]


def test_a_new_stage_is_told_at_once_and_stages_without_end_are_not(ear):
    shown = EventFeedback(ear, every_s=60)
    for message in ("Reading", "Checking", "Step 1: loss 0.5", "Step 2: loss 0.25", "Writing the report"):
        shown.report(events.Progress(0.5, message))
    assert ear.told == ["Reading", "Checking", "Step 1: loss 0.5", "Writing the report"]
    for number in range(1000):
        shown.report(events.Progress(0.5, "a" * number))
    assert len(ear.told) < 60


def test_a_step_and_a_validation_are_told_once(ear):
    shown = EventFeedback(ear, every_s=0)
    step, validation = "Step 7: loss 0.123, 2.31 images/s", "Step 7: validation F1 0.700, IoU 0.540 at threshold 0.45"
    for name in ("loss", "learning_rate", "images_per_s"):
        shown.report(events.Metric(name, 0.123456, 7))
    shown.report(events.Progress(0.1, step))
    for name in ("validation_f1", "validation_iou"):
        shown.report(events.Metric(name, 0.7, 7))
    shown.report(events.Log(validation))
    shown.report(events.Warning("beware"))
    shown.report(events.Heartbeat())
    assert ear.told == [step, validation, "beware"]


def test_a_flood_of_events_and_foreign_lines_does_not_hold_up_qgis(ear):
    moves = []
    ear.progressChanged.connect(moves.append)
    shown = EventFeedback(ear, every_s=60)
    for step in range(50_000):
        shown.report(events.Progress(step / 50_000, f"Step {step}"))
        shown.report_output("a library's print")
    assert len(moves) <= 1001 and moves[-1] == 100
    assert len(ear.told) == 102 and ear.told[-1] == "Further lines of output are omitted."
