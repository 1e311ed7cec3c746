"""What the package does with torch, if the process has loaded it: streams, cached checks, and torch.compile."""

from __future__ import annotations

import functools
import itertools
import sys
import weakref
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence, Tuple, cast

from ._errors import ArrayError

if TYPE_CHECKING:
    from ._program import Program

_numbers = itertools.count(1)
_programs: "weakref.WeakValueDictionary[int, Program]" = weakref.WeakValueDictionary()
_op: Any = None
_tensor: Any = None  # torch.Tensor, once torch is imported


def _never() -> bool:
    return False


# torch.compiler.is_dynamo_compiling, once the operator is registered. torch.compile knows that function. It is cheaper
# than is_compiling.
is_compiling: Callable[[], bool] = _never


def register(program: "Program") -> int:
    """Return the number by which graphs of torch.compile name a program, and make torch's operator if there is none."""
    number = next(_numbers)
    _programs[number] = program
    _make_op()
    return number


def _make_op() -> None:
    """Register mscclc::run. It needs torch.library.custom_op, which torch has since 2.4."""
    global _op, _tensor, is_compiling
    torch: Any = sys.modules.get("torch")
    _tensor = getattr(torch, "Tensor", None)
    custom_op = getattr(getattr(torch, "library", None), "custom_op", None)
    if _op is not None or torch is None or custom_op is None:
        return

    def run(number: int, input: Optional[Any], out: Any, op: str) -> None:
        program = _programs.get(number)
        if program is None:
            raise ArrayError.say("arguments", "the program of a compiled call has ended", "keep it while it is used")
        program(out if input is None else input, out=out, op=op)

    # Without an input the call is in place: arguments of an operator must not be one memory.
    schema = "(int number, Tensor? input, Tensor(a!) out, str op) -> ()"
    made = custom_op("mscclc::run", run, mutates_args=("out",), schema=schema)
    made.register_fake(lambda number, input, out, op: None)
    _op, is_compiling = torch.ops.mscclc.run, torch.compiler.is_dynamo_compiling


def call(program: "Program", inputs: Sequence[Any], out: Any, op: str) -> Any:
    """Put a call into the graph that torch.compile traces, and return out."""
    if len(inputs) != 1 or isinstance(out, (tuple, list)):
        raise ArrayError.say("unsupported", "torch.compile keeps calls with one input and one output")
    if out is None:
        units = program.shape.outputs[0].units[program.shape.rank]
        per = program.shape.inputs[0].units[program.shape.rank]
        out = inputs[0].new_empty(inputs[0].shape if units == per else (inputs[0].numel() // per * units,))
    _op(program.number, None if inputs[0] is out else inputs[0], out, op)
    return out


def key_of(inputs: Sequence[Any], out: Any, op: str, count: Optional[int]) -> Optional[Tuple[Any, ...]]:
    """Return all facts that the checks of a call depend on, or None if it is not a plain call on tensors."""
    if _tensor is None or len(inputs) != 1:
        return None
    x = inputs[0]
    if type(x) is not _tensor or type(out) is not _tensor:
        return None
    length = x.numel()
    if length < 2:  # a single element may be contiguous and have a pending negation
        return None
    try:
        return (
            x.data_ptr(), out.data_ptr(), length, out.numel(), x.dtype, out.dtype, x.get_device(), out.get_device(),
            x.is_contiguous(), out.is_contiguous(), op, count,
        )  # fmt: skip
    except RuntimeError:  # a tensor without memory of its own
        return None


def stream_of(device: Optional[int]) -> Callable[[], Optional[int]]:
    """Return a function that returns the current stream of torch, else of CuPy, on a GPU; None on the CPU."""
    torch: Any = sys.modules.get("torch")
    cupy: Any = sys.modules.get("cupy")
    if device is None:
        return lambda: None
    if torch is not None and torch.cuda.is_available():
        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        if raw is not None:
            return cast("Callable[[], int]", functools.partial(raw, device))
        current = torch.cuda.current_stream
        return lambda: cast(int, current(device).cuda_stream)
    if cupy is not None:
        return lambda: cast(int, cupy.cuda.get_current_stream().ptr)
    return lambda: None


def number_of(stream: Any) -> int:
    """Return the cudaStream_t of a stream: a number, or a stream of torch or CuPy."""
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    return int(stream)
