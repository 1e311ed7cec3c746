"""AllReduce, residual and RMSNorm of torch's tensors in one launch, or by torch where the library cannot run that."""

from __future__ import annotations

import sys
import warnings
from typing import Any, Dict, List, Optional, Tuple

from . import _native
from ._errors import ArrayError, Error, LibraryError
from ._groups import Group, group_of
from ._program import Communicator
from ._rows import Rows, Stage

_STAGES = "residual, rms_norm(eps)"
_LARGEST = 448.0  # of e4m3
_DTYPES = ("torch.float16", "torch.bfloat16", "torch.float32")


class _Home:
    """What a group has: its communicator, and programs by their stages; or why torch runs its calls."""

    def __init__(self) -> None:
        self.comm: Optional[Communicator] = None
        self.rows: Dict[str, Rows] = {}
        self.why: Dict[str, str] = {}
        self.told: "set[str]" = set()

    def fall_back(self, why: str) -> None:
        """Say once that torch runs such calls."""
        if why not in self.told:
            self.told.add(why)
            warnings.warn(f"all_reduce_rms_norm runs by torch: {why}", RuntimeWarning, stacklevel=4)


_homes: Dict[Any, _Home] = {}


def all_reduce_rms_norm(
    x: Any,
    residual: Any,
    weight: Any,
    eps: float,
    out: Any = None,
    quant: Optional[str] = None,
    *,
    group: Any = None,
    residual_out: Any = None,
) -> Tuple[Any, ...]:
    """Sum x over all ranks, add the residual, and return the RMSNorm of the rows, and the updated residual.

    With quant="e4m3" it returns (q, scales, updated residual): q times scales is the norm, with a scale for each row.
    x and residual have the same shape, whose last dimension is a row; weight has a row's length. All ranks of group
    call it: a group of torch.distributed, by default all ranks, or a Communicator. out and residual_out are memory for
    the norm and the updated residual, which may be the residual itself. The library runs the call in one launch, also
    in CUDA graphs. Where it cannot, torch runs it, and a RuntimeWarning says why, once. docs/serving.md has more.
    """
    _check(x, residual, weight, quant)
    home = _homes.setdefault(_key(group), _Home())
    rows, why = _rows_of(home, x, group, _STAGES + (f", quantise({quant})" if quant else ""))
    why = why or _unfit(x, residual, weight)
    torch = _torch()
    kind = getattr(torch, "float8_e4m3fn", torch.uint8) if quant else x.dtype
    result = _made(out, x, kind, "out", (x, residual))
    updated = _made(residual_out, x, residual.dtype, "residual_out", (x,))
    scales = torch.empty((*x.shape[:-1], 1), dtype=torch.float32, device=x.device) if quant else None
    if rows is not None and not why:
        try:
            _launch(rows, x, residual, weight, eps, result, scales, updated)
            return _copied(out, result), *((scales,) if quant else ()), _copied(residual_out, updated)
        except LibraryError as error:
            if error.code != "unsupported":  # which all ranks get, and before any launch
                raise
            why = error.message
    if isinstance(group, Communicator):
        raise LibraryError.say("unsupported", why, "with a group of torch.distributed, torch runs such calls")
    home.fall_back(why)
    _by_torch(x, residual, weight, eps, group, result, scales, updated)
    return _copied(out, result), *((scales,) if quant else ()), _copied(residual_out, updated)


def _torch() -> Any:
    torch = sys.modules.get("torch")
    if torch is None:
        raise ArrayError.say("arguments", "all_reduce_rms_norm takes tensors of torch", "import torch")
    return torch


def _check(x: Any, residual: Any, weight: Any, quant: Optional[str]) -> None:
    torch = _torch()
    if not all(isinstance(t, torch.Tensor) for t in (x, residual, weight)):
        raise ArrayError.say("arguments", "x, residual and weight are tensors of torch")
    if quant not in (None, "e4m3"):
        raise ArrayError.say("arguments", f"quant is {quant!r}", 'it is None or "e4m3"')
    if x.dim() < 1 or x.shape != residual.shape or tuple(weight.shape) != (x.shape[-1],):
        shapes = f"{tuple(x.shape)}, {tuple(residual.shape)} and {tuple(weight.shape)}"
        hint = "residual has the shape of x, and weight the length of a row"
        raise ArrayError.say("counts", f"x, residual and weight have the shapes {shapes}", hint)
    if not (x.device == residual.device == weight.device):
        raise ArrayError.say("arguments", "x, residual and weight lie on different devices")


def _unfit(x: Any, residual: Any, weight: Any) -> str:
    """Return why the library cannot run a call of such types. It is the same on all ranks."""
    if str(x.dtype) not in _DTYPES:
        return f"x has elements of {x.dtype}, and rows are finished for " + ", ".join(_DTYPES)
    if residual.dtype != x.dtype or weight.dtype != x.dtype:
        return f"x, residual and weight have the types {x.dtype}, {residual.dtype} and {weight.dtype}"
    return ""


