"""Drawn roads as labels: read, checked, split, and where to draw next. Imports geodata."""
