"""Stages of a pipeline: the U-Net cut into consecutive stages, each for one process."""
