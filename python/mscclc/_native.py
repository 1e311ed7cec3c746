"""The library libmscclc.so by ctypes. mscclc.h documents each function."""

from __future__ import annotations

import ctypes
import os
import re
import threading
from pathlib import Path
from typing import Any, Callable, Dict, NoReturn, Optional, Tuple

from ._command import FILES
from ._errors import LibraryError, Problem

ABI = 1
MAX_RANKS, MAX_BUFFERS, MAX_STAGES = 16, 8, 8
GPU, CPU = 0, 1
INPUT, OUTPUT = 1, 2

DTYPES = {
    name: number
    for number, name in enumerate("f16 bf16 f32 f64 i8 u8 i32 u32 i64 u64 e4m3 e5m2".split())
}
REDOPS = {"sum": 0, "prod": 1, "min": 2, "max": 3, "avg": 4}
COLLECTIVES = (
    "allreduce allgather reducescatter alltoall broadcast reduce gather scatter sendrecv custom".split()
)
_RESULTS = (
    "ok bad-argument bad-use system device bad-bundle unsupported mismatch timed-out remote aborted forked".split()
)

Handle = ctypes.c_void_p
Exchange = ctypes.CFUNCTYPE(ctypes.c_int, Handle, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Buffer(ctypes.Structure):
    """mscclc_buffer."""

    _fields_ = [
        ("name", ctypes.c_char * 32),
        ("direction", ctypes.c_int32),
        ("units", ctypes.c_uint32 * MAX_RANKS),
    ]


class ProgramInfo(ctypes.Structure):
    """mscclc_program_info."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("name", ctypes.c_char * 64),
        ("ranks", ctypes.c_int32),
        ("collective", ctypes.c_int32),
        ("root", ctypes.c_int32),
        ("reduces", ctypes.c_int32),
        ("in_place", ctypes.c_int32),
        ("out_of_place", ctypes.c_int32),
        ("dtypes", ctypes.c_uint32),
        ("buffers", ctypes.c_int32),
        ("buffer", Buffer * MAX_BUFFERS),
    ]


class Stage(ctypes.Structure):
    """mscclc_stage."""

    _fields_ = [
        ("value", ctypes.c_double),
        ("reads", ctypes.c_void_p),
        ("wants", ctypes.c_void_p),
        ("writes", ctypes.c_void_p),
    ]


class Epilogue(ctypes.Structure):
    """mscclc_epilogue."""

    _fields_ = [("size", ctypes.c_uint32), ("stages", ctypes.c_char_p), ("stage", Stage * MAX_STAGES)]


class UniqueId(ctypes.Structure):
    """mscclc_unique_id."""

    _fields_ = [("bytes", ctypes.c_ubyte * 128)]


_P, _int = ctypes.POINTER, ctypes.c_int
_SIGNATURES: Dict[str, Tuple[Any, ...]] = {
    "mscclc_open": (ctypes.c_char_p, _P(Handle)),
    "mscclc_close": (Handle,),
    "mscclc_bundle_count": (Handle, _P(_int)),
    "mscclc_bundle_program": (Handle, _int, _P(ProgramInfo)),
    "mscclc_new_id": (_P(UniqueId),),
    "mscclc_comm_by_id": (_P(Handle), _P(UniqueId), _int, _int, _int),
    "mscclc_comm_by_exchange": (_P(Handle), Exchange, Handle, _int, _int, _int),
    "mscclc_comm_ranks": (Handle, _P(_int), _P(_int)),
    "mscclc_error": (Handle, _P(_int)),
    "mscclc_abort": (Handle,),
    "mscclc_destroy": (Handle,),
    "mscclc_load": (Handle, Handle, _P(Handle)),
    "mscclc_find": (Handle, ctypes.c_char_p, _P(Handle)),
    "mscclc_program_describe": (Handle, _P(ProgramInfo)),
    "mscclc_run": (Handle, _P(Handle), ctypes.c_size_t, _int, _int, Handle),
    "mscclc_all_reduce_rows": (
        Handle, Handle, Handle, ctypes.c_size_t, ctypes.c_size_t, _int, _P(Epilogue), Handle,
    ),
}

_lock = threading.Lock()
_loaded: Optional[ctypes.CDLL] = None


def path() -> str:
    """Return the path of the library: MSCCLC_LIBRARY if it is set, else the one of the wheel."""
    named = os.environ.get("MSCCLC_LIBRARY")
    file = Path(named) if named else FILES / "lib" / "libmscclc.so"
    if not file.exists():
        hint = "install the wheel, or run `mscclc library -o FOLDER` and set MSCCLC_LIBRARY=FOLDER/libmscclc.so"
        raise LibraryError.say("unavailable", f"the library {file} does not exist", hint)
    return str(file)


def library() -> ctypes.CDLL:
    """Return the library, loaded once, with the types of its functions."""
    global _loaded
    with _lock:
        if _loaded is None:
            _loaded = _load(path())
        return _loaded


def _load(file: str) -> ctypes.CDLL:
    try:
        lib = ctypes.CDLL(file)
    except OSError as error:
        raise LibraryError.say("unavailable", f"{file} cannot be loaded: {error}") from None
    if lib.mscclc_abi() != ABI:
        message = f"{file} has version {lib.mscclc_abi()} of the C interface, and this package needs {ABI}"
        raise LibraryError.say("unavailable", message, "take the library of the same wheel")
    for name, arguments in _SIGNATURES.items():
        function = getattr(lib, name)
        function.argtypes, function.restype = arguments, _int
    for name in ("mscclc_version", "mscclc_last_error"):
        getattr(lib, name).restype = ctypes.c_char_p
    lib.mscclc_result_text.argtypes, lib.mscclc_result_text.restype = (_int,), ctypes.c_char_p
    return lib


def fast_run() -> Any:
    """Return mscclc_run without the conversion of arguments. All of them are objects of ctypes."""
    run = library()["mscclc_run"]  # a new object each time
    run.restype = _int
    return run


def call(name: str, *arguments: Any) -> None:
    """Call a function of the library. A result that is not OK is a LibraryError."""
    result = getattr(library(), name)(*arguments)
    if result:
        fail(result)


def fail(result: int) -> NoReturn:
    """Raise the LibraryError of a result, with the text of the calling thread's last error."""
    lib = library()
    text = (lib.mscclc_last_error() or lib.mscclc_result_text(result) or b"").decode(errors="replace")
    position = re.search(r"[^\s:()]*[A-Za-z_][^\s:()]*:\d+(:\d+)?", text)  # and no address with a port
    code = _RESULTS[result] if 0 <= result < len(_RESULTS) else "internal"
    raise LibraryError([Problem(code, text, position.group(0) if position else None)])


def handle(name: str, *arguments: Any) -> ctypes.c_void_p:
    """Call a function whose last argument returns a handle, and return it."""
    out = Handle()
    call(name, *arguments, ctypes.byref(out))
    return out


def describe(program: ctypes.c_void_p) -> ProgramInfo:
    """Return what the library knows of a program."""
    info = ProgramInfo(size=ctypes.sizeof(ProgramInfo))
    call("mscclc_program_describe", program, ctypes.byref(info))
    return info


def exchange_of(gather: Callable[[bytes], "list[bytes]"], errors: "list[BaseException]") -> Any:
    """Return a callback for mscclc_comm_by_exchange. An exception of gather is appended to errors."""

    def exchange(_user: Any, mine: int, everyone: int, size: int) -> int:
        try:
            parts = gather(ctypes.string_at(mine, size))
            if any(len(part) != size for part in parts):
                raise ValueError("the exchange returned parts of other lengths")
            ctypes.memmove(everyone, b"".join(parts), size * len(parts))
            return 0
        except BaseException as error:  # it must not pass through C
            errors.append(error)
            return 1

    return Exchange(exchange)
