"""Costs of operations: floating-point operations, memory traffic, shapes and layouts of every PyTorch operation.

PyTorch's profiler knows neither the memory traffic nor the FLOP of gradients.

Scope: PyTorch's dispatch. Independent of the computation, and of time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Optional

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import conv_flop_count, flop_registry

_DTYPES = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float64: "fp64", torch.float16: "fp16"}
# Names under which functions are handed over, and those that the profiler knows.
_NAMES = {"aten::_native_batch_norm_legit_no_training": "aten::native_batch_norm"}
# Long lists of tensors, as an optimizer takes them, are named by no more shapes than these.
_NAMED_SHAPES = 4


@dataclass(frozen=True)
class OperationCost:
    """The least cost of an operation.

    Its name is as PyTorch's: `aten::convolution`. PyTorch's FLOP are 0 where it counts none. Bytes count tensors that
    are read or written once, and 0 for views. The shape is of its first tensors of more than one dimension, inputs
    before outputs: `4x64x48x48 64x64x3x3 4x64x48x48`. The layout and dtype are of the first tensor. The implementation
    is the kernel of another library, where known.
    """

    name: str
    flop: int
    bytes: int
    shape: str
    layout: str
    dtype: str
    implementation: str = ""


class CostRecorder(TorchDispatchMode):
    """Records the cost of every operation that is called within it, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.costs: list[OperationCost] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Optional[dict] = None) -> Any:
        kwargs = kwargs or {}
        if function.namespace == "profiler":
            return function(*args, **kwargs)
        if torch.is_inference_mode_enabled() and function._overloadpacket not in flop_registry:
            with self:  # in this mode PyTorch hands over whole functions, such as conv2d
                result = function.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        before = [tensor.shape for tensor in _tensors((args, kwargs))]
        result = function(*args, **kwargs)
        self.costs.append(_cost(function, args, kwargs, before, result))
        return result


def _cost(function: Any, args: Any, kwargs: dict[str, Any], before: list[torch.Size], result: Any) -> OperationCost:
    tensors = _tensors((args, kwargs, result))
    # Biases and the like are left out, so that an operation with and without one is the same.
    named_before = [shape for shape in before if len(shape) > 1] or before
    shapes = [*named_before[:_NAMED_SHAPES], *(tensor.shape for tensor in _tensors(result)[:1])]
    name = function._schema.name
    return OperationCost(
        _NAMES.get(name, name),
        _flop(function._overloadpacket, args, kwargs, result),
        _traffic_bytes(function._schema, args, kwargs, result),
        shapes_in_words(shapes),
        layout_of(tensors[0]) if tensors else "",
        _DTYPES.get(tensors[0].dtype, str(tensors[0].dtype).removeprefix("torch.")) if tensors else "",
    )


def _flop(operation: Any, args: Any, kwargs: dict[str, Any], result: Any) -> int:
    if operation is torch.ops.aten.convolution_backward:
        # Each gradient has the products of the forward pass. PyTorch's formula ignores groups, and would count those of
        # a depthwise convolution as many times as it has channels.
        output, images, weights, is_transposed, wanted = (args[each] for each in (0, 1, 2, 7, 10))
        return sum(wanted[:2]) * conv_flop_count(images.shape, weights.shape, output.shape, is_transposed)
    count = flop_registry.get(operation)
    return int(count(*args, **kwargs, out_val=result)) if count else 0


def shapes_in_words(shapes: list[Any]) -> str:
    """Return shapes as `4x64x48x48 64x64x3x3`; that of a single number is 1."""
    return " ".join("x".join(map(str, shape)) or "1" for shape in shapes)


def _traffic_bytes(schema: Any, args: Any, kwargs: dict[str, Any], result: Any) -> int:
    """Return the bytes of all inputs that are read, and of all outputs and inputs that are written."""
    if any(each.alias_info is not None and not each.alias_info.is_write for each in schema.returns):
        return 0  # a view
    is_allocation = "empty" in schema.name
    moved = [] if is_allocation or any(each.alias_info for each in schema.returns) else _tensors(result)
    for position, argument in enumerate(schema.arguments):
        tensors = _tensors(args[position] if position < len(args) else kwargs.get(argument.name))
        moved += [] if argument.is_out or is_allocation else tensors
        moved += tensors if argument.alias_info is not None and argument.alias_info.is_write else []
    return sum(map(_bytes_of, moved))


def _bytes_of(tensor: Tensor) -> int:
    """Return the bytes of a tensor's elements; those of an expanded one are stored once."""
    stored = math.prod(size for size, stride in zip(tensor.shape, tensor.stride()) if stride)
    return stored * tensor.element_size() if tensor.numel() else 0


def layout_of(tensor: Tensor) -> str:
    """Return how a tensor (...) of any dtype lies in memory: `contiguous`, `channels last` or `strided`."""
    if tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last):
        return "channels last"
    return "contiguous" if tensor.is_contiguous() else "strided"


def _tensors(tree: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]
