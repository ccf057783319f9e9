"""The lines of a worker that plays the part of the job `live`: it notes each command in its folder, and answers it."""

# Notes commands in commands.jsonl; predictions are a raster of one value each.
LIVE = """
sys.path.append("/usr/lib/python3/dist-packages")
from osgeo import gdal, ogr, osr

options = job()["options"]
folder = options["folder"]
known, predictions, view = {}, 0, None

def state(name, places=()):
    send("state", state=name, message="", step=40, roads=len(known), labeled_px=100, steps_per_s=2.0, next=places)

def predict(extent, show):
    global predictions
    predictions += 1
    path = os.path.join(folder, f"prediction-{predictions:06d}.tif")
    west, south, east, north = extent
    draft = gdal.GetDriverByName("GTiff").Create(path + ".draft", 50, 40, 1, gdal.GDT_Byte)
    draft.SetGeoTransform((west, (east - west) / 50, 0, north, 0, (south - north) / 40))
    draft.SetProjection(gdal.Open(options["raster"]).GetProjection())
    draft.GetRasterBand(1).Fill(20 * predictions % 250)
    draft.GetRasterBand(1).SetNoDataValue(255)
    draft = None
    os.rename(path + ".draft", path)
    old = os.path.join(folder, f"prediction-{predictions - 3:06d}.tif")
    if os.path.exists(old):
        os.remove(old)
    send("prediction", path=path, extent=extent, step=40, fraction=1.0, resolution_m=1.0, show=show, seconds=0.2)

def save():
    with open(os.path.join(folder, "labels.json"), "w") as file:
        json.dump({"command": "labels", "sequence": 0, "changes": list(known.values())}, file)

def keep_labels(path):
    crs = osr.SpatialReference(gdal.Open(options["raster"]).GetProjection())
    file = ogr.GetDriverByName("GPKG").CreateDataSource(path)
    roads = file.CreateLayer("roads", crs, ogr.wkbLineString)
    roads.CreateField(ogr.FieldDefn("width_m", ogr.OFTReal))
    roads.CreateField(ogr.FieldDefn("sure", ogr.OFTInteger))
    file.CreateLayer("aoi", crs, ogr.wkbPolygon)

def do(command):
    global view
    name = command["command"]
    if name == "labels":
        for change in command["changes"]:
            if change["geometry"] is None:
                known.pop((change["layer"], change["id"]), None)
            else:
                known[change["layer"], change["id"]] = change
        save()
        send("learned", sequence=command["sequence"], seconds=0.5)
        send("metric", name="validation_f1", value=0.5 + 0.1 * len(known), step=40)
        if view is not None:
            predict(*view)
    elif name == "view":
        x = (command["extent"][0] + command["extent"][2]) / 2
        y = (command["extent"][1] + command["extent"][3]) / 2
        state("predicting", [[x, y], [x + 1, y + 1]])
        view = command["extent"], command["show"]
        predict(*view)
    elif name == "learn":
        state("learning")
    elif name == "pause":
        state("paused")
    elif name == "correct":
        x, y = command["x"], command["y"]
        ring = f"{x} {y}, {x + 2} {y}, {x + 2} {y + 2}, {x} {y}"
        send("correction", sequence=command["sequence"], layer="no_road", geometry=f"POLYGON (({ring}))", message="")
    elif name == "keep":
        for path in (command["model"], command["report"]):
            open(path, "w").close()
        keep_labels(command["labels"])
        send("kept", model=command["model"], report=command["report"], f1=0.8, labels=command["labels"])

send("state", state="loading", message="", step=0, roads=0, labeled_px=0, steps_per_s=0.0, next=[])
with open(os.path.join(folder, "commands.jsonl"), "a") as log:
    for line in sys.stdin:
        log.write(line)
        log.flush()
        command = json.loads(line)
        if command["command"] == "stop":
            break
        do(command)
send("result", result={"folder": folder, "step": 40, "roads": len(known), "f1": 0.8})
"""
