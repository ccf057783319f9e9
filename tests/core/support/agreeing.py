"""What ranks do in the tests of their agreement."""

from training_core.distributed.rank_protocol import agreed, require_alike
from training_core.errors import Cancelled, ImageryError, RoadSegError


def agree(group):
    """Return what each of some disagreements raises on this rank."""
    return [_raised(case, group) for case in (_well, _no_image, _stopped, _other_seed, _missing_fact)]


def _raised(case, group):
    try:
        case(group)
    except RoadSegError as error:
        return error.code, error.message
    return None


def _well(group):
    with agreed(group):
        pass
    require_alike(group, {"torch": "2.8", "images": [1, 2]})


def _no_image(group):
    with agreed(group):
        if group.rank == 1:
            raise ImageryError("a.tif is gone.", "Copy it.")


def _stopped(group):
    with agreed(group):
        if group.rank == 1:
            raise Cancelled()


def _other_seed(group):
    require_alike(group, {"seed": 1 + (group.rank == 2), "images": "same", "torch": f"2.{group.rank // 2}"})


def _missing_fact(group):
    require_alike(group, {} if group.rank else {"roadseg": "1"})
