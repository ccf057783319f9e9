"""Drawn roads as labels: read, checked and split; and where to draw next."""
