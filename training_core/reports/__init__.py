"""HTML reports of runs: pages, charts, maps, overlays. Imports what they show."""
