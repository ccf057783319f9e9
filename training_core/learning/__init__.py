"""From labels to a trained model."""
