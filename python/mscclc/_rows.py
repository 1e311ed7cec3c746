"""AllReduces whose rows are finished on their way to the output: sums with an epilogue."""

from __future__ import annotations

import ctypes
import math
import re
from typing import TYPE_CHECKING, Any, List, NamedTuple, Optional, Sequence

from . import _native, _torch
from ._arrays import Array, read
from ._errors import ArrayError, LibraryError

if TYPE_CHECKING:
    from ._program import Communicator

# What the stages read and write: a vector of a row's length, rows, or the scales of rows. docs/language.md has all.
_OPERANDS = {
    "scale": ("", "", ""),
    "bias": ("vector", "", ""),
    "residual": ("rows", "", "rows"),
    "rms_norm": ("vector", "", ""),
    "layer_norm": ("vector", "vector", ""),
    "activation": ("", "", ""),
    "quantise": ("", "", "scales"),
    "cast": ("", "", ""),
}


class Stage(NamedTuple):
    """What a stage of an epilogue has in a call: a number and arrays, as mscclc_stage of mscclc.h has them."""

    value: float = 0.0
    reads: Any = None
    wants: Any = None
    writes: Any = None


class _Kind(NamedTuple):
    name: str
    argument: str
    block: int


# A stage and the comma after it, with spaces as one likes. The commands read lists as this does (ir/epilogue).
_STAGE = re.compile(
    r"(\w+) *(?:\( *(?:(\w+) *(?:, *block *= *([1-9][0-9]*) *)?,? *)?\) *)?(?:, *|$)".replace(" *", r"[ \t\r\n]*"),
    re.ASCII,
)


def kinds(stages: str) -> List[_Kind]:
    """Return the stages of a text such as "residual, rms_norm(eps), quantise(e4m3, block = 128)"."""
    list_of: List[_Kind] = []
    text = stages.strip(" \t\r\n")
    while text:
        found = _STAGE.match(text)
        if not found:
            hint = 'write as in "residual, rms_norm(eps)"'
            raise ArrayError.say("arguments", f"{text[:40]!r} is no list of stages", hint)
        name, argument, block = found.groups()
        if name not in _OPERANDS:
            raise ArrayError.say("arguments", f"there is no stage {name}", "known are " + ", ".join(_OPERANDS))
        list_of.append(_Kind(name, argument or "", int(block or 0)))
        text = text[found.end() :]
    return list_of


class Rows:
    """A loaded program that sums rows and finishes them. Calling it is collective, as with a Program."""

    def __init__(self, comm: "Communicator", handle: ctypes.c_void_p, stages: str) -> None:
        self.comm, self.stages, self._handle = comm, stages, handle
        self._kinds, self._text = kinds(stages), stages.encode()
        self._stream = _torch.stream_of(comm.device)

    def __call__(self, x: Any, stages: Sequence[Stage], *, out: Any, stream: Any = None) -> Any:
        """Sum x over all ranks, finish the rows of the sum, and return out.

        x is an array whose last dimension is a row. stages has a Stage for each one of self.stages. out has as many
        elements as x, of the type that the stages end with.
        """
        length = int(x.shape[-1]) if len(x.shape) else 1
        sums = read(x, "x")
        if length < 1:
            raise ArrayError.say("counts", "x has rows without elements")
        rows = sums.elements // length
        epilogue = self._prepare(sums, rows, length, stages)
        made = self._checked(out, "out", sums.elements, self._out_type(sums.dtype))
        if stream is not None and self.comm.device is None:
            raise ArrayError.say("arguments", "a call on the CPU takes no stream")
        if self.comm._handle is None:
            raise LibraryError.say("bad-use", "rows are finished after their communicator was closed")
        number = self._stream() if stream is None else _torch.number_of(stream)
        dtype = _native.DTYPES[sums.dtype]
        arguments = (sums.address, made.address, rows, length, dtype, ctypes.byref(epilogue), number)
        _native.call("mscclc_all_reduce_rows", self._handle, *arguments)
        return out

    def _prepare(self, x: Array, rows: int, length: int, stages: Sequence[Stage]) -> _native.Epilogue:
        if len(stages) != len(self._kinds):
            raise ArrayError.say("arguments", f"{self.stages} takes {len(self._kinds)} stages, not {len(stages)}")
        if x.device != self.comm.device:
            raise ArrayError.say("arguments", "x lies on another device than the communicator's")
        epilogue = _native.Epilogue(size=ctypes.sizeof(_native.Epilogue), stages=self._text)
        for i, (kind, stage) in enumerate(zip(self._kinds, stages)):
            to = epilogue.stage[i]
            to.value = stage.value
            for field, what in zip(("reads", "wants", "writes"), _OPERANDS[kind.name]):
                if not what:
                    continue
                scales = rows * scales_of(kind.block, length)
                elements = {"vector": length, "rows": rows * length, "scales": scales}[what]
                dtype = "f32" if what == "scales" else x.dtype
                array = self._checked(getattr(stage, field), f"{field} of {kind.name}", elements, dtype)
                setattr(to, field, array.address)
        return epilogue

    def _checked(self, array: Any, what: str, elements: int, dtype: str) -> Array:
        if array is None:
            raise ArrayError.say("arguments", f"{what} is missing")
        found = read(array, what)
        if found.dtype != dtype and not (dtype == "e4m3" and found.dtype == "u8"):  # of a library without fp8
            raise ArrayError.say("arguments", f"{what} has elements of {found.dtype}, and {dtype} is needed")
        if found.elements != elements:
            raise ArrayError.say("counts", f"{what} has {found.elements} elements, and {elements} are needed")
        if found.device != self.comm.device:
            raise ArrayError.say("arguments", f"{what} lies on another device than the communicator's")
        if not found.writeable and (what == "out" or what.startswith("writes")):
            raise ArrayError.say("arguments", f"{what} cannot be written to", "give an array that can be")
        return found

    def _out_type(self, dtype: str) -> str:
        last: Optional[_Kind] = self._kinds[-1] if self._kinds else None
        return last.argument if last is not None and last.name in ("quantise", "cast") else dtype


def scales_of(block: int, length: int) -> int:
    """Return how many scales a row has."""
    return math.ceil(length / block) if block else 1
