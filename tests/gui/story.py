"""From a fresh profile to a network: what a person does in QGIS, what can be seen of it, and pictures of that.

The plan, a JSON file, says where to write what was seen (`seen`), where to put pictures (`pictures`), when to give up
(`limit_s`), and may say that there is less to do than the demo has: to learn `steps`, on a scene of `scene_px`.
"""

from collections.abc import Iterator
from pathlib import Path

from qgis.core import QgsApplication, QgsProject
from qgis.utils import iface, plugins

from tests.gui import hands, own_model
from tests.gui.hands import closed, dialog, layer, opened, ran
from tests.gui.stage import Stage, Until


def tell(stage: Stage, plan: dict) -> Iterator[Until]:
    pictures = Path(plan["pictures"])
    yield from start(stage)
    yield from try_it(stage, plan, pictures)
    yield from first_result(stage, pictures)
    yield from fine_tune(stage, plan, pictures)
    yield from segment(stage, pictures)
    yield from vectorize(stage, pictures)
    yield from find_way(stage, pictures)
    yield from run_batch(stage, pictures)
    yield from run_model(stage, pictures)


def start(stage: Stage) -> Iterator[Until]:
    """QGIS has come up: what of RoadSeg is in its window?"""
    stage.step("start")
    yield Until(lambda: iface.mainWindow().isVisible(), "the window is there", 60)
    iface.mainWindow().setGeometry(0, 0, 1360, 860)
    yield Until(lambda: QgsApplication.processingRegistry().providerById("roadseg"), "the plugin is loaded")
    menu = next(each.menu() for each in iface.rasterMenu().actions() if each.text() == "RoadSeg")
    stage.seen["menu"] = [action.text() for action in menu.actions() if action.text()]
    stage.seen["keys"] = hands.single_keys()
    if not hands.toolbox().isVisible():
        plugins["processing"].toolboxAction.trigger()
    yield Until(lambda: hands.toolbox().isVisible(), "the toolbox is there")
    stage.seen["toolbox"] = hands.tree_of(hands.toolbox().algorithmTree).get("RoadSeg")


def try_it(stage: Stage, plan: dict, pictures: Path) -> Iterator[Until]:
    """Raster → RoadSeg → Try it on a generated scene."""
    from roadseg.qgis_roadseg.layers import demo_project

    stage.step("scene")
    demo_project.SCENE["SIZE_PX"] = plan.get("scene_px", demo_project.SCENE["SIZE_PX"])
    hands.choose("roadseg_try")
    yield Until(lambda: layer("Generated scene"), "the demo is open", 120)
    yield Until(lambda: iface.messageBar().currentItem() is not None, "there is a message")
    hands.show_group("RoadSeg")
    yield from hands.draw_map()
    stage.seen["demo_layers"] = hands.layer_tree()
    hands.picture(iface.mainWindow(), pictures / "tutorial_demo.png")


def first_result(stage: Stage, pictures: Path) -> Iterator[Until]:
    """Set up the runtime, from the menu, and extract roads in view by one click; the packages are there already."""
    stage.step("first result")
    hands.choose("roadseg_runtime")
    yield opened()
    form = dialog()
    hands.click(form.runButton())
    yield from finish(stage, "setup", form)
    yield from hands.draw_map()
    hands.picture(iface.mainWindow(), pictures / "tutorial_first_result.png")
    hands.press("Extract roads in this view")
    yield opened()
    yield from finish(stage, "first_result", dialog())
    yield from hands.draw_map()
    hands.picture(iface.mainWindow(), pictures / "first_result.png")
    QgsProject.instance().removeMapLayer(layer("Roads"))


def fine_tune(stage: Stage, plan: dict, pictures: Path) -> Iterator[Until]:
    """Fine-tune a model on the drawn roads, from the menu: QGIS clears messages when an algorithm starts."""
    stage.step("fine-tune")
    hands.choose("roadseg_finetune")
    yield opened()
    form = dialog()
    form.resize(900, 800)
    if "steps" in plan:
        hands.fill_in(form, STEPS=plan["steps"])
    yield from pause()
    hands.picture(form, pictures / "tutorial_finetune.png")
    stage.seen["finetune_labels"] = hands.labels_of(form)
    hands.click(form.runButton())
    yield Until(lambda: hands.progress_of(form) > 40, "nearly half is learned", 600)
    hands.picture(form, pictures / "tutorial_learning.png")
    yield from finish(stage, "finetune", form)


