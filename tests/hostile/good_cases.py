"""The good inputs themselves, as cases: without them a refusal would mean nothing."""

from __future__ import annotations

from tests.hostile.cases import DONE, ENDING_JOBS, Case

CASES = [Case(f"{job}, nothing is spoiled", job, lambda place: {}, DONE, limit_s=60) for job in ENDING_JOBS]
