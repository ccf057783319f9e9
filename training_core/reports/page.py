"""Pages of RoadSeg's HTML reports: self-contained, without scripts, made from Jinja templates.

Scope: templates. Independent of the content of a single report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..errors import without_passwords
from ..geodata.sources import source_name
from ..jobs import Job
from ..system.machine import versions
from .colors import VERMILION

# One for all pages, since it keeps the templates that it has compiled.
_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parents[2] / "resources" / "reports"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters["source_name"] = source_name


@dataclass(frozen=True, kw_only=True)
class ReportRecord:
    """The content of every report: the job's fields, seconds by part of the work, and versions of libraries."""

    options: Mapping[str, Any]
    timings_s: Mapping[str, float] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    versions: Mapping[str, str] = field(default_factory=versions)


def write_page(template: str, path: Path, job_type: type[Job], record: ReportRecord, **values: Any) -> None:
    """Write a report as one HTML file from a template in resources/reports.

    The text in its values is shown, never executed. The job's type labels the options of the record.
    """
    total_s = sum(record.timings_s.values()) or 1.0
    timings = [(part, seconds, seconds / total_s) for part, seconds in record.timings_s.items()]
    page = _ENVIRONMENT.get_template(template).render(
        record=record,
        accent=VERMILION,
        timings=sorted(timings, key=lambda row: -row[1]),
        settings=_settings_of(job_type, record.options),
        **values,
    )
    path.write_text(page, encoding="utf-8", errors="replace")  # not every path is valid UTF-8


def _settings_of(job_type: type[Job], options: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return (label, field, value with its unit) of each of a job's settings."""
    known = {field.name: field.option for field in job_type.option_fields()}
    rows = []
    for name, value in options.items():
        option = known.get(name)
        text = without_passwords(", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value))
        unit = f" {option.unit}" if option and option.unit and text else ""
        rows.append((option.label if option else name, name, text + unit))
    return rows
