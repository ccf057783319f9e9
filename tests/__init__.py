"""Tests; each folder mirrors a package, and `core/support` holds what tests of the core share."""
