"""The driver of NVIDIA's GPUs, by ctypes: which GPU a process uses, and its context."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any, Optional

from ._errors import CommandError, LibraryError

_driver: Any = None


def number_of(device: Optional[str]) -> Optional[int]:
    """Return the number of the GPU that a text names: "cuda" or "cuda:N". None means the CPU.

    Without a number, it is the current GPU of torch, else of CuPy, else 0. Without a text, it is a GPU if torch or CuPy
    is imported and has one, and the CPU else.
    """
    torch: Any = sys.modules.get("torch")
    cupy: Any = sys.modules.get("cupy")
    has_torch = torch is not None and torch.cuda.is_available()
    device = None if device is None else str(device)  # torch.device, too
    if device is None:
        device = "cuda" if has_torch or cupy is not None else "cpu"
    if device == "cpu":
        return None
    kind, colon, number = str(device).partition(":")
    if kind != "cuda" or (colon and not number.isdigit()):
        raise CommandError.say("usage", f"device is {device!r}", 'give "cpu", "cuda" or "cuda:N"')
    if number:
        return int(number)
    if has_torch:
        return int(torch.cuda.current_device())
    return int(cupy.cuda.Device().id) if cupy is not None else 0


def use(number: int) -> None:
    """Make the primary context of a GPU the current one of the calling thread, as the CUDA runtime does."""
    context, device = ctypes.c_void_p(), ctypes.c_int()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), number)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)


def name_of(number: Optional[int]) -> str:
    """Return the name of a GPU, as its driver has it. The CPU's is CPU."""
    if number is None:
        return "CPU"
    text, device = ctypes.create_string_buffer(256), ctypes.c_int()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), number)
    call("cuDeviceGetName", text, len(text), device)
    return text.value.decode(errors="replace")


def of_address(address: int) -> int:
    """Return the number of the GPU that an address belongs to. An array without elements may have no address: 0."""
    number = ctypes.c_int()
    if address:
        ordinal = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        call("cuPointerGetAttribute", ctypes.byref(number), ordinal, ctypes.c_uint64(address))
    return number.value


def call(name: str, *arguments: Any) -> None:
    """Call a function of the driver. An error is a LibraryError."""
    global _driver
    if _driver is None:
        try:
            _driver = ctypes.CDLL(os.environ.get("MSCCLC_LIBCUDA", "libcuda.so.1"))  # tests name a mock driver
        except OSError as error:
            raise LibraryError.say("unavailable", f"no driver of a GPU: {error}", 'give device="cpu"') from None
    result = getattr(_driver, name)(*arguments)
    if result:
        raise LibraryError.say("device", f"{name} failed with error {result} of the driver")
