"""Regions: many scenes as one image, divided into blocks, and the roads of all blocks as one network."""
