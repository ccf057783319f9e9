"""Stages of a pipeline: the U-Net cut into consecutive stages, each for a process of its own."""
