"""A labeled image and the gradients of its loss, undivided and by tiles; also as the ranks of a group compute them."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from training_core.distributed.data_parallel import DataParallel
from training_core.geodata.pixel_codes import BACKGROUND, IGNORE, ROAD
from training_core.learning.losses import training_loss
from training_core.models.engines import make_engine
from training_core.whole_images.samples import ImageSample
from training_core.whole_images.step import add_image_gradients
from training_core.whole_images.tiles import TilePlan


@dataclass(frozen=True)
class PreciseEngine:
    """Computes in FP64; notes the pixels of each pass."""

    computed: list

    def forward(self, model, images):
        self.computed.append(images[0, 0].numel())
        return model(images.double())


def sample(height, width, classes=0, seed=0):
    """Return an image of noise, with labels of all kinds in blocks."""
    random = np.random.default_rng(seed)
    kinds = random.choice([BACKGROUND, ROAD, IGNORE], (height // 8 + 1, width // 8 + 1)).astype(np.uint8)
    training = kinds.repeat(8, 0).repeat(8, 1)[:height, :width].copy()
    return ImageSample(
        values=random.integers(0, 255, (4, height, width), dtype=np.uint8),
        known=random.random((height, width)) < 0.99,
        training=training,
        classes=random.integers(0, classes + 1, (height, width), dtype=np.uint8) if classes else None,
        scale=np.full(4, 1 / 60, np.float32),
        offset=np.full(4, -2, np.float32),
        labeled_px=int((training != IGNORE).sum()),
    )


def small_network(classes=0):
    """Return a network of stride 4 in FP64, with frozen batch normalization; the same each time."""
    torch.manual_seed(0)
    down = (nn.Conv2d(4, 6, 5, 2, 2), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 6, 3, 2, 1), nn.BatchNorm2d(6))
    up = (nn.ReLU(), nn.Upsample(scale_factor=4), nn.Conv2d(6, 1 + classes, 3, 1, 1))
    model = nn.Sequential(*down, *up).double()
    for module in model:
        module.train(not isinstance(module, nn.BatchNorm2d))
    return model


def gradients(model):
    return {name: weights.grad.clone() for name, weights in model.named_parameters() if weights.grad is not None}


def undivided(model, engine, sample):
    """Return loss and gradients of an image that passes the model as a whole, padded to a multiple of 32."""
    height, width = sample.shape
    images = np.zeros((1, 4, -(-height // 32) * 32, -(-width // 32) * 32), np.float32)
    scaled = sample.values * sample.scale[:, None, None] + sample.offset[:, None, None]
    images[0, :, :height, :width] = np.where(sample.known, scaled, 0)
    labels = torch.from_numpy(sample.labels(slice(None), slice(None)))[None]
    model.zero_grad()
    logits = engine.forward(model, torch.from_numpy(images))[..., :height, :width]
    loss = training_loss(logits, labels)
    loss.backward()
    return loss.item(), gradients(model)


def by_tiles(model, engine, sample, plan, **others):
    """Return loss and gradients of an image, tile by tile."""
    model.zero_grad()
    loss = add_image_gradients(model, engine, sample, plan, **others)
    return loss, gradients(model)


def step_of_ranks(group, labeled_columns, core_px, halo_px, is_double):
    """Return loss and gradients of a step over two images, and how many times tiles of this rank passed the model."""
    engine, model = PreciseEngine([]), small_network()
    if not is_double:
        engine, model = make_engine("native", "fp32"), model.float()
    share = DataParallel(group)
    share.attach(model)
    passed, loss = [], 0.0
    for seed, columns in enumerate(labeled_columns):
        image = partly_labeled((120, 200), columns, seed)
        loss += add_image_gradients(model, engine, image, TilePlan(core_px, halo_px), 0.5, share, passed.append)
    share.finish()
    return loss, gradients(model), len(passed)


def partly_labeled(shape, columns, seed=0):
    """Return an image with labels in its first columns only."""
    image = sample(*shape, seed=seed)
    image.training[:, columns:] = IGNORE
    return image


def largest_error(found, expected):
    """Return the largest error of any gradient, of the largest gradient."""
    assert found.keys() == expected.keys()
    largest = max(each.abs().max().item() for each in expected.values())
    return max((found[name] - expected[name]).abs().max().item() for name in expected) / largest
