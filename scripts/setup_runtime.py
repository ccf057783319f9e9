"""Builds the runtime with the plugin's own algorithm, if there is none, and prints the path of its Python."""

from __future__ import annotations

from scripts.headless import run, say

say("Checking the runtime; if it is missing, it is built now (2.3 to 8.4 GB, some minutes) ...")
print(run("roadseg:setupruntime", {})["PYTHON"])
