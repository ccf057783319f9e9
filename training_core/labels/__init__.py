"""Labels from drawn roads: reading, checks, validation split, and which patches to label next. Imports geodata."""
