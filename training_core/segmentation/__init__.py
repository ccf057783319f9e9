"""From an image to road probability, tile by tile."""
