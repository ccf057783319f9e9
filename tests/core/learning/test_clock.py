"""A training while somebody sets the system's clock."""

import time

import pytest

from training_core.events import Progress, Reporter
from training_core.jobs import FineTune
from training_core.learning import checkpoint
from training_core.pipelines import finetune

DAY_S = 86400.0


@pytest.mark.slow
def test_a_training_takes_the_minutes_it_was_given_though_the_clock_is_set_back(
    town, planted, tmp_path, monkeypatch, enough_memory
):
    began_s, now, moved_s = time.monotonic(), time.time, [0.0]

    def jumping():
        moved_s[0] -= DAY_S
        return now() + moved_s[0]

    monkeypatch.setattr(time, "time", jumping)
    monkeypatch.setattr(checkpoint, "INTERVAL_S", 0.6)
    events = []

    def receive(event):
        time.time()  # so that the clock is set back with each event, though nothing else should look at it
        events.append(event)

    job = FineTune(
        **town.labeled, base_model=planted, minutes=0.05, chip_px=64, batch_size=1, engine="native",
        precision="fp32", threads=1, model=str(tmp_path / "model.safetensors"),
    )  # fmt: skip
    result = finetune.run(job, Reporter(receive))
    assert moved_s[0] < 0, "the clock was not set back"
    assert time.monotonic() - began_s >= 3 and result["steps"] > 1
    fractions = [event.fraction for event in events if isinstance(event, Progress)]
    assert fractions == sorted(fractions) and min(fractions) >= 0 and max(fractions) <= 1
    assert all(event.eta_s is None or 0 <= event.eta_s < 600 for event in events if isinstance(event, Progress))
