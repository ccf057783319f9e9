"""From labels to a trained network. Imports labels and segmentation."""
