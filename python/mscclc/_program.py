"""Communicators, and the programs that run on them."""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any, Dict, Optional, Sequence, Tuple, Type, TypeVar, Union

from . import _bundle, _gpu, _native, _torch
from ._calls import Shape, make_output, prepare
from ._command import Param
from ._errors import ArrayError, CommandError, LibraryError
from ._groups import LATE, Group, TcpGroup, group_of
from ._rows import Rows

File = Union[str, "os.PathLike[str]"]
C = TypeVar("C", bound="Communicator")
_CACHED = 256  # calls whose checks are remembered


class Communicator:
    """Ranks that run programs together, on a GPU each, or on the CPU. Making and loading are collective."""

    def __init__(
        self,
        group: Any = None,
        *,
        ranks: Optional[int] = None,
        rank: Optional[int] = None,
        store: Optional[str] = None,
        device: Optional[str] = None,
    ) -> None:
        """Join the ranks of a group. group_of says what group, ranks, rank and store mean.

        device is "cpu", "cuda:N", or "cuda": torch's or CuPy's current GPU. Without it, it is a GPU if one of these
        libraries has one.
        """
        self._handle: Optional[ctypes.c_void_p] = None
        self._group = group_of(group, ranks, rank, store)
        self._owns_group = isinstance(self._group, TcpGroup) and self._group is not group
        try:
            self.device: Optional[int] = _gpu.number_of(device)
            self._group.together(self._begin)
            self._handle = self._join()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        _native.library()
        if self.device is not None:
            _gpu.use(self.device)

    def _join(self) -> ctypes.c_void_p:
        kind = _native.CPU if self.device is None else _native.GPU
        errors: "list[BaseException]" = []
        exchange = _native.exchange_of(self._group.exchange, errors)
        try:
            found, ranks, rank = _native.Handle(), self._group.ranks, self._group.rank
            _native.call("mscclc_comm_by_exchange", ctypes.byref(found), exchange, None, ranks, rank, kind)
            return found
        except LibraryError as error:
            raise error from (errors[0] if errors else None)

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return self._group.ranks

    @property
    def rank(self) -> int:
        """The number of this rank, from 0."""
        return self._group.rank

    @property
    def handle(self) -> ctypes.c_void_p:
        """The mscclc_comm. After close it is an error."""
        if self._handle is None:
            raise LibraryError.say("bad-use", "the communicator is closed")
        return self._handle

    def load(self, file: File, *, options: Sequence[str] = (), **params: Param) -> "Program":
        """Load a program on all ranks. file is an algorithm, a program file, a catalog name, or a bundle.

        Rank 0 compiles and proves the program once, and hands the bundle to the others. Ranks that load different
        files or parameters all get a CommandError that names the difference.
        """
        for name in ("group", "ranks", "rank", "store", "device"):
            if name in params:
                raise CommandError.say("usage", f"{name} is that of the communicator, and no parameter of a program")
        if isinstance(options, str):
            options = [options]
        if self._handle is None:
            raise LibraryError.say("bad-use", "the communicator is closed")
        self._group.patience = LATE
        data, name = _bundle.agree(self._group, os.fspath(file), _gpu.name_of(self.device), options, params)
        return Program(self, _native.handle("mscclc_find", self._load(data), name.encode()))

    def load_rows(self, stages: str, *, options: Sequence[str] = ()) -> Rows:
        """Load programs that sum rows and finish them, on all ranks. stages is as in "residual, rms_norm(eps)"."""
        if self._handle is None:
            raise LibraryError.say("bad-use", "the communicator is closed")
        self._group.patience = LATE
        data = _bundle.agree_rows(self._group, _gpu.name_of(self.device), stages, options)
        return Rows(self, self._load(data), stages)

    def _load(self, data: bytes) -> ctypes.c_void_p:
        """Load a bundle, and return the mscclc_programs."""
        with _bundle.as_file(data) as path:
            bundle = _native.handle("mscclc_open", os.fsencode(path))
            try:
                return _native.handle("mscclc_load", self.handle, bundle)
            finally:
                _native.call("mscclc_close", bundle)

    def check(self) -> None:
        """Raise a LibraryError if the communicator has failed: a rank has ended, or a wait took too long."""
        state = ctypes.c_int()
        _native.call("mscclc_error", self.handle, ctypes.byref(state))
        if state.value:
            _native.fail(state.value)

    def abort(self) -> None:
        """Have all launches of this rank end soon. Other ranks get an error. Any thread may call this."""
        _native.call("mscclc_abort", self.handle)

    def close(self) -> None:
        """Wait for this rank's launches, and free all that belongs to the communicator."""
        found, self._handle = self._handle, None
        if self._owns_group:
            self._group.close()
        if found is not None:
            _native.call("mscclc_destroy", found)

    def __enter__(self: C) -> C:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], *_: Any) -> None:
        if kind is not None and self._handle is not None:
            self.abort()
        self.close()


