"""Fine-tuning: from labels to a trained U-Net. Imports labels and segmentation."""
