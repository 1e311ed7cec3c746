"""The tensor inside a DLPack capsule, read without copying it."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional, Tuple

CPU_DEVICES = (1, 3)  # memory of the host, pinned memory
CUDA_DEVICES = (2, 13)  # memory of a GPU, managed memory

# (code, bits) of DLDataType, and the name that the command has for it.
DTYPES = {
    (0, 8): "i8", (0, 32): "i32", (0, 64): "i64",
    (1, 8): "u8", (1, 32): "u32", (1, 64): "u64",
    (2, 16): "f16", (2, 32): "f32", (2, 64): "f64",
    (4, 16): "bf16", (10, 8): "e4m3", (12, 8): "e5m2",
}  # fmt: skip


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


class Facts(NamedTuple):
    """What a capsule says of its tensor. strides are in elements; None means contiguous."""

    address: int
    dtype: Optional[str]
    shape: Tuple[int, ...]
    strides: Optional[Tuple[int, ...]]
    device_type: int
    device_id: int
    read_only: bool
    capsule: Any  # the tensor lives as long as its capsule


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes, _is_valid.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_int


def read(array: Any) -> Facts:
    """Return the facts of an array that has __dlpack__. Exceptions of __dlpack__ pass."""
    try:
        capsule = array.__dlpack__(max_version=(1, 0), copy=False)
    except TypeError:  # an array library from before version 1.0, which makes no copies
        capsule = array.__dlpack__()
    read_only = False
    if _is_valid(capsule, b"dltensor_versioned"):
        whole = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if whole.major > 1:
            raise BufferError(f"version {whole.major} of DLPack is not known")
        if whole.flags & 2:
            raise BufferError("it gives a copy")
        read_only, tensor = bool(whole.flags & 1), whole.tensor
    else:
        tensor = _Tensor.from_address(_pointer(capsule, b"dltensor"))
    n = tensor.ndim
    return Facts(
        address=(tensor.data or 0) + tensor.byte_offset,
        dtype=DTYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None,
        shape=tuple(tensor.shape[:n]),
        strides=tuple(tensor.strides[:n]) if tensor.strides else None,
        device_type=tensor.device_type,
        device_id=tensor.device_id,
        read_only=read_only,
        capsule=capsule,
    )
