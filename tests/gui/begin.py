"""What `qgis --code` runs, before QGIS' event loop: it has the story begin."""

import os
import sys

sys.path.insert(0, os.environ["ROADSEG_STORY"])
sys.dont_write_bytecode = True

import story  # noqa: E402

story.begin(os.environ["ROADSEG_PLAN"])
