"""The front at import, and torch's backend "mscclc", on a machine without a GPU."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mscclc

PATIENCE = 240


def python(text: str, **env: str) -> str:
    command = [sys.executable, "-c", text]
    clean = {k: v for k, v in os.environ.items() if k != "MSCCLC_NCCL"}
    done = subprocess.run(command, capture_output=True, text=True, env={**clean, **env}, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_cpu_pays_nothing() -> None:
    text = "import mscclc, sys; print(mscclc._front._loaded, 'torch' in sys.modules, 'numpy' in sys.modules)"
    assert python(text).split() == ["None", "False", "False"]


def test_refused_without_front() -> None:
    text = """
import mscclc
try:
    mscclc.front()
except mscclc.LibraryError as error:
    print(error.code)
"""
    assert python(text, MSCCLC_FRONT_LIBRARY="/nothing").strip() == "unavailable"


def test_loaded_first(tmp_path: Path) -> None:
    """The front is loaded under NCCL's name. There is no GPU, so that no bundle is known and NCCL runs all calls."""
    path = mscclc._front._file()
    if not path:
        pytest.skip("the package has no front")
    text = """
import mscclc, ctypes, os
print(ctypes.CDLL("libnccl.so.2")._handle == mscclc._front._loaded._handle, os.environ["MSCCLC_NCCL"])
"""
    said = python(text, MSCCLC_FRONT="1", MSCCLC_NCCL="/nothing/libnccl.so.2", MSCCLC_LIBCUDA="none")
    assert said.split() == ["True", "/nothing/libnccl.so.2"]


@pytest.mark.parametrize(
    "order, why",
    [("torch, mscclc", "torch was loaded before the front"), ("mscclc, torch", "MSCCLC_FRONT is 0")],
)
def test_backend_refused(order: str, why: str) -> None:
    pytest.importorskip("torch")
    text = f"""
import {order}, tempfile
import torch.distributed as dist
mscclc.register_backend()
try:
    dist.init_process_group("mscclc", init_method="file://" + tempfile.mktemp(), rank=0, world_size=1)
except mscclc.LibraryError as error:
    print(error.code, error.hint, error.message)
"""
    said = python(text, MSCCLC_FRONT="0")
    assert said.startswith("bad-use `import mscclc` comes before `import torch`") and why in said


def test_registered_after_import() -> None:
    pytest.importorskip("torch")
    text = """
import mscclc, torch
import torch.distributed as dist
mscclc.register_backend()
mscclc.register_backend()
print(dist.Backend("mscclc"))
"""
    assert python(text).strip() == "mscclc"


@pytest.mark.parametrize(
    "bits, front, gpu, raises",
    [
        ("invariant", "", True, True),
        ("invariant", "0", True, False),
        ("invariant", "", False, False),
        ("", "", True, False),
        ("Invariant", "0", False, True),
    ],
)
def test_invariant_bits_need_the_front(bits: str, front: str, gpu: bool, raises: bool) -> None:
    """Where NCCL would add floats in spite of MSCCLC_BITS=invariant, the import fails."""
    text = f"""
import sys, types
sys.modules["torch"] = types.ModuleType("torch")
import os
import shutil
exists = os.path.exists
os.path.exists = lambda path: {gpu} if path in ("/dev/nvidiactl", "/dev/dxg") else exists(path)
try:
    import mscclc
    print("imported")
except Exception as error:
    print(error.code, error.message)
"""
    said = python(text, MSCCLC_BITS=bits, MSCCLC_FRONT=front)
    why = "MSCCLC_BITS=invariant, and NCCL would add floats: torch was loaded"
    if bits == "Invariant":
        why = "MSCCLC_BITS takes invariant, not 'Invariant'"
    assert said.startswith("bad-use " + why) == raises
    assert ("imported" in said) != raises


def test_invariant_bits_with_the_front_preloaded(tmp_path: Path) -> None:
    """`mscclc with` preloads the front in NCCL's place, and torch may load NCCL beside it."""
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    for folder, source in {"front": "int mscclc_forwards;", "nccl": "int ncclOther;"}.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.c").write_text(source)
        library = str(tmp_path / folder / "libnccl.so.2")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, str(tmp_path / folder / "a.c")], check=True)
    text = """
import sys, types
sys.modules["torch"] = types.ModuleType("torch")
import os
import shutil
exists = os.path.exists
os.path.exists = lambda path: path == "/dev/nvidiactl" or exists(path)
try:
    import mscclc
    print("imported")
except Exception as error:
    print(error.code)
"""
    for preload, imported in {"nccl/libnccl.so.2": False, "nccl/libnccl.so.2:front/libnccl.so.2": True}.items():
        paths = ":".join(str(tmp_path / path) for path in preload.split(":"))
        said = python(text, MSCCLC_BITS="invariant", LD_PRELOAD=paths)
        assert ("imported" in said) == imported, said
