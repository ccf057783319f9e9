"""No text that a user may pass on shows a password."""

import pytest

from training_core import events
from training_core.errors import ImageryError, LayerError, without_passwords
from training_core.events import Reporter
from training_core.geodata.rasters import open_raster
from training_core.geodata.vectors import read_layer
from training_core.jobs import Segment
from training_core.reports.page import _settings_of
from training_core.worker import explain

SOURCES = [
    "PG:host=db.invalid user=me password=secret1 dbname=roads",
    "PG:host=db.invalid password='secret1 se\\'cret1' dbname=roads",
    "PG:dbname=roads PASSWORD = secret1",
    "MYSQL:roads,user=me,password=secret1,host=db.invalid",
    "MSSQL:server=db.invalid;uid=me;pwd=secret1;database=roads",
    "postgresql://me:secret1@db.invalid/roads",
    "postgresql://me:se@cret1@db.invalid/roads",
    "/vsicurl/https://me:secret1@host.invalid/town.tif",
    "/vsicurl?header.Authorization=Basic%20secret1&url=https%3A%2F%2Fhost.invalid%2Ftown.tif",
    "/vsicurl?userpwd=me:secret1&url=https://host.invalid/town.tif",
    "/vsicurl?url=https%3A%2F%2Fme%3Asecret1%40host.invalid%2Ftown.tif",
    "https://host.invalid/town.tif?sv=1&sig=secret1&se=2",
    "https://host.invalid/town.tif?access_token=secret1",
    "https://bucket.invalid/town.tif?X-Amz-Signature=secret1&X-Amz-Credential=secret1",
]


@pytest.mark.parametrize("source", SOURCES)
def test_passwords_are_hidden_and_the_sentence_around_stays(source):
    shown = without_passwords(f"The drawn roads ({source}) cannot be read.")
    assert "cret1" not in shown and "***" in shown
    assert shown.startswith("The drawn roads (") and shown.endswith(" cannot be read.")
    assert "roads" in source.partition(":")[2] or ".invalid" in shown
    assert without_passwords(f"No such file: {source}.").endswith(".")


@pytest.mark.parametrize(
    "text",
    ["C:/data/town.tif: 2048 x 2048 px.", "12:30@host", "GPKG:town.gpkg:image", "https://host:8080/a@b.tif", "a = 5."],
)
def test_other_texts_stay_as_they_are(text):
    assert without_passwords(text) == text


def test_errors_logs_warnings_and_reports_show_no_password():
    source = "PG:host=db.invalid user=me password=secret1"
    sent = []
    reporter = Reporter(sent.append)
    reporter.log(source)
    reporter.warning(source)
    reporter.progress(0.5, source)
    sent += [explain(LayerError(source, source), reporter), explain(KeyError(source), reporter)]
    assert len(sent) == 6 and not [event for event in sent if "secret1" in events.encode(event)]
    assert "secret1" not in str(reporter.warnings)
    assert "secret1" not in str(_settings_of(Segment, {"raster": source, "rasters": (source,)}))


def test_a_source_that_cannot_be_read_is_named_without_its_password():
    source = "PG:host=/nowhere user=me password=secret1"
    with pytest.raises(LayerError) as layer:
        read_layer(source, "drawn roads")
    with pytest.raises(ImageryError) as image, open_raster(source):
        pass
    for refused in (layer.value, image.value):
        assert "PG:host=/nowhere user=me" in str(refused) and "secret1" not in str(refused)
