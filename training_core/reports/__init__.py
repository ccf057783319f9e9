"""HTML reports of runs: pages, charts, maps, overlays."""
