"""Comparing two road networks: APLS, TOPO, line metrics, changes, accessibility. Imports networks and extraction."""
