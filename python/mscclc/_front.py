"""The front in NCCL's place, for those who may not preload it, and the backend "mscclc" of torch.distributed."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import sys
from typing import Any, List, Optional

from ._command import FILES, ask
from ._errors import Error, LibraryError

_NAME = "libnccl.so.2"
_loaded: Optional[ctypes.CDLL] = None
_registered = False
_why_not = ""  # why the import has not loaded the front
_ORDER = "`import mscclc` comes before `import torch`, and before all that imports torch"


def at_import() -> None:
    """Load the front when the package is imported before torch, on a machine with a GPU and NCCL.

    MSCCLC_FRONT=0 turns this off. With MSCCLC_FRONT=1, a front that cannot be loaded is a LibraryError. So it is with
    MSCCLC_BITS=invariant on a machine with a GPU, where NCCL would otherwise add floats in orders of its own.
    """
    global _why_not
    wish = os.environ.get("MSCCLC_FRONT", "")
    _why_not = "" if wish == "1" else _reason(wish)
    try:
        if not _why_not:
            front()
    except LibraryError as error:
        if wish == "1":
            raise
        _why_not = error.message
    bits = os.environ.get("MSCCLC_BITS", "")
    if bits not in ("", "invariant"):
        raise LibraryError.say("bad-use", f"MSCCLC_BITS takes invariant, not {bits!r}", "set it before the import")
    invariant = bits and wish != "0" and _has_gpu()
    if _why_not and invariant and not _in_place():
        message = f"MSCCLC_BITS=invariant, and NCCL would add floats: {_why_not}"
        raise LibraryError.say("bad-use", message, _ORDER + "; or start the job by `mscclc with --`")
    register_backend()


def _reason(wish: str) -> str:
    """Return why the front is not loaded when the package is imported, or ""."""
    other = _mapped("libmscclc-preload.so") or _mapped(_NAME) or ("torch" if "torch" in sys.modules else "")
    if other:
        return other + " was loaded before the front"
    if wish == "0":
        return "MSCCLC_FRONT is 0"
    if not _has_gpu():
        return "this machine has no GPU of NVIDIA"
    if not _file():
        return f"the package has no {_NAME}"
    return "" if _nccl() else f"{_NAME} of NCCL is not found"


def front(nccl: Optional[str] = None) -> str:
    """Load the library that stands in NCCL's place, so that torch takes it, and return its path.

    It runs the programs of MSCCLC_BUNDLE, or of the bundle that `mscclc with` would take. nccl is the file of NCCL that
    it hands calls on to. Without it, that is MSCCLC_NCCL, or the one of the package nvidia-nccl, or of the system. If
    the process has NCCL already, that is a LibraryError.
    """
    global _loaded
    path = _file()
    if not path:
        raise LibraryError.say("unavailable", f"the package has no {_NAME}", "install the wheel")
    if _loaded is not None:
        return path
    other = _mapped(_NAME)
    if other or "torch" in sys.modules:
        raise LibraryError.say("bad-use", f"{other or 'torch'} is loaded already", _ORDER)
    found = nccl or _nccl()
    if not found:
        raise LibraryError.say("unavailable", f"{_NAME} of NCCL is not found", "set MSCCLC_NCCL to its path")
    os.environ["MSCCLC_NCCL"] = found
    try:
        _loaded = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise LibraryError.say("unavailable", f"{path} cannot be loaded: {error}") from None
    if not os.environ.get("MSCCLC_BUNDLE"):
        _take_bundle(path, found)
    return path


def register_backend() -> None:
    """Make torch.distributed know the backend "mscclc", if torch is imported.

    torch from 2.5 on calls this itself when it is imported after the package was installed.
    """
    global _registered
    dist = getattr(sys.modules.get("torch"), "distributed", None)
    if _registered or dist is None or not dist.is_available() or not hasattr(dist, "Backend"):
        return
    try:
        dist.Backend.register_backend("mscclc", _make_backend, devices=["cuda"])
    except TypeError:  # torch before 2.0 has no devices
        dist.Backend.register_backend("mscclc", _make_backend)
    _registered = True


def _make_backend(store: Any, rank: int, ranks: int, timeout: Any) -> Any:
    """Return torch's ProcessGroupNCCL, which calls the front."""
    if _loaded is None and not _in_place():
        message = f'the backend "mscclc" is not possible: {_why_not}'
        raise LibraryError.say("bad-use", message, _ORDER + "; or start the job by `mscclc with --`")
    import torch.distributed as dist

    kind = getattr(dist, "ProcessGroupNCCL", None)
    if kind is None:
        raise LibraryError.say("unavailable", "this torch is built without NCCL", "install torch with CUDA")
    options = kind.Options()
    options._timeout = timeout
    return kind(store, rank, ranks, options)


def _take_bundle(path: str, nccl: str) -> None:
    """Set the variables that `mscclc with` sets, without those of the loader. Without a bundle, NCCL runs all calls."""
    folder = os.path.dirname(os.path.dirname(path))
    try:
        document = ask("with", "--replace", "--print", "--lib", folder, "--nccl", nccl)
    except Error as error:
        print(f"mscclc: NCCL runs all calls: {error}", file=sys.stderr)
        return
    for variable in document["variables"]:
        if variable["name"].startswith("MSCCLC_"):
            os.environ.setdefault(variable["name"], variable["value"])


def _has_gpu() -> bool:
    return os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/dxg")


def _file() -> str:
    """Return the path of the front, or "" if the package has none."""
    named = os.environ.get("MSCCLC_FRONT_LIBRARY")
    path = named or str(FILES / "lib" / "nccl" / _NAME)
    return path if os.path.exists(path) else ""


def _nccl() -> str:
    """Return the path of NCCL's own library, or "" if it is not found."""
    named = os.environ.get("MSCCLC_NCCL")
    if named:
        return named
    folders = []
    try:
        spec = importlib.util.find_spec("nvidia.nccl")
    except (ImportError, ValueError):
        spec = None
    if spec is not None and spec.submodule_search_locations:
        folders += [os.path.join(place, "lib") for place in spec.submodule_search_locations]
    folders += [place for place in os.environ.get("LD_LIBRARY_PATH", "").split(":") if place]
    folders += [f"/usr/lib/{platform.machine()}-linux-gnu", "/usr/lib64", "/usr/local/cuda/lib64", "/usr/local/lib"]
    own = _file()
    for folder in folders:
        path = os.path.join(folder, _NAME)
        if os.path.exists(path) and not (own and os.path.samefile(path, own)):
            return path
    return ""


def _in_place() -> bool:
    """Return whether `mscclc with` has put the front before NCCL, or in its place."""
    return bool(_mapped("libmscclc-preload.so")) or any(map(_is_front, _all_mapped(_NAME)))


def _is_front(path: str) -> bool:
    """Return whether a library that this process has loaded is the front in NCCL's place."""
    try:
        return hasattr(ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY), "mscclc_forwards")
    except OSError:
        return False


def _mapped(name: str) -> str:
    """Return the path of a library that this process has loaded, or ""."""
    return next(iter(_all_mapped(name)), "")


def _all_mapped(name: str) -> List[str]:
    """Return the paths of libraries of a name that this process has loaded."""
    try:
        with open("/proc/self/maps") as maps:
            paths = ["/" + line.rstrip("\n").partition("/")[2] for line in maps]
    except OSError:
        return []
    return list(dict.fromkeys(path for path in paths if os.path.basename(path).startswith(name)))
