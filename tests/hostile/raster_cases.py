"""Hostile rasters: types, sizes, georeferences, contents and damaged bytes, for all jobs that read one."""

from __future__ import annotations

import os
import random
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Optional

import numpy as np
import rasterio
from affine import Affine

from tests.core.support.rasters import NORTH_UP, UTM, write_raster
from tests.hostile.cases import DONE, EITHER, REFUSED, Case, Place
from tests.hostile.spoiling import NO_FILES, Write

IMAGE_JOBS = ("segment", "extractroads", "mapregion", "evaluate", "finetune", "quantize")
MAP_JOBS = ("vectorize", "suggestlabels")
JOBS = (*IMAGE_JOBS, *MAP_JOBS)
# Jobs in which a raster alone decides whether they can be done, and quick ones.
ALONE = ("segment", "extractroads", "vectorize", "suggestlabels")
SEED = 1848
MOON = (
    'GEOGCS["Moon 2000",DATUM["D_Moon_2000",SPHEROID["Moon_2000",1737400,0]],PRIMEM["Reference_Meridian",0],'
    'UNIT["degree",0.0174532925199433]]'
)


def good_values(place: Place, job: str) -> np.ndarray:
    """Return the values of a job's good raster: (bands, height, width)."""
    source = {"vectorize": place.goods.mask, "suggestlabels": place.goods.probability}.get(job, place.goods.raster)
    with rasterio.open(source) as dataset:
        return dataset.read()


def with_raster(place: Place, job: str, path: str | Path, alone: bool = False) -> dict[str, Any]:
    """Return options with another raster; `alone` without layers that may not fit it."""
    if job in ("mapregion", "evaluate", "finetune", "quantize"):
        return {"rasters": [str(path)]}
    layers = {"suggestlabels": {"labeled": ""}} | (
        {"segment": {"aoi": ""}, "extractroads": {"aoi": ""}} if alone else {}
    )
    return {"raster": str(path), **layers.get(job, {})}


def written(
    place: Place,
    job: str,
    change: Callable[[np.ndarray], np.ndarray] = lambda values: values,
    alone: bool = False,
    then: Optional[Callable[[Path], None]] = None,
    **profile: Any,
) -> dict[str, Any]:
    """Write a GeoTIFF of the job's good values, (bands, height, width), changed; `then` may damage the file.

    The profile is that of the file: `crs`, `transform`, and what GDAL takes. `alone` as in `with_raster`.
    """
    path = place.bad / "hostile.tif"
    values = change(good_values(place, job))
    write_raster(path, values, **({"photometric": "rgb"} if len(values) == 3 else {}), **profile)
    if then is not None:
        then(path)
    return with_raster(place, job, path, alone)


def cases_of(kinds: dict[str, Callable[..., dict]], jobs: tuple[str, ...], expect: str, **options: Any) -> list[Case]:
    """Return a case for each kind of spoiling and each job; the function is given the place and the job."""
    return [
        Case(f"{job}, {name}", job, partial(spoil, job=job), expect, **options)
        for name, spoil in kinds.items()
        for job in jobs
    ]


NAMED = {"names": ("hostile",)}


def typed(place: Place, job: str, dtype: str) -> dict[str, Any]:
    if not dtype.startswith("complex"):
        return written(place, job, lambda values: values.astype(dtype))
    values = good_values(place, job)
    profile = {"driver": "GTiff", "crs": UTM, "transform": NORTH_UP, "count": len(values)}
    path = place.bad / "hostile.tif"
    rasterio.open(path, "w", dtype=dtype, width=values.shape[2], height=values.shape[1], **profile).close()
    return with_raster(place, job, path)


REAL = ("int8", "uint16", "int32", "int64", "float64")
COMPLEX = ("complex64", "complex128", "complex_int16")


def _typed(dtypes: tuple[str, ...]) -> dict[str, Callable[..., dict]]:
    return {f"{dtype} values": partial(typed, dtype=dtype) for dtype in dtypes}


TYPES = [
    *cases_of(_typed(REAL), ("segment", "vectorize"), DONE),
    *cases_of(_typed(REAL), ("suggestlabels",), EITHER),
    *cases_of(_typed(COMPLEX), JOBS, REFUSED, **NAMED),
]

_FILLS = {
    "NaN alone": np.nan, "infinity alone": np.inf, "minus infinity alone": -np.inf, "the largest numbers": 3e38,
    "numbers near zero": 1e-42,
}  # fmt: skip


