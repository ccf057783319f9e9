"""A run that is canceled, in each phase of each algorithm: what is told, and that nothing is left."""

import threading
import time

import pytest
from qgis.core import QgsCoordinateReferenceSystem, QgsExpression, QgsReferencedRectangle, qgsfunction

from ..support.acting import Ear, run, wait_until_gone
from ..support.parts import ANSWER
from ..support.tiles import ALL, paint_tiles, tile_layer
from .conftest import ALL_OUTPUTS, EACH, TABLE, WITH_LAYERS_IN, WITH_LAYERS_OUT

STOPPED = "Stopped before it was finished. No output was written."


@pytest.mark.parametrize("algorithm", [*EACH, "createlabellayers", "setupruntime"])
def test_before_its_work(algorithm, values_of, told, play_runtime, image, place):
    play_runtime(ANSWER)
    ear = Ear()
    ear.cancel()
    if algorithm == "createlabellayers":
        values = {"INPUT": str(image), "OUTPUT": str(place.out / "labels.gpkg")}
    else:
        values = {} if algorithm == "setupruntime" else values_of(algorithm)
    assert STOPPED in told(algorithm, values, ear)


@pytest.fixture
def stop_here():
    """An expression function that cancels at the third feature for which it is asked."""

    class Stop:
        ear, asked = Ear(), 0

    @qgsfunction(group="tests", register=False)
    def stop_here(feature, parent):
        Stop.asked += 1
        if Stop.asked == 3:
            Stop.ear.cancel()
        return True

    assert QgsExpression.registerFunction(stop_here)
    yield Stop
    QgsExpression.unregisterFunction("stop_here")


@pytest.mark.parametrize("algorithm", WITH_LAYERS_IN)
def test_while_a_layer_is_written_for_the_worker(algorithm, values_of, told, play_runtime, stop_here):
    play_runtime(ANSWER)
    assert STOPPED in told(algorithm, values_of(algorithm, "stop_here()"), stop_here.ear)
    assert 3 <= stop_here.asked < 30  # of 300 features


def test_while_a_layer_is_rendered(values_of, told, play_runtime, tmp_path):
    play_runtime(ANSWER)
    tiles = tile_layer(paint_tiles(tmp_path / "tiles"))
    extent = QgsReferencedRectangle(ALL, QgsCoordinateReferenceSystem("EPSG:3857"))
    values = {**values_of("segment"), "INPUT": tiles, "RESOLUTION_M": 0.5, "EXTENT": extent, "AOI": None}
    assert STOPPED in told("segment", values, Ear(cancel_on="Rendering the layer"))


@pytest.mark.parametrize("algorithm", EACH)
def test_while_the_worker_starts(algorithm, values_of, told, play_runtime, tmp_path):
    started = tmp_path / "started"
    play_runtime(f"open({str(started)!r}, 'w').write(str(os.getpid())); sys.stdin.read()")
    ear = Ear()

    def cancel():
        while not (started.exists() and started.read_text()):
            time.sleep(0.01)
        ear.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    assert STOPPED in told(algorithm, values_of(algorithm), ear)
    thread.join()
    assert wait_until_gone(int(started.read_text()))


@pytest.mark.parametrize("algorithm", EACH)
def test_while_the_worker_works(algorithm, values_of, told, play_runtime):
    play_runtime("""
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
send("log", message=f"started {child.pid}")
sys.stdin.read()
send("error", code="cancelled", message="Stopped as wished.", remedy="")
""")
    ear = Ear(cancel_on="started")
    assert "Stopped as wished." in told(algorithm, values_of(algorithm), ear)
    (child,) = (text.split()[1] for text in ear.told if text.startswith("started"))
    assert wait_until_gone(int(child))


@pytest.mark.parametrize("algorithm", WITH_LAYERS_OUT)
def test_while_results_are_written_to_their_layers(algorithm, values_of, told, play_runtime):
    play_runtime(ALL_OUTPUTS + 'send("log", message="written")\n' + ANSWER)
    complete = ["raster.tif"] if algorithm == "makescene" else []  # the worker's own file, which it had finished
    message = "Stopped while writing the results. No layer was changed."
    assert message in told(algorithm, values_of(algorithm), Ear(cancel_on="written"), complete)


@pytest.mark.parametrize("algorithm", WITH_LAYERS_OUT)
def test_the_same_run_without_a_stop_has_its_results(algorithm, values_of, place, play_runtime, provider):
    play_runtime(ALL_OUTPUTS + ANSWER)
    run(algorithm, values_of(algorithm))
    assert place.out.joinpath(f"output{TABLE[algorithm]['OUTPUT']}").stat().st_size > 1000
    assert list(place.temporary.glob("roadseg*")) == []
