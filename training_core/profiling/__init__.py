"""Profiles: the machine's limits, where the time of a step goes, and what would make it faster."""
