"""What a model may be built from: the names of architectures and encoders.

Scope: names, as options and model files have them. Independent of how models are built; standard library only.
"""

from __future__ import annotations

UNET, UNET_PLUS_PLUS, FPN = ARCHITECTURES = ("Unet", "UnetPlusPlus", "FPN")
RESNETS = ("resnet18", "resnet34", "resnet50")
EFFICIENTNET = "efficientnet_lite0"
ENCODERS = (*RESNETS, EFFICIENTNET)
# In place of a name: that of the base model.
AS_BASE = "auto"
USUAL = (UNET, "resnet34")
