"""What a model may be built from: the names of architectures and encoders.

Scope: names, as options and model files have them. Independent of how models are built; standard library only.
"""

from __future__ import annotations

UNET, UNET_PLUS_PLUS, FPN, DEEPLAB, SEGFORMER = ARCHITECTURES = (
    "Unet", "UnetPlusPlus", "FPN", "DeepLabV3Plus", "Segformer"
)  # fmt: skip
RESNETS = ("resnet18", "resnet34", "resnet50", "resnet101", "resnext50_32x4d")
MIT = "mit_b0"
ENCODERS = (*RESNETS, "mobilenet_v2", "efficientnet_lite0", "regnetx_004", MIT)
# Pairs that segmentation_models_pytorch does not build.
IMPOSSIBLE = frozenset({(UNET_PLUS_PLUS, MIT)})
# In place of a name: that of the base model.
AS_BASE = "auto"
USUAL = (UNET, "resnet34")
