import re

from tests.core.support.agreeing import agree
from tests.core.support.ranks import run_ranks


def test_ranks_begin_together_or_not_at_all():
    for rank, (well, no_image, stopped, other_seed, missing) in enumerate(run_ranks(agree, 3)):
        assert well is None
        name = "" if rank == 1 else r"Rank 1 of 3 on .+: "
        assert no_image[0] == "imagery" and re.fullmatch(f"{name}a.tif is gone.", no_image[1])
        assert stopped[0] == "cancelled" and "Rank" not in stopped[1]
        assert re.fullmatch(r"Rank 2 of 3 on .+ differs from rank 0 on .+ in: seed, torch\.", other_seed[1])
        assert re.fullmatch(r"Rank 1 of 3 on .+ in: roadseg\.", missing[1])
