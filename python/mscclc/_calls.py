"""From the arrays of a call to the arguments of mscclc_run, with every check that needs no other rank."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from typing import Any, List, Optional, Sequence, Tuple

from . import _native
from ._arrays import Array, read
from ._errors import ArrayError

_PART_OF_OUTPUT = ("allgather", "gather")  # in place, the input is the rank's part of the output
_PART_OF_INPUT = ("reducescatter", "scatter")


@dataclass(frozen=True)
class Buffer:
    """A buffer of a program. On rank r it has units[r] * count elements, where count is the call's."""

    name: str
    units: Tuple[int, ...]


@dataclass(frozen=True)
class Shape:
    """What a program takes: its collective, buffers and element types."""

    name: str
    collective: str
    ranks: int
    rank: int
    reduces: bool
    in_place: bool
    out_of_place: bool
    dtypes: Tuple[str, ...]
    inputs: Tuple[Buffer, ...]
    outputs: Tuple[Buffer, ...]
    order: Tuple[int, ...]  # buffer i of mscclc_run is array order[i] of inputs + outputs

    @staticmethod
    def of(info: _native.ProgramInfo, rank: int) -> "Shape":
        """Return the shape of a program that the library describes."""
        buffers = info.buffer[: info.buffers]
        inward = [i for i, b in enumerate(buffers) if b.direction == _native.INPUT]
        outward = [i for i, b in enumerate(buffers) if b.direction != _native.INPUT]
        made = [Buffer(b.name.decode(), tuple(b.units[: info.ranks])) for b in buffers]
        place = {buffer: i for i, buffer in enumerate(inward + outward)}
        return Shape(
            name=info.name.decode(),
            collective=_native.COLLECTIVES[info.collective],
            ranks=info.ranks,
            rank=rank,
            reduces=bool(info.reduces),
            in_place=bool(info.in_place),
            out_of_place=bool(info.out_of_place),
            dtypes=tuple(name for name, number in _native.DTYPES.items() if info.dtypes >> number & 1),
            inputs=tuple(made[i] for i in inward),
            outputs=tuple(made[i] for i in outward),
            order=tuple(place[i] for i in range(len(made))),
        )


# The arguments of mscclc_run after the program and before the stream, as ctypes' objects.
Prepared = Tuple[Any, ctypes.c_size_t, ctypes.c_int, ctypes.c_int]


def prepare(
    shape: Shape, inputs: Sequence[Any], outputs: Sequence[Any], device: Optional[int], op: str, count: Optional[int]
) -> Prepared:
    """Check the arrays of a call and return the arguments of mscclc_run, or raise an ArrayError.

    device is the number of the communicator's GPU, or None for the CPU.
    """
    if op not in _native.REDOPS:
        raise ArrayError.say("arguments", f"op is {op!r}", "known are " + ", ".join(_native.REDOPS))
    arrays = _read_all(shape.inputs, inputs, "input", shape)
    arrays += _read_all(shape.outputs, outputs, "output", shape)
    buffers = shape.inputs + shape.outputs
    present = [(b, a) for b, a in zip(buffers, arrays) if a is not None]
    dtype = _one_type(shape, present)
    for buffer, array in present:
        _check_device(buffer, array, device)
    n = _count(shape, present, count)
    for buffer, output in zip(shape.outputs, arrays[len(shape.inputs) :]):
        if output is not None and not output.writeable:
            raise ArrayError.say("arguments", f"{buffer.name} cannot be written to", "give an array that can be")
    _check_overlap(shape, arrays)
    addresses = [None if array is None else array.address for array in (arrays[i] for i in shape.order)]
    pointers = (ctypes.c_void_p * len(addresses))(*addresses)
    return pointers, ctypes.c_size_t(n), ctypes.c_int(_native.DTYPES[dtype]), ctypes.c_int(_native.REDOPS[op])


def _read_all(buffers: Sequence[Buffer], given: Sequence[Any], kind: str, shape: Shape) -> List[Optional[Array]]:
    if len(given) != len(buffers):
        names = ", ".join(b.name for b in buffers)
        message = f"{shape.name} takes {len(buffers)} {kind} ({names}), and {len(given)} are given"
        raise ArrayError.say("arguments", message)
    arrays: List[Optional[Array]] = []
    for buffer, array in zip(buffers, given):
        units = buffer.units[shape.rank]
        if array is None and units:
            raise ArrayError.say("arguments", f"{buffer.name} is None, and rank {shape.rank} has {units} units of it")
        arrays.append(read(array, buffer.name) if units else None)
    return arrays


