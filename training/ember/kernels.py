"""Attention within documents and gates: compiled from `kernels.cpp` on a processor, by PyTorch on other devices."""

import ctypes
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

_SOURCE = Path(__file__).with_name("kernels.cpp")


@cache
def _library() -> ctypes.CDLL:
    """Compiles and loads the functions for this processor, which must have AVX-512 BF16."""
    path = Path(tempfile.mkdtemp(prefix="ember-")) / "kernels.so"
    subprocess.run(["g++", "-O3", "-march=native", "-std=c++20", "-shared", "-fPIC", str(_SOURCE), "-o", str(path)], check=True)
    return ctypes.CDLL(str(path))


@cache
def _threads(number: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(number)


def _call(function: str, tensors: list[Tensor], *sizes: int) -> None:
    """Calls a function with the pointers of `tensors`, whose first dimension it divides among threads, and with `sizes`."""

    def call(rows: slice) -> None:
        parts = [tensor[rows] for tensor in tensors]
        pointers = (ctypes.c_void_p(part.data_ptr()) for part in parts)
        getattr(_library(), function)(*pointers, *map(ctypes.c_long, (len(parts[0]), *sizes)))

    number, rows = torch.get_num_threads(), len(tensors[0])
    bounds = [rows * thread // number for thread in range(number + 1)]
    slices = [slice(start, end) for start, end in zip(bounds, bounds[1:]) if start < end]
    if len(slices) == 1:
        call(slices[0])
    else:
        list(_threads(number).map(call, slices))


@torch.library.custom_op("ember::attention", mutates_args=(), device_types="cpu")
def _attention(query: Tensor, key: Tensor, value: Tensor, documents: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the output and the logarithms of the sums of exponentials, which the backward pass needs."""
    query, key, value = query.contiguous(), key.contiguous(), value.contiguous()
    output = torch.empty_like(query)
    log_sums = torch.empty(query.shape[:3], dtype=torch.float32)
    _call("attention_forward", [query, key, value, documents, output, log_sums], *query.shape[1:3], key.shape[2])
    return output, log_sums


@_attention.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, documents: Tensor) -> tuple[Tensor, Tensor]:
    return query.new_empty(query.shape), query.new_empty(query.shape[:3], dtype=torch.float32)


@torch.library.custom_op("ember::attention_backward", mutates_args=(), device_types="cpu")
def _attention_backward(query: Tensor, key: Tensor, value: Tensor, documents: Tensor, output: Tensor, log_sums: Tensor,
    d_output: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    given = [tensor.contiguous() for tensor in (query, key, value, documents, output, log_sums, d_output)]
    found = [torch.empty_like(tensor) for tensor in given[:3]]
    _call("attention_backward", [*given, *found], *query.shape[1:3], key.shape[2])
    return found[0], found[1], found[2]


@_attention_backward.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, *_: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return query.new_empty(query.shape), key.new_empty(key.shape), value.new_empty(value.shape)


def _keep(ctx, inputs: tuple, output: tuple) -> None:
    ctx.save_for_backward(*inputs, *output)


def _differentiate(ctx, d_output: Tensor, _: Tensor) -> tuple:
    return *_attention_backward(*ctx.saved_tensors, d_output), None


_attention.register_autograd(_differentiate, setup_context=_keep)


def masked_attention(query: Tensor, key: Tensor, value: Tensor, documents: Tensor) -> Tensor:
    """The same by PyTorch's own operations, over all pairs of a row."""
    length, group = query.shape[1], query.shape[2] // key.shape[2]
    causal = torch.ones(length, length, dtype=torch.bool, device=query.device).tril()
    visible = causal & (documents[:, :, None] == documents[:, None, :])
    key, value = (tensor.transpose(1, 2).repeat_interleave(group, 1) for tensor in (key, value))
    attended = torch.nn.functional.scaled_dot_product_attention(query.transpose(1, 2), key, value, visible[:, None])
    return attended.transpose(1, 2)


def attend(query: Tensor, key: Tensor, value: Tensor, documents: Tensor) -> Tensor:
    """Attention of each token to itself and the earlier tokens of its document, in bfloat16.

    `query` and the result are `[rows, length, heads, 64]`, `key` and `value` have a divisor of that many heads, `documents`
    `[rows, length]` numbers the document of each token.
    """
    if query.device.type == "cpu":
        return _attention(query, key, value, documents)[0]
    return masked_attention(query, key, value, documents)


@torch.library.custom_op("ember::gate", mutates_args=(), device_types="cpu")
def _gate(gate_up: Tensor) -> Tensor:
    gate_up = gate_up.contiguous()
    output = gate_up.new_empty((*gate_up.shape[:-1], gate_up.shape[-1] // 2))
    _call("gate_forward", [gate_up, output], *output.shape[1:])
    return output


@_gate.register_fake
def _(gate_up: Tensor) -> Tensor:
    return gate_up.new_empty((*gate_up.shape[:-1], gate_up.shape[-1] // 2))


@torch.library.custom_op("ember::gate_backward", mutates_args=(), device_types="cpu")
def _gate_backward(gate_up: Tensor, d_output: Tensor) -> Tensor:
    gate_up, d_output = gate_up.contiguous(), d_output.contiguous()
    found = torch.empty_like(gate_up)
    _call("gate_backward", [gate_up, d_output, found], *d_output.shape[1:])
    return found


@_gate_backward.register_fake
def _(gate_up: Tensor, d_output: Tensor) -> Tensor:
    return gate_up.new_empty(gate_up.shape)


_gate.register_autograd(
    lambda ctx, d_output: _gate_backward(ctx.saved_tensors[0], d_output),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)


def gated(gate_up: Tensor) -> Tensor:
    """Returns `silu(gate) * up` in bfloat16 for `gate_up` `[rows, length, 2 width]`, whose first half are the gates."""
    if gate_up.device.type == "cpu":
        return _gate(gate_up)
    gate, up = gate_up.float().chunk(2, dim=-1)
    return (torch.nn.functional.silu(gate) * up).to(gate_up.dtype)