def _rows_of(home: _Home, x: Any, group: Any, stages: str) -> "Tuple[Optional[Rows], str]":
    """Return the programs of a group, or why there are none. The first call of a group and of stages is collective."""
    if stages not in home.rows and stages not in home.why:
        if x.device.type == "cuda" and _torch().cuda.is_current_stream_capturing():
            return None, "the first call was captured by a graph: call it once before"
        home.why[stages] = _open(home, x, group, stages)
    return home.rows.get(stages), home.why.get(stages, "")


def _open(home: _Home, x: Any, given: Any, stages: str) -> str:
    """Load the programs on all ranks. All of them get the same result: "", or why there are none."""
    if isinstance(given, Communicator):
        group, home.comm = given._group, given
    else:
        group = group_of(given, None, None, None)
    why = _together(group, _missing(x))
    if why:
        return why
    comm, rows, why = home.comm, None, ""
    try:
        if comm is None:
            comm = Communicator(group, device=f"cuda:{x.device.index}" if x.device.type == "cuda" else "cpu")
        rows = comm.load_rows(stages)
    except Error as error:
        why = str(error)
    why = _together(group, why)
    if why or rows is None:
        if comm is not None and comm is not home.comm:
            comm.close()
        return why
    home.comm, home.rows[stages] = comm, rows
    return ""


def _missing(x: Any) -> str:
    """Return what this rank lacks, or ""."""
    if x.device.type not in ("cuda", "cpu"):
        return f"tensors lie on the device {x.device}"
    try:
        _native.library()
    except Error as error:
        return error.message
    return ""


def _machine() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return "unknown"


def _together(group: Group, why: str) -> str:
    """Have all ranks hear why one of them has no programs. They must be on one machine."""
    parts: List[List[str]] = [part.decode().split("\n", 1) for part in group.exchange(f"{_machine()}\n{why}".encode())]
    if not 2 <= len(parts) <= _native.MAX_RANKS:
        return f"the group has {len(parts)} ranks, and programs have 2 to {_native.MAX_RANKS}"
    for rank, part in enumerate(parts):
        if part[0] != parts[0][0]:
            return f"ranks 0 and {rank} are on different machines"
        if part[1]:
            return f"rank {rank}: {part[1]}"
    return ""


def _key(group: Any) -> Any:
    """Return by what a group is known: torch's default group is another one after it was made anew."""
    dist = _torch().distributed
    if group is None and dist.is_available() and dist.is_initialized():
        return dist.distributed_c10d._get_default_group()
    return group


def _made(given: Any, x: Any, dtype: Any, what: str, inputs: Tuple[Any, ...]) -> Any:
    """Return contiguous memory for a result, apart from inputs: what is given, if it is that."""
    torch = _torch()
    if given is None:
        return torch.empty(x.shape, dtype=dtype, device=x.device)
    if given.shape != x.shape or given.dtype != dtype or given.device != x.device:
        message = f"{what} is of {given.dtype} and {tuple(given.shape)}, and {dtype} and {tuple(x.shape)} are needed"
        raise ArrayError.say("arguments", message)
    if not given.is_contiguous() or given.data_ptr() in [t.data_ptr() for t in inputs]:
        return torch.empty(x.shape, dtype=dtype, device=x.device)
    return given


def _copied(given: Any, made: Any) -> Any:
    """Return the memory that the caller gave, with the result."""
    if given is None or given is made:
        return made
    given.copy_(made)
    return given


def _launch(rows: Rows, x: Any, residual: Any, weight: Any, eps: float, out: Any, scales: Any, updated: Any) -> None:
    x, residual, weight = x.contiguous(), residual.contiguous(), weight.contiguous()
    stages = [Stage(reads=residual, writes=updated), Stage(value=eps, reads=weight)]
    if scales is not None:
        stages.append(Stage(writes=scales))
    rows(x.detach(), stages, out=out)


def _by_torch(
    x: Any, residual: Any, weight: Any, eps: float, group: Any, out: Any, scales: Any, updated: Any
) -> None:
    """Do what the programs do: sum, add, and take the norm in f32. Each result is rounded once, but for the sum."""
    torch = _torch()
    with torch.no_grad():
        total = x.clone(memory_format=torch.contiguous_format)
        torch.distributed.all_reduce(total, group=group)
        sums = total.float() + residual.float()
        norm = sums * torch.rsqrt(sums.pow(2).mean(-1, keepdim=True) + eps) * weight.float()
        updated.copy_(sums)
        if scales is None:
            out.copy_(norm)
            return
        largest = norm.abs().amax(-1, keepdim=True)
        scales.copy_(torch.where(largest == 0, torch.ones_like(largest), largest / _LARGEST))
        if out.dtype == torch.uint8:
            raise ArrayError.say("unsupported", f"torch {torch.__version__} has no float8_e4m3fn", "take 2.1 or later")
        out.copy_((norm / scales).clamp(-_LARGEST, _LARGEST).to(out.dtype))
