"""The checks of a call, which need no library."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Tuple

import numpy as np
import pytest

from mscclc import ArrayError, Buffer, Shape
from mscclc._calls import make_output, prepare


def shape(collective: str, into: Tuple[int, ...], out: Tuple[int, ...], rank: int = 1, **facts: Any) -> Shape:
    given = {"reduces": False, "in_place": True, "out_of_place": True, **facts}
    return Shape(
        name="p", collective=collective, ranks=len(into), rank=rank, dtypes=("f32", "i32"),
        inputs=(Buffer("input", into),), outputs=(Buffer("output", out),), order=(0, 1), **given,
    )  # fmt: skip


GATHER = shape("allgather", (1, 1), (2, 2))
SUM = shape("allreduce", (2, 2), (2, 2), reduces=True)
SCATTER = shape("reducescatter", (2, 2), (1, 1))


def new(n: int, dtype: str = "f4") -> Any:
    return np.zeros(n, dtype)


def call(program: Shape, x: Any, y: Any, **more: Any) -> Any:
    return prepare(program, [x], [y], more.get("device"), more.get("op", "sum"), more.get("count"))


def refused(code: str, text: str, *arguments: Any, **more: Any) -> None:
    with pytest.raises(ArrayError, match=text) as caught:
        call(*arguments, **more)
    assert caught.value.code == code


def test_arguments() -> None:
    x, y = new(3, "i4"), new(6, "i4")
    pointers, *rest = call(GATHER, x, y, op="max")
    assert list(pointers) == [x.ctypes.data, y.ctypes.data]
    assert [number.value for number in rest] == [3, 6, 3]
    swapped = replace(GATHER, order=(1, 0))
    assert list(call(swapped, x, y)[0]) == [y.ctypes.data, x.ctypes.data]


def test_refused() -> None:
    refused("counts", "output has 5 elements, and 2 units of 3 elements are needed", GATHER, new(3), new(5))
    refused("counts", "input has 3 elements, which is no multiple of 2", SUM, new(3), new(3))
    refused("arguments", "input has elements of f32, and output of i32", GATHER, new(3), new(6, "i4"))
    refused("unsupported", "p does not take elements of f64", GATHER, new(3, "f8"), new(6, "f8"))
    refused("arguments", "input lies on the CPU, and the program runs on GPU 0", GATHER, new(3), new(6), device=0)
    refused("arguments", "input is None, and rank 1 has 1 units of it", GATHER, None, new(6))
    refused("arguments", "op is 'mean'", GATHER, new(3), new(6), op="mean")
    y = new(6)
    y.flags.writeable = False
    refused("arguments", "output cannot be written to", GATHER, new(3), y)
    with pytest.raises(ArrayError, match=r"p takes 1 input \(input\), and 2 are given"):
        prepare(GATHER, [new(3), new(3)], [new(6)], None, "sum", None)


def test_in_place() -> None:
    y = new(6)
    call(GATHER, y[3:], y)
    call(SUM, y, y)
    call(SCATTER, y, y[3:])
    refused("overlap", "input and output overlap", GATHER, y[:3], y)
    refused("overlap", "input and output overlap", SUM, y[:4], y[2:])
    refused("overlap", "input and output overlap", SCATTER, y, y[1:4])
    call(SUM, y[:2], y[2:4])
    refused("not-in-place", "for calls out of place", shape("allreduce", (2, 2), (2, 2), in_place=False), y, y)
    refused("not-in-place", "for calls in place", shape("allreduce", (2, 2), (2, 2), out_of_place=False), y, new(6))
    call(shape("allreduce", (2, 2), (2, 2), in_place=False), new(0), new(0))


def test_missing_buffers() -> None:
    root = shape("broadcast", (0, 3), (3, 3), rank=0)
    assert list(call(root, None, new(6))[0])[0] is None
    nothing = shape("custom", (0, 1), (0, 1), rank=0)
    assert call(nothing, None, None, count=4)[1].value == 4
    refused("arguments", "rank 0 has no buffer", nothing, None, None)


def test_new_output() -> None:
    assert make_output(GATHER, [new(3)]).shape == (6,)
    x = np.zeros((2, 3), "i4")
    y = make_output(SUM, [x])
    assert y.shape == (2, 3) and y.dtype == x.dtype
    torch = pytest.importorskip("torch")
    z = make_output(GATHER, [torch.zeros(3, dtype=torch.bfloat16)])
    assert z.shape == (6,) and z.dtype == torch.bfloat16