class Program:
    """A loaded program. Calling it is collective: all ranks call it, with equal counts and types."""

    def __init__(self, comm: Communicator, handle: ctypes.c_void_p, owns: bool = False) -> None:
        self.comm, self._owns = comm, owns
        self.shape = Shape.of(_native.describe(handle), comm.rank)
        self._handle = handle
        self._run = _native.fast_run()
        self._ready: Dict[Tuple[Any, ...], "functools.partial[int]"] = {}
        self._stream = _torch.stream_of(comm.device)
        self.number = _torch.register(self)

    @property
    def name(self) -> str:
        """The name of the algorithm or the file."""
        return self.shape.name

    def __call__(
        self, *inputs: Any, out: Any = None, stream: Any = None, op: str = "sum", count: Optional[int] = None
    ) -> Any:
        """Run the program on the arrays of this rank, and return out.

        inputs are arrays in the order of shape.inputs, and out is one array, or a tuple of them. Without out, a new
        array is made. A buffer that this rank lacks is None. On a GPU the call returns when the launch is queued on
        stream: a number, or a stream of torch or CuPy; else the current stream of torch or CuPy. op is the reduction.
        """
        if _torch.is_compiling():
            return _torch.call(self, inputs, out, op)
        key = _torch.key_of(inputs, out, op, count)
        ready = self._ready.get(key) if key is not None else None
        if ready is None:
            if out is None:
                out = make_output(self.shape, inputs)
            outputs = tuple(out) if isinstance(out, (tuple, list)) else (out,)
            prepared = prepare(self.shape, inputs, outputs, self.comm.device, op, count)
            ready = functools.partial(self._run, self._handle, *prepared)
            if key is not None:
                if len(self._ready) >= _CACHED:
                    self._ready.clear()
                self._ready[key] = ready
        if stream is not None and self.comm.device is None:
            raise ArrayError.say("arguments", "a call on the CPU takes no stream")
        if self.comm._handle is None:
            raise LibraryError.say("bad-use", f"{self.name} is called after its communicator was closed")
        result = ready(ctypes.c_void_p(self._stream() if stream is None else _torch.number_of(stream)))
        if result:
            _native.fail(result)
        return out

    def check(self) -> None:
        """Raise a LibraryError if the communicator has failed."""
        self.comm.check()

    def abort(self) -> None:
        """Have all launches of this rank end soon. Other ranks get an error."""
        self.comm.abort()

    def close(self) -> None:
        """Close the communicator if `mscclc.load` made it for this program."""
        if self._owns:
            self.comm.close()

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], *rest: Any) -> None:
        if self._owns:
            self.comm.__exit__(kind, *rest)


def load(
    file: File,
    *,
    group: Any = None,
    ranks: Optional[int] = None,
    rank: Optional[int] = None,
    store: Optional[str] = None,
    device: Optional[str] = None,
    options: Sequence[str] = (),
    **params: Param,
) -> Program:
    """Compile, prove and load a program on all ranks of a group. All ranks call this.

    group is a group of torch.distributed, a communicator of mpi4py, or a Communicator, which serves several programs.
    Without torch and MPI, give ranks, rank and store: HOST:PORT, at which rank 0 listens. params are parameters of the
    algorithm, and options more flags of `mscclc bundle`.
    """
    if isinstance(group, Communicator):
        return group.load(file, options=options, **params)
    comm = Communicator(group, ranks=ranks, rank=rank, store=store, device=device)
    try:
        program = comm.load(file, options=options, **params)
    except BaseException:
        comm.close()
        raise
    program._owns = True
    return program
