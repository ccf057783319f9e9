"""The lines of workers that play the part of a job: they write files of a fixed content and tell of them."""

# Has a result in which nothing is.
ANSWER = 'send("result", result={})\n'

# Writes a layer of features.
WRITE = """
sys.path.append("/usr/lib/python3/dist-packages")
from osgeo import ogr, osr

def write(path, layer_name, kind, fields, rows):
    system = osr.SpatialReference()
    system.ImportFromEPSG(32645)
    dataset = ogr.GetDriverByName("GPKG").CreateDataSource(path)
    layer = dataset.CreateLayer(layer_name, system, kind)
    for name, type in fields.items():
        layer.CreateField(ogr.FieldDefn(name, type))
    for wkt, values in rows:
        feature = ogr.Feature(layer.GetLayerDefn())
        feature.SetGeometry(ogr.CreateGeometryFromWkt(wkt))
        for name, value in values.items():
            feature.SetField(name, value)
        layer.CreateFeature(feature)
"""

# Two lines, and nodes and a mask where asked for.
NETWORK = (
    WRITE
    + """
real = {name: ogr.OFTReal for name in ("length_m", "width_m", "confidence")}
whole = ogr.OFTInteger64
options = job()["options"]
road = {"length_m": 10.0, "width_m": 4.0, "confidence": 0.9, "component": 1}
write(options["roads"], "roads", ogr.wkbLineString, {**real, "component": whole},
      [("LINESTRING (350001 3059999, 350011 3059999)", road)] * 2)
if options.get("nodes"):
    write(options["nodes"], "nodes", ogr.wkbPoint, {"degree": whole, "component": whole},
          [("POINT (350001 3059999)", {"degree": 1, "component": 1})])
if options.get("mask"):
    open(options["mask"], "wb").write(open(options["raster"], "rb").read())
send("result", result={"count": 2, "length_m": 20.0, "engine": "native"})
"""
)

# A line, and labels where asked for.
APPLY = (
    WRITE
    + """
options = job()["options"]
row = ("LINESTRING (350001 3059999, 350011 3059999)", {"status": "reviewed"})
write(options["roads"], "roads", ogr.wkbLineString, {"status": ogr.OFTString}, [row])
if options.get("drawn"):
    write(options["drawn"], "drawn", ogr.wkbLineString, {"width_m": ogr.OFTReal, "sure": ogr.OFTInteger},
          [(row[0], {"width_m": 4.0, "sure": 1})])
if options.get("aoi"):
    square = "POLYGON ((350000 3059990, 350010 3059990, 350010 3060000, 350000 3059990))"
    write(options["aoi"], "aoi", ogr.wkbPolygon, {}, [(square, {})])
send("result", result={"accepted": 1, "rejected": 0})
"""
)

SEGMENT = """
options = job()["options"]
for name in ("mask", "probability"):
    if options[name]:
        open(options[name], "wb").write(open(options["raster"], "rb").read())
told = {"megapixels_per_s": 2.5, "overhead": 1.5, "halo_px": 64, "engine": "ipex", "precision": "bf16"}
send("result", result={**told, "threshold": 0.35})
"""

FINETUNE = """
options = job()["options"]
for name in ("model", "report"):
    if options[name]:
        open(options[name], "w").close()
scores = {"iou": 0.5, "f1": 0.6, "precision": 0.7, "recall": 0.8}
send("result", result={"images_per_s": 2.0, "steps": 30, "validation": scores, "engine": "native"})
"""

# Two lines and the files of a region's folder. Scenes whose names begin with "bad" fail.
REGION = (
    WRITE
    + """
options = job()["options"]
folder = options["folder"]
os.makedirs(folder, exist_ok=True)
scenes = [os.path.basename(path) for path in options["rasters"]]
bad = [name for name in scenes if name[:3] == "bad"]
failures = [{"scene": name, "reason": "It has no CRS.", "remedy": "Assign one."} for name in bad]
write(options["roads"], "roads", ogr.wkbLineString, {"length_m": ogr.OFTReal},
      [("LINESTRING (350001 3059999, 350011 3059999)", {"length_m": 10.0})] * 2)
index, report = os.path.join(folder, "index.gpkg"), os.path.join(folder, "report.html")
write(index, "scenes", ogr.wkbPolygon, {"name": ogr.OFTString, "status": ogr.OFTString},
      [("POLYGON ((350000 3059990, 350010 3059990, 350010 3060000, 350000 3059990))",
        {"name": name, "status": "failed" if name in bad else "done"}) for name in scenes])
open(report, "w").close()
numbers = {"scenes": len(scenes), "done": len(scenes) - len(failures), "failed": len(failures), "count": 2}
send("result", result={**numbers, "length_m": 20.0, "folder": folder, "index": index, "report": report,
                       "partial": bool(failures), "failures": failures})
sys.exit(3 if failures else 0)
"""
)

# A road that is lost.
CHANGES = (
    WRITE
    + """
options = job()["options"]
write(options["changes"], "changes", ogr.wkbLineString, {"change": ogr.OFTString, "length_m": ogr.OFTReal},
      [("LINESTRING (350001 3059999, 350011 3059999)", {"change": "lost", "length_m": 10.0})])
send("result", result={"lost": {"length_m": 10.0, "share": 0.5}})
"""
)

# A challenge of one task.
CHALLENGE = """
with open(job()["options"]["challenge"], "w") as file:
    file.write('{"type": "FeatureCollection", "features": []}')
send("result", result={"tasks": 1, "kept": 0, "too_short": 0})
"""