def run_opened(stage: Stage, name: str, height_px: int, picture: Path, **values) -> Iterator[Until]:
    """Fill in the dialog that opens, have a picture of it, and run it."""
    yield opened()
    form = dialog()
    form.resize(900, height_px)
    hands.fill_in(form, **values)
    yield from pause()
    hands.picture(form, picture)
    hands.click(form.runButton())
    yield from finish(stage, name, form)


def segment(stage: Stage, pictures: Path) -> Iterator[Until]:
    """Segment the scene, from the menu; image and model are filled in."""
    stage.step("segment")
    hands.choose("roadseg_segment")
    yield from run_opened(stage, "segment", 620, pictures / "segment.png")
    yield from hands.draw_map()
    hands.picture(iface.mainWindow(), pictures / "tutorial_mask.png")


def vectorize(stage: Stage, pictures: Path) -> Iterator[Until]:
    """Vectorize the mask, from the toolbox."""
    stage.step("vectorize")
    hands.open_from_toolbox("Vectorize roads")
    mask = layer("Road mask").id()
    yield from run_opened(stage, "vectorize", 620, pictures / "vectorize.png", INPUT=mask)
    QgsProject.instance().layerTreeRoot().findLayer(mask).setItemVisibilityChecked(False)
    yield from hands.draw_map()
    hands.picture(iface.mainWindow(), pictures / "tutorial_roads.png")
    stage.seen["layers"] = hands.layer_tree()


def find_way(stage: Stage, pictures: Path) -> Iterator[Until]:
    """Find the way between two far ends of the network, with QGIS' own network analysis."""
    stage.step("route")
    roads = layer("Roads")
    first, last = hands.far_ends(roads)
    hands.open_from_toolbox("Shortest path (point to point)")
    yield opened()
    form = dialog()
    hands.fill_in(form, INPUT=roads.id(), START_POINT=hands.place(first, roads), END_POINT=hands.place(last, roads))
    hands.click(form.runButton())
    yield from finish(stage, "route", form)
    hands.highlight(layer("Shortest path"))
    yield from pause()
    yield from hands.draw_map()
    hands.picture(iface.mainWindow(), pictures / "tutorial_route.png")


def run_batch(stage: Stage, pictures: Path) -> Iterator[Until]:
    """Vectorize the mask in a batch of two, the second without joining gaps."""
    stage.step("batch")
    hands.open_from_toolbox("Vectorize roads")
    yield opened()
    hands.click(dialog().runAsBatchButton)
    yield opened("BatchAlgorithmDialog")
    batch = dialog("BatchAlgorithmDialog")
    batch.resize(1100, 500)
    mask = layer("Road mask").id()
    rows = [{"INPUT": mask, "OUTPUT": str(pictures / "joined.gpkg")},
            {"INPUT": mask, "GAP_M": 0, "OUTPUT": str(pictures / "open.gpkg")}]  # fmt: skip
    hands.fill_in_rows(batch, rows)
    batch.mainWidget().checkLoadLayersOnCompletion.setChecked(True)
    yield from pause()
    hands.picture(batch, pictures / "batch.png")
    hands.click(batch.runButton())
    yield ran(batch, 120)
    stage.seen["batch"] = {"log": hands.log_of(batch)}
    hands.close(batch)
    yield closed()
    stage.seen["layers_after_batch"] = hands.layer_tree()


def run_model(stage: Stage, pictures: Path) -> Iterator[Until]:
    """Run a model that the person has made, of a workflow of RoadSeg's and an algorithm of QGIS' own."""
    stage.step("model")
    own_model.keep()
    hands.open_from_toolbox(own_model.NAME)
    given = {"image": layer("Generated scene").id(), "model": stage.seen["finetune"]["results"]["MODEL"]}
    yield from run_opened(stage, "model", 500, pictures / "model.png", **given)
    yield from hands.draw_map()
    hands.picture(iface.mainWindow(), pictures / "end.png")
    stage.seen["layers_after_model"] = hands.layer_tree()


def finish(stage: Stage, name: str, form) -> Iterator[Until]:
    """Wait for an algorithm's end, note its results and what it has told, and close its dialog."""
    yield ran(form, 900)
    stage.seen[name] = {"results": dict(form.results()), "log": hands.log_of(form)}
    if not form.wasExecuted():
        raise RuntimeError(f"{name} failed:\n{hands.log_of(form)}")
    hands.close(form)
    yield closed()


def pause() -> Iterator[Until]:
    """Let the event loop show what was changed."""
    for _ in range(5):
        yield Until(lambda: True, "")
