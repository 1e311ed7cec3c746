"""What is read of arrays, and which are refused."""

from __future__ import annotations

import ctypes
from typing import Any, Dict

import numpy as np
import pytest

from mscclc import ArrayError, _arrays, _dlpack


class Interface:
    """An object with one of the interfaces, as CuPy's and others' arrays have."""

    def __init__(self, name: str, facts: Dict[str, Any]) -> None:
        setattr(self, name, facts)

    def __dlpack_device__(self) -> "tuple[int, int]":
        return 2, 1


class Lent:
    """An array that has DLPack only, as JAX's on the CPU."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.array.__dlpack__(**kwargs)


def refused(array: Any, text: str) -> None:
    with pytest.raises(ArrayError, match=text) as caught:
        _arrays.read(array, "x")
    assert caught.value.code == "arguments"


@pytest.mark.parametrize("name", "float16 float32 float64 int8 uint8 int32 uint32 int64 uint64".split())
def test_numpy(name: str) -> None:
    x = np.zeros((3, 4), name)
    found = _arrays.read(x)
    assert found.address == x.ctypes.data and found.elements == 12 and found.bytes == x.nbytes
    assert found.device is None and found.writeable
    lent = _arrays.read(Lent(x))
    assert lent[:4] == found[:4]


def test_numpy_refused() -> None:
    refused(np.zeros((4, 4))[:, 1], "x is not contiguous")
    refused(np.zeros(4, ">f4"), "big-endian")
    refused(np.zeros(4, bool), "type bool")
    refused(np.zeros(4, "c8"), "complex64")
    refused([1, 2], "x is a list, which has neither")
    refused(Lent(np.zeros((4, 4))[:, 1]), "x is not contiguous")
    x = np.zeros(4)
    x.flags.writeable = False
    assert not _arrays.read(x).writeable


def test_empty_and_single() -> None:
    assert _arrays.read(np.zeros((0, 5))[:, ::2]).elements == 0
    assert _arrays.read(np.zeros((8, 8))[::9, :]).elements == 8
    assert _arrays.read(np.array(1, np.float32)).elements == 1


def test_cuda_interface() -> None:
    facts = {"shape": (2, 3), "typestr": "<f2", "data": (4096, False), "version": 3, "strides": None}
    found = _arrays.read(Interface("__cuda_array_interface__", facts))
    assert found[:5] == (4096, "f16", 6, 1, True)
    facts = {**facts, "data": (4096, True), "strides": (6, 2)}
    assert not _arrays.read(Interface("__cuda_array_interface__", facts)).writeable
    refused(Interface("__cuda_array_interface__", {**facts, "strides": (2, 4)}), "not contiguous")
    refused(Interface("__cuda_array_interface__", {**facts, "mask": 1}), "mask")
    refused(Interface("__cuda_array_interface__", {**facts, "typestr": "<V2"}), "type <V2")


def capsule(tensor: _dlpack._Versioned) -> Any:
    new = ctypes.pythonapi.PyCapsule_New
    new.argtypes, new.restype = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p), ctypes.py_object
    return new(ctypes.addressof(tensor), b"dltensor_versioned", None)


def test_dlpack_versioned() -> None:
    shape = (ctypes.c_int64 * 2)(2, 8)
    lent = _dlpack._Versioned(major=1, flags=1)
    lent.tensor.data, lent.tensor.device_type, lent.tensor.device_id = 4096, 2, 3
    lent.tensor.ndim, lent.tensor.code, lent.tensor.bits, lent.tensor.lanes = 2, 4, 16, 1
    lent.tensor.shape, lent.tensor.byte_offset = shape, 64

    class Array:
        def __dlpack__(self, max_version: Any = None) -> Any:
            return capsule(lent)

    assert _arrays.read(Array())[:5] == (4160, "bf16", 16, 3, False)
    lent.tensor.device_type = 10
    refused(Array(), "kind 10")
    lent.major = 2
    refused(Array(), "version 2 of DLPack")


def test_temporary() -> None:
    """Memory that is gone before the call uses it is refused: of scalars, of copies, and what a mask would hide."""
    with pytest.raises(ArrayError, match="float32"):
        _arrays.read(np.float32(1))
    masked: Any = np.ma
    with pytest.raises(ArrayError, match="MaskedArray"):
        _arrays.read(masked.array([1.0, 2.0], mask=[True, False]))

    class Copying:
        def __init__(self) -> None:
            self.asked: Any = None

        def __dlpack__(self, **how: Any) -> Any:
            self.asked = how
            raise BufferError("it would be a copy")

    array = Copying()
    with pytest.raises(ArrayError, match="it would be a copy"):
        _arrays.read(array)
    assert array.asked == {"max_version": (1, 0), "copy": False}


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    x = torch.zeros(3, 4, dtype=torch.bfloat16)
    assert _arrays.read(x)[:5] == (x.data_ptr(), "bf16", 12, None, True)
    assert _arrays.read(x[1])[:3] == (x.data_ptr() + 8, "bf16", 4)
    refused(x.t(), "not contiguous")
    refused(torch.zeros(3, dtype=torch.bool), "torch.bool")
    refused(torch.zeros(2, 2).to_sparse(), "plain tensor")
    refused(torch.zeros(2, dtype=torch.complex64).conj(), "plain tensor")
    refused(torch.zeros(2, device="meta"), "device meta")
