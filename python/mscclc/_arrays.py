"""Arrays of torch, CuPy, JAX, numpy and others: where they lie, and what they hold."""

from __future__ import annotations

import sys
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Tuple

from . import _dlpack, _gpu
from ._errors import ArrayError

BYTES = {
    "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "i8": 1, "u8": 1,
    "i32": 4, "u32": 4, "i64": 8, "u64": 8, "e4m3": 1, "e5m2": 1,
}  # fmt: skip
# The ends of the types' names in torch, numpy and ml_dtypes.
_NAMES = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "int8": "i8", "uint8": "u8", "int32": "i32", "uint32": "u32", "int64": "i64", "uint64": "u64",
    "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2",
}  # fmt: skip
_TYPESTR = {
    "f2": "f16", "f4": "f32", "f8": "f64", "i1": "i8", "u1": "u8",
    "i4": "i32", "u4": "u32", "i8": "i64", "u8": "u64",
}  # fmt: skip


class Array(NamedTuple):
    """An array of contiguous elements. Its memory belongs to the object that it was read from."""

    address: int
    dtype: str  # as in `--dtype` of the command
    elements: int
    device: Optional[int]  # of a GPU, by its number in the process; None: memory of the host
    writeable: bool
    keep: Any = None  # what must live as long as this value

    @property
    def bytes(self) -> int:
        """The length in bytes."""
        return self.elements * BYTES[self.dtype]


def read(array: Any, what: str = "the array") -> Array:
    """Return an array's facts. what names the array in the ArrayError of one that cannot be used."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return _of_torch(torch, array, what)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(array, (numpy.generic, numpy.ma.MaskedArray)):
        # A scalar's interface is that of a temporary copy, and that of a masked array leaves out the mask.
        raise ArrayError.say("arguments", f"{what} is a {type(array).__name__}", "give a plain array")
    if _is_jax(array):
        array.block_until_ready()  # JAX computes on a stream of its own
    if hasattr(array, "__cuda_array_interface__"):
        return _of_interface(array, array.__cuda_array_interface__, True, what)
    if hasattr(array, "__array_interface__"):
        return _of_interface(array, array.__array_interface__, False, what)
    if hasattr(array, "__dlpack__"):
        return _of_dlpack(array, what)
    message = f"{what} is a {type(array).__name__}, which has neither DLPack nor an array interface"
    raise ArrayError.say("arguments", message, "give an array of torch, CuPy, JAX or numpy")


def _of_torch(torch: Any, array: Any, what: str) -> Array:
    if array.layout is not torch.strided or array.is_conj() or array.is_neg():
        raise ArrayError.say("arguments", f"{what} is not a plain tensor", "give a dense one, by resolve_conj()")
    kind = array.device.type
    if kind not in ("cpu", "cuda"):
        raise ArrayError.say("arguments", f"{what} is on the device {array.device}; known are cpu and cuda")
    if not array.is_contiguous():
        raise _not_contiguous(what)
    dtype = _named(str(array.dtype), what)
    return Array(array.data_ptr(), dtype, array.numel(), array.device.index if kind == "cuda" else None, True)


def _of_interface(array: Any, facts: Mapping[str, Any], cuda: bool, what: str) -> Array:
    shape = tuple(facts["shape"])
    if facts.get("data") is None:
        raise ArrayError.say("arguments", f"{what} does not say where its data lies")
    if facts.get("mask") is not None:
        raise ArrayError.say("arguments", f"{what} has a mask", "give an array without one")
    name = getattr(getattr(array, "dtype", None), "name", None)
    typestr = facts["typestr"]
    if typestr[0] == ">":
        raise ArrayError.say("arguments", f"{what} is big-endian", "give one in the order of this machine")
    dtype = _named(name, what) if name else _TYPESTR.get(typestr[1:]) or _named(typestr, what)
    size, strides = BYTES[dtype], facts.get("strides")
    if strides is not None and not _is_contiguous(shape, [s / size for s in strides]):
        raise _not_contiguous(what)
    address, read_only = facts["data"]
    device = _device_of(array, address or 0) if cuda else None
    return Array(address or 0, dtype, _product(shape), device, not read_only and not _is_jax(array))


def _of_dlpack(array: Any, what: str) -> Array:
    try:
        facts = _dlpack.read(array)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ArrayError.say("arguments", f"{what} cannot be read by DLPack: {error}") from None
    if facts.dtype is None:
        raise _unknown_type(str(getattr(array, "dtype", "unknown")), what)
    if facts.device_type not in _dlpack.CPU_DEVICES + _dlpack.CUDA_DEVICES:
        message = f"{what} is on a device of DLPack's kind {facts.device_type}; known are CPU and CUDA"
        raise ArrayError.say("arguments", message)
    if facts.strides is not None and not _is_contiguous(facts.shape, facts.strides):
        raise _not_contiguous(what)
    device = facts.device_id if facts.device_type in _dlpack.CUDA_DEVICES else None
    writeable = not facts.read_only and not _is_jax(array)
    return Array(facts.address, facts.dtype, _product(facts.shape), device, writeable, facts.capsule)


def _device_of(array: Any, address: int) -> int:
    """Return the number of an array's GPU. The CUDA array interface itself does not say it."""
    if hasattr(array, "__dlpack_device__"):
        return int(array.__dlpack_device__()[1])
    number = getattr(getattr(array, "device", None), "id", None)
    return _gpu.of_address(address) if number is None else int(number)


def _is_jax(array: Any) -> bool:
    """Report whether an array is JAX's, which nobody may write to."""
    return type(array).__module__.split(".")[0] in ("jax", "jaxlib")


def _product(shape: Sequence[int]) -> int:
    n = 1
    for length in shape:
        n *= length
    return n


def _is_contiguous(shape: Sequence[int], strides: Sequence[float]) -> bool:
    """Report whether elements follow each other without gaps. Strides are in elements."""
    expected = 1
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length == 0:
            return True
        if length > 1 and stride != expected:
            return False
        expected *= length
    return True


def _named(name: str, what: str) -> str:
    dtype = _NAMES.get(name.rsplit(".", 1)[-1])
    if dtype is None:
        raise _unknown_type(name, what)
    return dtype


def _unknown_type(name: str, what: str) -> ArrayError:
    hint = "known are " + ", ".join(_NAMES)
    return ArrayError.say("arguments", f"{what} has elements of type {name}", hint)


def _not_contiguous(what: str) -> ArrayError:
    return ArrayError.say("arguments", f"{what} is not contiguous", "give a contiguous copy of it")
