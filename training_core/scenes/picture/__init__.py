"""How a planned scene looks: colors, light, textures and the camera."""
