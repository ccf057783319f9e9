"""What `qgis --code` runs, before QGIS' event loop: it has the story begin that the plan names."""

import importlib
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, os.environ["ROADSEG_CHECKOUT"])
sys.dont_write_bytecode = True

plan = json.loads(Path(os.environ["ROADSEG_PLAN"]).read_text())
importlib.import_module(f"tests.gui.{plan.get('story', 'story')}").begin(os.environ["ROADSEG_PLAN"])
