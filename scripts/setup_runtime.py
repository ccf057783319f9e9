"""Builds the runtime with the plugin's own algorithm, if there is none, and prints the path of its Python.

The requirement set may be named: `python3 -m scripts.setup_runtime native`. Without the set `fleet`: pyarrow starts a
thread, and hostile inputs are tried in forks. Tests bring its packages.
"""

from __future__ import annotations

import sys

from scripts.headless import run, say

say("Checking the runtime; if it is missing, it is built now (2.2 to 7 GB, some minutes) ...")
values = {"REQUIREMENTS": sys.argv[1] if sys.argv[1:] else "auto", "ALSO_INSTALL": ["quantize", "osm"]}
print(run("roadseg:setupruntime", values)["PYTHON"])
