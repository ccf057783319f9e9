"""Semantic segmentation: from an image to road probability, tile by tile. Imports models."""
