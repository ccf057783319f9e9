"""The report of a profile, and that of a comparison."""

from __future__ import annotations

import dataclasses
import re

import pytest

from tests.core.support.browser import HOSTILE, Page, check_self_contained, squeezed
from tests.core.support.profiles import LIMITS, make_profile, make_run
from training_core.profiling.profile import Counters, Kind, Row
from training_core.profiling.profile_comparison import compare
from training_core.profiling.profile_report import (
    ComparisonRecord,
    change,
    headroom_of,
    write_comparison_report,
    write_profile_report,
)


def profile_page(profile, folder):
    path = folder / "report.html"
    write_profile_report(profile, path)
    return path.read_text(encoding="utf-8")


def comparison_page(before, after, folder):
    path = folder / "report.html"
    options = {"before": "a.json", "after": "b.json"}
    record = ComparisonRecord(options=options, comparison=compare(before, after))
    write_comparison_report(record, path)
    return path.read_text(encoding="utf-8")


def test_the_headroom_is_the_time_of_primitives_beyond_their_roofs():
    def row(kind, time_s, roof_share):
        return Row("call", 1.0, time_s, 0.0, roof_share=roof_share, kind=kind)

    roofs = (Kind.CONVOLUTION, 0.4, 0.5), (Kind.CONVOLUTION, 0.1, 1.2), (Kind.NORMALIZATION, 0.2, 0.25)
    rows = [row(*roof) for roof in (*roofs, (Kind.LOSS, 0.1, None))]
    headroom = headroom_of(dataclasses.replace(make_run(), step_s=1.0, primitives=rows))
    assert headroom.ideal_s == pytest.approx(0.2 + 0.1 + 0.05)
    assert headroom.lost_s == pytest.approx({Kind.CONVOLUTION: 0.2, Kind.NORMALIZATION: 0.15})
    assert headroom.other_s == pytest.approx(1.0 - 0.7)


def test_the_report_shows_the_measurements(tmp_path):
    rows = (
        Row("conv", 2.0, 0.5, 0.5, 0.01, 4e11, 2e9, 0.4, "compute", Kind.CONVOLUTION, "backward", "4x64x48x48",
                     "channels last", "bf16", "brgconv:avx512_core_amx"),
    )  # fmt: skip
    run = make_run(step_s=1.0, primitives=rows, steps=1234, plain_s=0.97)
    page = Page(profile_page(make_profile(run), tmp_path))
    for words in (
        "A training step with native bf16 takes 1.00 s", "would take 200 ms (20 %)", "loses 300 ms in convolution",
        "500 ms outside of such operations", "First advice: batch normalization. It saved 4.5 %",
        "Images per second 4.12", "Overhead of profiling 1.3 %", "The frequency under load cannot be read.",
        "8.0 %", "310 ms \u2192 296 ms an image", "chip_px = 384",
        "1.90 TFLOP/s \u00d7 3.8", "42.0 GB/s \u00d7 2.6", "Start of an OpenMP region 4.20 µs", "NUMA nodes 1",
        "Frequency, under load not readable", "1,234 steps", "Without the profiler 970 ms", "Page faults a step 812",
        "Stolen by others 1.2 %", "waiting for data", "decoder.blocks.3",
        "conv backward · 4x64x48x48 · bf16 · channels last · brgconv:avx512_core_amx",
        "50 % 500 ms ± 5.00 ms 2 400 G 2.00 GB 200 40 % compute", "BF16 peak 1.90 TFLOP/s", "memory 42.0 GB/s",
        "torch 2.8.0", "Time seconds 60.0 s",
    ):  # fmt: skip
        assert squeezed(words) in squeezed(page.text), words


def test_every_run_has_its_charts_and_tables_of_which_shorter_rows_are_counted(tmp_path):
    page = Page(profile_page(make_profile(), tmp_path))
    names = [value for name, value in page.attributes if name == "aria-label"]
    assert page.elements.count("svg") == len(set(names)) == 4
    assert "Training, native bf16" in page.text and "Inference, native bf16" in page.text
    run = make_run()
    assert f"{len(run.layers) - 20} shorter ones" in page.text and f"{len(run.primitives) - 20} shorter" in page.text


def test_wide_tables_scroll_and_nothing_is_fetched_and_nothing_runs(tmp_path):
    for text in (profile_page(make_profile(), tmp_path), comparison_page(make_profile(), make_profile(), tmp_path)):
        tables = re.findall(r'(<div class="scroll[^"]*">)?\s*<table>\s*<thead>', text)
        assert len(tables) > 4 and all(tables)
        check_self_contained(text)


def hostile_profile():
    run = make_run()
    return make_profile(
        dataclasses.replace(
            run,
            engine=HOSTILE,
            layers=(dataclasses.replace(run.layers[0], name=HOSTILE), *run.layers[1:]),
            primitives=(dataclasses.replace(run.primitives[0], implementation=HOSTILE), *run.primitives[1:]),
            options={HOSTILE: HOSTILE},
        ),
        hardware=HOSTILE,
        limits=dataclasses.replace(LIMITS, machine={HOSTILE: HOSTILE}, bandwidth={HOSTILE: LIMITS.bandwidth["read"]}),
        options={HOSTILE: HOSTILE, "raster": "/data/\udcff.tif"},
        versions={HOSTILE: HOSTILE},
        warnings=(HOSTILE,),
    )


def test_text_of_others_is_escaped(tmp_path):
    report = profile_page(hostile_profile(), tmp_path)
    assert "/data/?.tif" in report  # a path in another encoding
    for text in (report, comparison_page(hostile_profile(), make_profile(), tmp_path)):
        assert "<script" not in text and HOSTILE in Page(text).text


def test_missing_measurements_are_left_out_and_limits_alone_have_a_report(tmp_path):
    bare = make_run(layers=(), primitives=(), counters=Counters())
    limits = dataclasses.replace(
        LIMITS, convolution={}, matrix={}, bandwidth={}, cache_per_s=0.0, cache_bytes=0, machine={}
    )
    page = Page(profile_page(make_profile(bare, limits=limits, advice=(), warnings=()), tmp_path))
    assert "svg" not in page.elements
    assert "how fast this computer could do that is not known" in page.text
    for title in ("Advice", "Warnings", "Roofline"):
        assert title not in page.text
    page = Page(profile_page(dataclasses.replace(make_profile(), runs=(), advice=()), tmp_path))
    assert "only the limits of this computer were measured" in page.text
    assert "460 GFLOP/s" in page.text


def test_a_comparison_shows_the_differences(tmp_path):
    before, after = make_run(slowness=2.0), make_run(slowness=1.0)
    other = dataclasses.replace(after.primitives[0], implementation="brgconv:avx512_core_amx")
    after = dataclasses.replace(after, primitives=(other, *after.primitives[1:]))
    text = comparison_page(make_profile(before), make_profile(after, hardware="Another"), tmp_path)
    words = Page(text).text
    for expected in (
        "2 times as fast", "0.500", "a.json, A processor, 4 cores", "b.json, Another",
        "brgconv:avx512_core_bf16 \u2192 brgconv:avx512_core_amx",
        "fp32 peak", "Faster | slower", "smaller differences are in the JSON document",
    ):  # fmt: skip
        assert expected in words, expected


@pytest.mark.parametrize(
    ("ratio", "words"),
    [(0.5, "2 times as fast"), (0.8, "1.25 times as fast"), (1.1, "1.1 times as long"), (1.004, "the same time")],
)
def test_ratios_are_told_in_words(ratio, words):
    assert change(ratio) == words