def replaced(place: Place, job: str, value: float, where: str = "everywhere", dtype: str = "float32") -> dict[str, Any]:
    """Write the good values as floats of which all, one in ten or one is another."""

    def change(values: np.ndarray) -> np.ndarray:
        chosen = np.zeros(values.shape[1:], bool)
        chosen[64, 64] = True
        if where != "one pixel":
            chosen |= np.random.default_rng(SEED).random(chosen.shape) < (1 if where == "everywhere" else 0.1)
        values = values.astype(dtype)
        values[:, chosen] = value
        return values

    return written(place, job, change)


def of_alpha(place: Place, job: str) -> dict[str, Any]:
    def mark(path: Path) -> None:
        with rasterio.open(path, "r+") as dataset:
            dataset.colorinterp = [rasterio.enums.ColorInterp.alpha]

    return written(place, job, lambda values: np.full_like(values[:1], 255), then=mark)


def scaled(place: Place, job: str, scale: float, offset: float) -> dict[str, Any]:
    """Write bytes with a scale and an offset, which make them a probability."""

    def mark(path: Path) -> None:
        with rasterio.open(path, "r+") as dataset:
            dataset.scales, dataset.offsets = [scale] * dataset.count, [offset] * dataset.count

    return written(place, job, lambda values: (values > 0).astype("uint8"), then=mark)


_SCALES = (0.0, np.nan, np.inf, -1.0, 1e-300, 1e300)
_SCALED = {f"a scale of {scale:g}": partial(scaled, scale=scale, offset=0.0) for scale in _SCALES}
_HUNDRED = {"a hundred bands": partial(written, change=lambda values: np.repeat(values[:1], 100, axis=0))}
# To a training, whose own deviation it enlarges, 1e20 is an outlier with which it can compute.
_DOTS = {"a pixel of 1e20": 1e20, "a pixel of -3.4e38": -3.4028235e38}
_DOTTED = {name: partial(replaced, value=value, where="one pixel") for name, value in _DOTS.items()}
_HERE_AND_THERE = {
    f"{name}, here and there": partial(replaced, value=value, where="here and there") for name, value in _FILLS.items()
}
_BANDS = {"two bands": partial(written, change=lambda values: values[:2]), "alpha alone": of_alpha}
VALUES = [
    *cases_of(_DOTTED, ("segment", "extractroads", "evaluate"), REFUSED, **NAMED),
    *cases_of(
        {"a pixel of 1e300": partial(replaced, value=1e300, where="one pixel", dtype="float64")}, IMAGE_JOBS, REFUSED,
        **NAMED,
    ),
    *cases_of(_BANDS, ("segment", "extractroads", "mapregion", "evaluate"), REFUSED, **NAMED),
    *cases_of({name: partial(replaced, value=value) for name, value in _FILLS.items()}, JOBS, EITHER),
    *cases_of(_HERE_AND_THERE, ("segment", *MAP_JOBS), EITHER),
    *cases_of(_SCALED, MAP_JOBS, EITHER),
    *cases_of({"an offset of NaN": partial(scaled, scale=0.5, offset=np.nan)}, MAP_JOBS, EITHER),
    *cases_of({"nodata everywhere": partial(written, change=np.zeros_like, nodata=0)}, JOBS, EITHER),
    *cases_of(_HUNDRED, JOBS, EITHER, limit_s=60),
]  # fmt: skip


def virtual(place: Place, job: str, height: int, width: int, kind: str = "Byte") -> dict[str, Any]:
    path = place.bad / "hostile.vrt"
    colors = ("Red", "Green", "Blue") if job in IMAGE_JOBS else ("Gray",)
    kind = "Float32" if job == "suggestlabels" else kind
    bands = "".join(
        f'<VRTRasterBand dataType="{kind}" band="{number}"><ColorInterp>{color}</ColorInterp></VRTRasterBand>'
        for number, color in enumerate(colors, 1)
    )
    path.write_text(
        f'<VRTDataset rasterXSize="{width}" rasterYSize="{height}"><SRS>{UTM}</SRS>'
        f"<GeoTransform>390000, 1, 0, 5820000, 0, -1</GeoTransform>{bands}</VRTDataset>"
    )
    return with_raster(place, job, path, alone=True)


SMALL = ((1, 1), (1, 192), (192, 1), (31, 33))
IMPOSSIBLE = ((0, 10), (-5, 10), (2**31 - 1, 2**31 - 1), (10**6, 10**6))
THIN = ((1, 2**31 - 1), (2**31 - 1, 1))


def _virtual(sizes: tuple[tuple[int, int], ...]) -> dict[str, Callable]:
    return {
        f"a virtual raster of {width} x {height} px": partial(virtual, height=height, width=width)
        for height, width in sizes
    }


