"""Where the plugin's own files lie. Knows folders only."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESOURCES = ROOT / "resources"
ICON = RESOURCES / "icon.svg"
