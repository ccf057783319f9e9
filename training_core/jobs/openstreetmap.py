"""Layers of OpenStreetMap: the job that makes them of a file, the tags by which they are told apart, and the license.

Scope: names, tags, fields and their texts. Independent of how the file is read or came here; standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import JobError
from .option import OSM_EXTRACT, VECTOR, VECTOR_OUTPUT, Job, option

ATTRIBUTION = "© OpenStreetMap contributors"
LICENSE = "Open Data Commons Open Database License (ODbL) 1.0"
LICENSE_ADDRESS = "https://www.openstreetmap.org/copyright"
HIGHWAY = "highway"
WATER, RAILS, RUNWAYS, WALLS = "water", "rails", "runways", "walls"
# Ground without roads by layer, key and value, with the usual width of a line in meters; trams and subways are not in
# its way.
NON_ROADS: dict[str, dict[str, dict[str, float]]] = {
    WATER: {
        "natural": {"water": 4.0},
        "landuse": {"reservoir": 4.0, "basin": 4.0},
        "waterway": {
            "river": 12.0, "riverbank": 4.0, "canal": 8.0, "stream": 2.0, "ditch": 1.5, "drain": 1.5, "dock": 4.0,
        },
    },
    RAILS: {"railway": {"rail": 4.0, "light_rail": 4.0, "narrow_gauge": 3.0, "preserved": 3.0}},
    RUNWAYS: {"aeroway": {"runway": 40.0, "taxiway": 15.0, "apron": 4.0}},
    WALLS: {"barrier": {"wall": 1.0, "retaining_wall": 1.0, "city_wall": 3.0}},
}  # fmt: skip


@dataclass(frozen=True)
class GetOsmData(Job):
    """Get roads, bridges, water, railways and runways from OpenStreetMap, as layers with their tags.

    Each feature has its identifier and version (osm_id, osm_type, osm_version), fields of the usual tags, and all of
    its tags in the field all_tags. Features are cut at the border of the area. The roads serve as drawn roads, as known
    roads and as roads before, and the places without a road as those of other algorithms.

    The data are © OpenStreetMap contributors, under the Open Database License (ODbL). Name them on maps and in reports.
    """

    name: ClassVar[str] = "getosmdata"
    title: ClassVar[str] = "Get OpenStreetMap data"

    extract: str = option("", "OpenStreetMap file", kind=OSM_EXTRACT).help(
        "File that was saved earlier, or an extract, ending in .osm or .osm.pbf. In QGIS, the data are downloaded if "
        "no file is given."
    )
    aoi: str = option("", "Area of interest", kind=VECTOR).help(
        "Polygons to get data of. Without an area, all of the file is read."
    )
    roads: str = option("", "Roads", kind=VECTOR_OUTPUT, required=True).help(
        "Lines to write: roads and paths, also those under construction. The field speed_kmh is maxspeed in km/h."
    )
    bridges: str = option("", "Bridges", kind=VECTOR_OUTPUT).help("Lines to write: the roads on bridges.")
    water: str = option("", "Water", kind=VECTOR_OUTPUT).help(
        "Polygons to write: lakes, basins, rivers, canals and streams. Lines are widened by the tag width, or else by "
        "the usual width of their kind."
    )
    rails: str = option("", "Railways", kind=VECTOR_OUTPUT).help("Lines to write: railways, without trams and subways.")
    runways: str = option("", "Runways", kind=VECTOR_OUTPUT).help(
        "Polygons to write: runways, taxiways and aprons. Lines are widened as those of water."
    )
    no_road: str = option("", "Places without a road", kind=VECTOR_OUTPUT).help(
        "Polygons to write: water, railways, runways and walls in one layer. Lines are widened. What lies in a tunnel "
        "is left out."
    )

    def _check_together(self) -> None:
        super()._check_together()
        if not self.extract:
            raise JobError("The OpenStreetMap file (extract) is missing.", "Give one. Only QGIS downloads data.")
