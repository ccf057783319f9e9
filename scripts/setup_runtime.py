"""Builds the runtime through the plugin's own algorithm, where it is missing, and prints its Python's path."""

from __future__ import annotations

from headless import run, say

say("Checking the runtime; where it is missing, it is built now (about 7 GB, some minutes) ...")
print(run("roadseg:setupruntime", {})["PYTHON"])
