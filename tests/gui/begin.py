"""What `qgis --code` runs, before QGIS' event loop: the story that the plan names begins as soon as QGIS has time."""

import importlib
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, os.environ["ROADSEG_CHECKOUT"])
sys.dont_write_bytecode = True

from tests.gui.stage import Stage  # noqa: E402

plan = json.loads(Path(os.environ["ROADSEG_PLAN"]).read_text())
stage = Stage(Path(plan["seen"]), plan["limit_s"])
stage.play(importlib.import_module(f"tests.gui.{plan.get('story', 'story')}").tell(stage, plan))
