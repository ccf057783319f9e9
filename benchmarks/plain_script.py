"""The baseline: a short training script with segmentation_models_pytorch, which RoadSeg is measured against.

NCHW, FP32, Adam, the library's losses, random crops, no settings of the process. Independent of RoadSeg. Takes an
array file (`image`: bands x height x width, normalized; `label`: 0, 1 and 255 for ignored pixels), trains for some
minutes or steps, and writes the weights; prints the steps and their median speed.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import segmentation_models_pytorch as smp
import torch
from safetensors.torch import save_file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("arrays")
    parser.add_argument("--weights", help="where to write the weights")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--steps", type=int, default=10**9)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--size-px", type=int, default=384)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    arrays = dict(np.load(arguments.arrays))
    torch.manual_seed(arguments.seed)
    model = smp.Unet("resnet34", encoder_weights=None, in_channels=len(arrays["image"]), classes=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    dice = smp.losses.DiceLoss("binary", ignore_index=255)
    focal = smp.losses.FocalLoss("binary", ignore_index=255)
    random = np.random.default_rng(arguments.seed)
    began, seconds = time.perf_counter(), []
    while len(seconds) < arguments.steps and time.perf_counter() - began < arguments.minutes * 60:
        step_began = time.perf_counter()
        images, labels = zip(*(crop(arrays, arguments.size_px, random) for _ in range(arguments.batch_size)))
        logits = model(torch.from_numpy(np.stack(images)))
        truth = torch.from_numpy(np.stack(labels)).long()[:, None]
        loss = 0.75 * focal(logits, truth) + 0.25 * dice(logits, truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        seconds.append(time.perf_counter() - step_began)
    if arguments.weights:
        save_file(model.state_dict(), arguments.weights)
    print(f"steps {len(seconds)}")
    print(f"images_per_s {arguments.batch_size / statistics.median(seconds):.3f}")


def crop(arrays: dict[str, np.ndarray], size_px: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Cut a random square, padded where the image is smaller, and mirror it at random."""
    image, label = arrays["image"], arrays["label"]
    missing = [max(0, size_px - side) for side in label.shape]
    if any(missing):
        image = np.pad(image, [(0, 0), (0, missing[0]), (0, missing[1])])
        label = np.pad(label, [(0, missing[0]), (0, missing[1])], constant_values=255)
    row, column = (random.integers(0, side - size_px + 1) for side in label.shape)
    window = np.s_[row : row + size_px, column : column + size_px]
    image, label = image[(slice(None), *window)], label[window]
    if random.random() < 0.5:
        image, label = image[..., ::-1], label[..., ::-1]
    return np.ascontiguousarray(image, dtype=np.float32), np.ascontiguousarray(label)


if __name__ == "__main__":
    main()
