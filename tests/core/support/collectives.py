"""What the ranks of a group do in the tests of its collectives, of their agreement, and of optimizers."""

import torch
from torch import nn

from training_core.distributed.gradient_exchange import GradientExchange
from training_core.distributed.ranks import Ranks
from training_core.errors import Cancelled, ImageryError, RoadSegError
from training_core.learning.trainer import build_optimizer


def talk(group):
    """Return what each collective gives this rank."""
    own = torch.arange(3.0) + 10 * group.rank
    tensors = {"weights": own.view(3, 1), "count": torch.tensor(group.rank, dtype=torch.int64)}
    large = torch.tensor([1e8, 1.0, -1e8][group.rank % 3], dtype=torch.float32)
    return {
        "gathered": group.gather(own),
        "sum": group.sum(own),
        "rounded": group.sum(large),
        "broadcast": group.broadcast(own.clone()),
        "document": group.broadcast_document({"rank": group.rank, "text": "Straße"}),
        "documents": group.gather_documents("x" * group.rank),
        "tensors": group.broadcast_tensors(tensors if group.leads else {}),
        "sent_bytes": group.sent_bytes,
        "handled_s": handled_s(group),
    }


def handled_s(group):
    """Return for how long the threads of communication work on 32 MB to and from every other rank."""
    before_s = group.handled_s
    group.gather(torch.zeros(8_000_000))
    return group.handled_s - before_s


def split_up(group):
    """Return what the ranks of two halves of a group tell each other, and what rank 0 of each half collects."""
    half = group.divided([[0, 1], [2, 3]])
    own = {f"of {group.rank}": torch.full((2, group.rank), 1.5), f"number {group.rank}": torch.tensor(group.rank)}
    return (
        half.rank,
        half.size,
        half.gather(torch.tensor([group.rank])),
        half.collect_tensors(own),
        group.gather(own[f"number {group.rank}"]),
    )


def sum_gradients(group, is_compressed):
    """Return the sums of gradients of two parameters, one of them in channels last, in two rounds, and bytes sent."""
    weight = torch.nn.Parameter(torch.zeros(2, 3, 2, 2).contiguous(memory_format=torch.channels_last))
    bias = torch.nn.Parameter(torch.zeros(3))
    exchange, before = GradientExchange([weight, bias], group, is_compressed), group.sent_bytes
    whole, small = torch.arange(24.0).view(2, 3, 2, 2), torch.tensor([1.0, 2**-8, 2**-8])[group.rank]
    for number, contributors in enumerate((3, 2)):
        exchange.begin_round(contributors, is_last=number == 1)
        if group.rank < contributors:
            loss = (weight * whole * (group.rank + 1)).sum() + (bias * torch.tensor([small, 1 + 2**-9, 0])).sum()
            loss.backward()
    exchange.finish()
    return weight.grad, bias.grad, group.sent_bytes - before


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
    with Ranks(group).agreed():
        pass
    Ranks(group).require_alike({"torch": "2.8", "images": [1, 2]})


def _no_image(group):
    with Ranks(group).agreed():
        if group.rank == 1:
            raise ImageryError("a.tif is gone.", "Copy it.")


def _stopped(group):
    with Ranks(group).agreed():
        if group.rank == 1:
            raise Cancelled()


def _other_seed(group):
    Ranks(group).require_alike({"seed": 1 + (group.rank == 2), "images": "same", "torch": f"2.{group.rank // 2}"})


def _missing_fact(group):
    Ranks(group).require_alike({} if group.rank else {"roadseg": "1"})


def step_together(group, name, rate):
    """Return two weights of 2 after a step on the gradient (3, 4), of which two ranks have one each, and moments."""
    network = nn.ModuleList(nn.Linear(1, 1, bias=False) for _ in range(2))
    for layer in network:
        nn.init.constant_(layer.weight, 2.0)
    optimizer = build_optimizer(network, name)
    for parameters in optimizer.param_groups:
        parameters["lr"] = rate
    exchange = GradientExchange(network.parameters(), group)
    exchange.begin_round(group.size, True)
    (network[group.rank].weight * (3.0 + group.rank)).sum().backward()
    exchange.finish()
    optimizer.step()
    weights = [layer.weight for layer in network]
    moments = [state.get("exp_avg", torch.zeros(1)) for state in (optimizer.state[weight] for weight in weights)]
    return [weight.item() for weight in weights], [moment.item() for moment in moments]
