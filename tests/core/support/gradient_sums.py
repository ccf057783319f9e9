"""A step of an optimizer, of whose gradient every rank has computed a part."""

import torch
from torch import nn

from training_core.distributed.gradient_exchange import GradientExchange
from training_core.learning.optimizers import build_optimizer


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
