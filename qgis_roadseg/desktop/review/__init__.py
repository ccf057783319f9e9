"""Review of a layer of changes, line by line: which lines are left, what was decided, the panel, the map."""