_SMALL = {
    f"{width} x {height} px": partial(written, change=lambda values, h=height, w=width: values[:, :h, :w], alone=True)
    for height, width in SMALL
}
SIZES = [
    *cases_of(_SMALL, JOBS, EITHER),
    *cases_of(_virtual(IMPOSSIBLE), ALONE, REFUSED, memory_bytes=2 << 30),
    *cases_of(_virtual(THIN), MAP_JOBS, REFUSED),
]

NOWHERE = {
    "without a CRS": {"crs": None},
    "without a georeference": {"transform": Affine.identity()},
    "on the Moon": {"crs": MOON, "transform": Affine(1e-5, 0, 10, 0, -1e-5, 20)},
    "in a vertical CRS": {"crs": "EPSG:5773"},
    "in meters that are declared as degrees": {"crs": "EPSG:4326"},
    "over a pole": {"crs": "EPSG:4326", "transform": Affine(0.01, 0, 10, 0, -0.01, 90.5)},
    "close to a pole": {"crs": "EPSG:4326", "transform": Affine(1e-5, 0, 10, 0, -1e-5, 90)},
    "far beyond its zone": {"transform": Affine(1, 0, 3e7, 0, -1, 5820000)},
    "at infinity": {"transform": Affine(1, 0, np.inf, 0, -1, 5820000)},
    "at NaN": {"transform": Affine(1, 0, np.nan, 0, -1, 5820000)},
    "with rows along columns": {"transform": Affine(1, 1, 390000, 1, 1 + 1e-9, 5820000)},
    "with pixels without height": {"transform": Affine(1, 0, 390000, 0, 0, 5820000)},
    **{
        f"with pixels of {side:g} m": {"transform": Affine(side, 0, 390000, 0, -side, 5820000)}
        for side in (1e-300, 1e-9, 2e-4, 2e4, 1e300)
    },
}
ODD = {
    "with rows to the north": {"transform": Affine(1, 0, 390000, 0, 1, 5820000)},
    "mirrored": {"transform": Affine(-1, 0, 390000, 0, -1, 5820000)},
    "rotated": {"transform": NORTH_UP @ Affine.rotation(30)},
    "with oblong pixels": {"transform": Affine(1, 0, 390000, 0, -3, 5820000)},
    "with pixels of 2 mm": {"transform": Affine(0.002, 0, 390000, 0, -0.002, 5820000)},
    "across the antimeridian": {"crs": "EPSG:4326", "transform": Affine(1e-5, 0, 179.9995, 0, -1e-5, 50)},
    "in degrees": {"crs": "EPSG:4326", "transform": Affine(1e-5, 0, 13.38, 0, -1e-5, 52.52)},
    "in feet": {"crs": "EPSG:2263", "transform": Affine(3, 0, 1e6, 0, -3, 2e5)},
}
_NOWHERE = {f"a raster {name}": partial(written, **profile) for name, profile in NOWHERE.items()}
_ODD = {f"a raster {name}": partial(written, alone=True, **profile) for name, profile in ODD.items()}
_TINY = {"a raster with pixels of 2 mm": _ODD.pop("a raster with pixels of 2 mm")}
GEOREFERENCES = [
    *cases_of(_NOWHERE, JOBS, REFUSED, **NAMED),
    *cases_of(_ODD, ALONE, DONE),
    *cases_of(_TINY, ALONE, EITHER),
]


def as_file(place: Place, job: str, write: Write, name: str) -> dict[str, Any]:
    """Put something else in the raster's place; what `write` returns is the source then."""
    path = place.bad / name
    return with_raster(place, job, write(path, place) or path)


def vrt(inner: str) -> Callable[[Path, Place], None]:
    """Return a writer of a virtual raster of one band with a text in it, where PATH stands for its own path."""

    def write(path: Path, place: Place) -> None:
        path.write_text(
            f'<VRTDataset rasterXSize="192" rasterYSize="192"><SRS>{UTM}</SRS><GeoTransform>390000, 1, 0, 5820000, 0, '
            f'-1</GeoTransform><VRTRasterBand dataType="Byte" band="1">{inner.replace("PATH", str(path))}'
            "</VRTRasterBand></VRTDataset>"
        )

    return write


def source(file: str) -> str:
    name = f'<SourceFilename relativeToVRT="0">{file}</SourceFilename>'
    return f"<SimpleSource>{name}<SourceBand>1</SourceBand></SimpleSource>"


def bomb(path: Path, place: Place) -> None:
    entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    path.write_text(f'<!DOCTYPE x [<!ENTITY a0 "aaaaaaaaaa">{entities}]><VRTDataset rasterXSize="&a9;"/>')


def in_latin_1(path: Path, place: Place) -> Path:
    copy = path.parent / os.fsdecode(b"hostile stra\xdfe.tif")
    copy.write_bytes(Path(place.goods.raster).read_bytes())
    return copy


