"""Example calls of the algorithms and links to the guide, for the pages in docs/algorithms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Example:
    """An example call of an algorithm.

    Parameters
    ----------
    values : dict
        Parameter values by name.
    shown : str
        Key of the result that the example prints.
    guide : tuple of str
        Headings of the guide to link to.
    """

    values: dict[str, Any]
    shown: str
    guide: tuple[str, ...]


EXAMPLES = {
    "setupruntime": Example({"WHEELS": "wheels"}, "VERSION", ("Troubleshooting",)),
    "profile": Example(
        {"WHAT": "training", "SECONDS": 60, "REPORT": "profile.html", "PROFILE": "profile.json"},
        "STEP_S",
        ("Where the time goes",),
    ),
    "compareprofiles": Example(
        {"BEFORE": "before.json", "INPUT": "after.json", "REPORT": "differences.html"},
        "RATIO",
        ("Where the time goes",),
    ),
    "reportproblem": Example({"OUTPUT": "report.txt"}, "OUTPUT", ("Troubleshooting",)),
    "createlabellayers": Example(
        {"INPUT": "town.tif", "CLASSES": "paved,unpaved", "OUTPUT": "labels.gpkg"},
        "AOI",
        ("Your first model, in five steps", "Layers of your own"),
    ),
    "finetune": Example(
        {
            "INPUT": ["town.tif"],
            "ROADS": "roads.gpkg",
            "AOI": "area.gpkg",
            "WIDTH_FIELD": "width_m",
            "MINUTES": 10,
            "MODEL": "town.safetensors",
            "REPORT": "town.html",
        },
        "VALIDATION_F1",
        (
            "Your first model, in five steps",
            "Choosing well",
            "Layers of your own",
            "Classes and speeds of roads",
            "Warnings before training",
            "Stopping, resuming, keeping the best",
            "Memory and large chips",
            "Reading the report",
        ),
    ),
    "evaluate": Example(
        {
            "INPUT": ["town.tif"],
            "ROADS": "roads.gpkg",
            "AOI": "other_area.gpkg",
            "WIDTH_FIELD": "width_m",
            "TOLERANCE_M": 3,
            "MODEL": "town.safetensors",
            "REPORT": "scores.html",
            "SCORES": "scores.json",
        },
        "RELAXED_F1",
        ("Scoring a model elsewhere",),
    ),
    "suggestlabels": Example(
        {"INPUT": "town_probability.tif", "LABELED": "area.gpkg", "COUNT": 10, "OUTPUT": "patches.gpkg"},
        "MEAN_UNCERTAINTY",
        ("Where to label next",),
    ),
    "exportchips": Example(
        {
            "INPUT": ["town.tif"],
            "ROADS": "roads.gpkg",
            "AOI": "area.gpkg",
            "WIDTH_FIELD": "width_m",
            "FORMAT": "coco",
            "OUTPUT": "chips",
        },
        "CHIPS",
        ("Training data of other programs",),
    ),
    "exportmodel": Example(
        {"INPUT": "town.safetensors", "OUTPUT": "town.onnx", "STAC_ITEM": "stac-item.json"},
        "MEGABYTES",
        ("Giving a model to others",),
    ),
    "quantize": Example(
        {
            "INPUT": ["town.tif"],
            "MODEL": "town.safetensors",
            "ROADS": "roads.gpkg",
            "AOI": "area.gpkg",
            "WIDTH_FIELD": "width_m",
            "OUTPUT": "town_int8.onnx",
        },
        "IOU",
        ("A faster model",),
    ),
    "mergemodels": Example(
        {"INPUT": ["north.safetensors", "south.safetensors"], "RASTERS": ["town.tif"], "OUTPUT": "both.safetensors"},
        "OUTPUT",
        ("Models of several offices",),
    ),
    "makescene": Example(
        {"SIZE_PX": 1024, "SEED": 3, "RASTER": "scene.tif", "OUTPUT": "scene_roads.gpkg"},
        "COUNT",
        ("A first try, on a generated scene",),
    ),
    "segment": Example(
        {
            "INPUT": "town.tif",
            "MODEL": "town.safetensors",
            "MASK": "town_mask.tif",
            "PROBABILITY": "town_probability.tif",
        },
        "MASK",
        ("Large images, and many of them", "Web maps and other layers", "Classes and speeds of roads"),
    ),
    "vectorize": Example(
        {"INPUT": "town_probability.tif", "OUTPUT": "town_roads.gpkg", "NODES": "town_nodes.gpkg"},
        "LENGTH_M",
        ("What the results hold", "Classes and speeds of roads"),
    ),
    "extractroads": Example(
        {"INPUT": "town.tif", "MODEL": "town.safetensors", "OUTPUT": "town_roads.gpkg"},
        "LENGTH_M",
        ("Your first model, in five steps", "Web maps and other layers", "What the results hold"),
    ),
    "mapregion": Example(
        {
            "SOURCE": "scenes",
            "MODEL": "town.safetensors",
            "AOI": "district.gpkg",
            "FOLDER": "district",
            "OUTPUT": "district_roads.gpkg",
        },
        "LENGTH_M",
        ("Map a region", "What the results hold"),
    ),
    "getosmdata": Example(
        {
            "EXTENT": "town.tif",
            "OUTPUT": "osm_roads.gpkg",
            "NO_ROAD": "osm_no_road.gpkg",
            "DOWNLOAD": "town.osm",
        },
        "COUNTS_ROADS",
        ("Roads of OpenStreetMap",),
    ),
    "cleannetwork": Example(
        {"INPUT": "streets.gpkg", "BRIDGES": "bridges.gpkg", "OUTPUT": "network.gpkg"},
        "COMPONENTS",
        ("Lines that you have already",),
    ),
    "scorenetwork": Example(
        {
            "INPUT": "town_roads.gpkg",
            "TRUTH": "true_roads.gpkg",
            "TRUTH_BRIDGE_FIELD": "bridge",
            "SNAP_M": 4,
            "OUTPUT": "errors.gpkg",
            "REPORT": "scores.html",
            "SCORES": "scores.json",
        },
        "APLS_SCORE",
        ("Scoring a network",),
    ),
    "sampleaccuracy": Example(
        {
            "INPUT": "town_roads.gpkg",
            "RASTER": "town_probability.tif",
            "AOI": "image_outline.gpkg",
            "OUTPUT": "places.gpkg",
        },
        "TRANSECTS",
        ("Scoring a network",),
    ),
    "checkaccuracy": Example(
        {"INPUT": "places.gpkg", "REPORT": "accuracy.html"},
        "COMPLETENESS_VALUE",
        ("Scoring a network",),
    ),
    "exportnetwork": Example(
        {"INPUT": "town_roads.gpkg", "SPEED_FIELD": "speed_kmh", "GRAPHML": "town.graphml"},
        "EDGES",
        ("Finding routes",),
    ),
    "comparenetworks": Example(
        {
            "BEFORE": "osm.gpkg",
            "INPUT": "town_roads.gpkg",
            "AOI": "image_outline.gpkg",
            "PLACES": "villages.gpkg",
            "PLACES_NAME_FIELD": "name",
            "ORIGINS": "depots.gpkg",
            "OUTPUT": "changes.gpkg",
            "REACHED": "villages_reached.gpkg",
            "REPORT": "changes.html",
        },
        "LOST_LENGTH_M",
        ("What has changed after a disaster",),
    ),
    "roadstatus": Example(
        {
            "INPUT": "osm.gpkg",
            "RASTER": "after_flood.tif",
            "BEFORE": "before_flood.tif",
            "HAZARDS": "flood.gpkg",
            "CLASS_FIELD": "highway",
            "SITES": "hospitals.gpkg",
            "SITES_NAME_FIELD": "name",
            "DISTRICTS": "wards.gpkg",
            "OUTPUT": "road_state.gpkg",
            "REPORT": "road_state.html",
            "ARROWS": "offsets.gpkg",
        },
        "NOT_SEEN_M",
        (),
    ),
    "applyreview": Example(
        {"INPUT": "town_roads.gpkg", "REVIEW": "town_roads review.gpkg", "OUTPUT": "town_reviewed.gpkg"},
        "REJECTED",
        (),
    ),
    "makechallenge": Example(
        {"INPUT": "changes.gpkg", "EARLIER": "last_year.geojson", "OUTPUT": "challenge.geojson"},
        "TASKS",
        ("Tasks for MapRoulette",),
    ),
    "exportchanges": Example(
        {"INPUT": "changes.gpkg", "EXTRACT": "town.osm.pbf", "OUTPUT": "town.osc"},
        "ROADS",
        ("Changes for OpenStreetMap",),
    ),
    "maproads": Example(
        {
            "INPUT": "town.tif",
            "MODEL": "town.safetensors",
            "PROBABILITY": "town_probability.tif",
            "OUTPUT": "town_roads.gpkg",
        },
        "OUTPUT",
        ("Workflows", "What the results hold"),
    ),
    "finetuneandmap": Example(
        {
            "INPUT": "town.tif",
            "ROADS": "roads.gpkg",
            "AOI": "area.gpkg",
            "MINUTES": 10,
            "MODEL": "town.safetensors",
            "REPORT": "town.html",
            "OUTPUT": "town_roads.gpkg",
        },
        "OUTPUT",
        ("Workflows", "Your first model, in five steps", "Reading the report"),
    ),
    "learnfromreview": Example(
        {
            "INPUT": "town.tif",
            "ROADS": "town_roads.gpkg",
            "REVIEW": "town_roads review.gpkg",
            "MODEL": "town.safetensors",
            "OUTPUT": "town_learned.gpkg",
        },
        "OUTPUT",
        ("Workflows",),
    ),
    "updateosm": Example(
        {
            "INPUT": "town.tif",
            "MODEL": "town.safetensors",
            "BEFORE": "osm.gpkg",
            "EXTENT": "town.tif",
            "ROADS": "town_roads.gpkg",
            "OUTPUT": "changes.gpkg",
            "REPORT": "changes.html",
            "CHALLENGE": "challenge.geojson",
        },
        "OUTPUT",
        ("Workflows", "What has changed after a disaster", "Tasks for MapRoulette"),
    ),
    "changedroads": Example(
        {
            "INPUT": "after.tif",
            "IMAGE_BEFORE": "before.tif",
            "MODEL": "town.safetensors",
            "EXTENT": "after.tif",
            "PLACES": "villages.gpkg",
            "OUTPUT": "changes.gpkg",
            "REACHED": "reached.gpkg",
            "REPORT": "changes.html",
        },
        "OUTPUT",
        ("Workflows", "What has changed after a disaster"),
    ),
}
