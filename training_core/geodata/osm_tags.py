"""Tags of OpenStreetMap in the tables that GDAL reads: as columns, in one text, or as an object.

Scope: the values of a key. Independent of what tags mean.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

import geopandas
import pandas

# GDAL puts the tags without a column of their own here, as "key"=>"value".
OTHER_TAGS = "other_tags"
# The tags of a GeoJSON feature as one object, as HOT's raw data and fAIr have them.
NESTED_TAGS = "tags"
_TAG = re.compile(r'"((?:[^"\\]|\\.)*)"=>"((?:[^"\\]|\\.)*)"')


def tag_values(layer: geopandas.GeoDataFrame, key: str) -> pandas.Series:
    """Return the values of a tag, as texts; empty where there is none."""
    if key in layer:
        return layer[key].fillna("").astype(str)
    if OTHER_TAGS in layer:
        return layer[OTHER_TAGS].fillna("").map(lambda text: dict(_TAG.findall(text)).get(key, ""))
    if NESTED_TAGS in layer:
        return layer[NESTED_TAGS].map(lambda tags: str(_object(tags).get(key, "")))
    return pandas.Series("", index=layer.index)


def _object(value: object) -> dict[str, Any]:
    """Return an object of JSON, which pyogrio may have left as a text; empty where it is none."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = json.loads(value)
    return value if isinstance(value, dict) else {}