PYTHON_FUNCTION = (
    "<PixelFunctionType>f.run</PixelFunctionType><PixelFunctionLanguage>Python</PixelFunctionLanguage>"
    "<PixelFunctionCode><![CDATA[open('/tmp/hostile', 'w')]]></PixelFunctionCode>"
)
NO_RASTERS: dict[str, tuple[str, Write]] = {
    **{what: ("hostile.tif", write) for what, write in NO_FILES.items()},
    "text": ("hostile.tif", lambda path, place: path.write_text("no raster\n" * 99) and None),
    "a name that is not UTF-8": ("hostile.tif", in_latin_1),
    "a name that is too long": ("hostile.tif", lambda path, place: path.with_name("hostile" * 99)),
    "roads": ("hostile.tif", lambda path, place: path.write_bytes(Path(place.goods.roads).read_bytes()) and None),
    "a model": ("hostile.tif", lambda path, place: path.write_bytes(Path(place.goods.onnx).read_bytes()) and None),
    "XML entities without end": ("hostile.vrt", bomb),
    "a virtual raster without bands": ("hostile.vrt", lambda path, place: path.write_text(
        f'<VRTDataset rasterXSize="9" rasterYSize="9"><SRS>{UTM}</SRS></VRTDataset>') and None),
    "XML that is cut off": ("hostile.vrt", lambda path, place: path.write_text("<VRTDataset rasterXSize=") and None),
    "XML nested too deeply": ("hostile.vrt", lambda path, place: path.write_text("<VRTDataset>" * 99999) and None),
    "a virtual raster of itself": ("hostile.vrt", vrt(source("PATH"))),
    "a virtual raster of a missing one": ("hostile.vrt", vrt(source("/nowhere/missing.tif"))),
}  # fmt: skip
SUSPICIOUS = {
    "a virtual raster with code": ("hostile.vrt", vrt(PYTHON_FUNCTION)),
    "a virtual raster of a host that is down": ("hostile.vrt", vrt(source("/vsicurl/http://127.0.0.1:9/town.tif"))),
}


def _files(kinds: dict[str, tuple[str, Write]]) -> dict[str, Callable[..., dict]]:
    return {f"{what} for a raster": partial(as_file, write=write, name=name) for what, (name, write) in kinds.items()}


CONTENTS = [
    *cases_of(_files(NO_RASTERS), JOBS, REFUSED, **NAMED),
    *cases_of(_files(SUSPICIOUS), ("vectorize",), EITHER),
]

# Ways of storing a raster, each damaged differently by the same bytes.
STORED = {
    "plain": {},
    "deflated": {"tiled": True, "blockxsize": 64, "blockysize": 64, "compress": "deflate"},
    "LZW": {"compress": "lzw", "predictor": 2},
    "bytes apart": {"interleave": "band", "compress": "packbits"},
}


def damaged(place: Place, job: str, where: str, number: int, profile: dict[str, Any]) -> dict[str, Any]:
    """Write a raster with overviews, and then other bytes: in its header, its tiles or its overviews, or cut off."""
    chance = random.Random(SEED + number + zlib.crc32(where.encode()))

    def spoil(path: Path) -> None:
        end_of_tiles = path.stat().st_size
        with rasterio.open(path, "r+") as dataset:
            dataset.build_overviews([2, 4])
        data = bytearray(path.read_bytes())
        if where == "cut off":
            data = data[: chance.randrange(len(data))]
        else:
            first, last = {"header": (4, 400), "tiles": (400, end_of_tiles), "overviews": (end_of_tiles, len(data))}[
                where
            ]
            for _ in range(2 ** chance.randrange(6)):
                data[chance.randrange(first, last)] = chance.randrange(256)
        path.write_bytes(data)

    return written(place, job, then=spoil, **profile)


_HALF = partial(written, then=lambda path: os.truncate(path, path.stat().st_size // 2), **STORED["deflated"])
DAMAGED = cases_of({"without its second half": _HALF}, ("segment", "vectorize", "finetune"), REFUSED, **NAMED)
DAMAGED += [
    case
    for where in ("header", "tiles", "overviews", "cut off")
    for stored, profile in STORED.items()
    for number in range(5)
    for case in cases_of(
        {
            f"{stored}, {'' if where == 'cut off' else 'other bytes in the '}{where}, {number}": partial(
                damaged, where=where, number=number, profile=profile
            )
        },
        (("segment", "vectorize"), ("suggestlabels",), ("evaluate",))[number % 3],
        EITHER,
    )
]

CASES = [*TYPES, *VALUES, *SIZES, *GEOREFERENCES, *CONTENTS, *DAMAGED]
