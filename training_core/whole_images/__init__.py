"""Training on whole images: their gradients tile by tile, exactly those of the undivided image."""