def _one_type(shape: Shape, present: "Sequence[tuple[Buffer, Array]]") -> str:
    if not present:
        return shape.dtypes[0]
    first, array = present[0]
    for buffer, other in present:
        if other.dtype != array.dtype:
            message = f"{first.name} has elements of {array.dtype}, and {buffer.name} of {other.dtype}"
            raise ArrayError.say("arguments", message, "give arrays of one type")
    if array.dtype not in shape.dtypes:
        hint = "it takes " + ", ".join(shape.dtypes)
        raise ArrayError.say("unsupported", f"{shape.name} does not take elements of {array.dtype}", hint)
    return array.dtype


def _check_device(buffer: Buffer, array: Array, device: Optional[int]) -> None:
    if array.device == device:
        return

    def text(number: Optional[int]) -> str:
        return "the CPU" if number is None else f"GPU {number}"

    message = f"{buffer.name} lies on {text(array.device)}, and the program runs on {text(device)}"
    raise ArrayError.say("arguments", message, 'load the program with device="cpu" or device="cuda"')


def _count(shape: Shape, present: "Sequence[tuple[Buffer, Array]]", count: Optional[int]) -> int:
    for buffer, array in present:
        units = buffer.units[shape.rank]
        if count is None:
            if array.elements % units:
                message = f"{buffer.name} has {array.elements} elements, which is no multiple of {units} units"
                raise ArrayError.say("counts", message)
            count = array.elements // units
        if array.elements != units * count:
            message = f"{buffer.name} has {array.elements} elements, and {units} units of {count} elements are needed"
            raise ArrayError.say("counts", message)
    if count is None:
        raise ArrayError.say("arguments", f"rank {shape.rank} has no buffer in this call", "give count=")
    return count


def _check_overlap(shape: Shape, arrays: Sequence[Optional[Array]]) -> None:
    n = len(shape.inputs)
    names = [b.name for b in shape.inputs + shape.outputs]
    in_place = False
    for i, array in enumerate(arrays):
        for j in range(max(n, i + 1), len(arrays)):
            other = arrays[j]
            if array is None or other is None or not _overlap(array, other):
                continue
            if i >= n or n != 1 or len(arrays) != 2 or not _is_in_place(shape, array, other):
                hint = "give arrays of their own, or the exact place that a call in place has"
                raise ArrayError.say("overlap", f"{names[i]} and {names[j]} overlap", hint)
            in_place = True
    whole = all(array is not None for array in arrays)
    if in_place and not shape.in_place:
        raise ArrayError.say("not-in-place", f"{shape.name} is for calls out of place", "give an output of its own")
    if whole and not in_place and not shape.out_of_place and any(a is not None and a.elements for a in arrays):
        raise ArrayError.say("not-in-place", f"{shape.name} is for calls in place", "give the input as output")


def _overlap(a: Array, b: Array) -> bool:
    return a.address < b.address + b.bytes and b.address < a.address + a.bytes


def _is_in_place(shape: Shape, array: Array, out: Array) -> bool:
    if shape.collective in _PART_OF_OUTPUT:
        return array.address == out.address + shape.rank * array.bytes
    if shape.collective in _PART_OF_INPUT:
        return out.address == array.address + shape.rank * out.bytes
    return array.address == out.address


def make_output(shape: Shape, inputs: Sequence[Any]) -> Any:
    """Return a new array for the only output, of the first input's library, type and device."""
    if len(shape.outputs) != 1:
        raise ArrayError.say("arguments", f"{shape.name} has {len(shape.outputs)} outputs", "give out=, a tuple")
    units = shape.outputs[0].units[shape.rank]
    given = [(b, x) for b, x in zip(shape.inputs, inputs) if x is not None and b.units[shape.rank]]
    if not units:
        return None
    if not given:
        raise ArrayError.say("arguments", f"rank {shape.rank} has no input that an output could be like", "give out=")
    buffer, like = given[0]
    facts = read(like, buffer.name)
    elements = facts.elements // buffer.units[shape.rank] * units
    size = tuple(like.shape) if elements == facts.elements else (elements,)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(like, torch.Tensor):
        return torch.empty(size, dtype=like.dtype, device=like.device)
    library = sys.modules.get(type(like).__module__.split(".")[0])
    if library is not None and library.__name__ in ("numpy", "cupy"):
        return library.empty(size, dtype=like.dtype)
    hint = "give out=, an array of torch, CuPy or numpy"
    raise ArrayError.say("arguments", f"no output is made for arrays of {type(like).__module__}", hint)
