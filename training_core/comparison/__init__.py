"""Scores and changes: two road networks, or a model and drawn roads, compared."""
