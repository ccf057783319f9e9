import pytest
from torch import nn
from torch.nn import functional

from training_core.models.architectures import Architecture, build_network
from training_core.segmentation.measured import exact_halo_px


class Window(nn.Module):
    """Sees these numbers of pixels before it and after it, and itself."""

    def __init__(self, before_px, after_px):
        super().__init__()
        self.before_px, self.after_px = before_px, after_px

    def forward(self, images):
        padded = functional.pad(images, (self.before_px, self.after_px))
        return functional.max_pool2d(padded, (1, self.before_px + self.after_px + 1), stride=1)


@pytest.mark.parametrize(
    "before_px, after_px, halo_px",
    [(0, 0, 0), (1, 0, 32), (40, 7, 64), pytest.param(40, 200, 224, marks=pytest.mark.slow)],
)
def test_the_halo_holds_what_is_seen_on_either_side(before_px, after_px, halo_px):
    assert exact_halo_px(Window(before_px, after_px), 2) == halo_px


def test_it_tries_every_column_between_two_strides():
    """What is pooled by four looks three pixels aside from some columns, but never over the edge of a tile."""
    pooling = nn.Sequential(nn.MaxPool2d(4), nn.Upsample(scale_factor=4))
    assert exact_halo_px(pooling, 1) == 0


@pytest.mark.slow
def test_wider_strips_show_what_lies_farther_away():
    assert exact_halo_px(Window(1500, 3), 1) == 1504


@pytest.mark.slow
@pytest.mark.parametrize(("encoder", "expected"), [("resnet18", 288), ("resnet34", 544)])
def test_the_halo_of_our_models(encoder, expected):
    model = build_network(Architecture(encoder=encoder)).eval()
    assert exact_halo_px(model, 3) == expected
