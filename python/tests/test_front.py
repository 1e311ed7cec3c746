"""The front at import, and torch's backend "mscclc", on a machine without a GPU."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

PATIENCE = 240


def python(text: str, **env: str) -> str:
    import os

    command = [sys.executable, "-c", text]
    clean = {k: v for k, v in os.environ.items() if k != "MSCCLC_NCCL"}
    done = subprocess.run(command, capture_output=True, text=True, env={**clean, **env}, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_cpu_pays_nothing() -> None:
    text = "import mscclc, sys; print(mscclc._front._loaded, 'torch' in sys.modules, 'numpy' in sys.modules)"
    assert python(text).split() == ["None", "False", "False"]


def test_refused_without_nccl() -> None:
    text = """
import mscclc
try:
    mscclc.front()
except mscclc.LibraryError as error:
    print(error.code)
"""
    assert python(text).strip() == "unavailable"


def test_after_torch() -> None:
    pytest.importorskip("torch")
    text = """
import torch, mscclc, tempfile
import torch.distributed as dist
try:
    dist.init_process_group("mscclc", init_method="file://" + tempfile.mktemp(), rank=0, world_size=1)
except mscclc.LibraryError as error:
    print(error.code, error.hint)
"""
    said = python(text)
    assert said.startswith("bad-use `import mscclc` comes before `import torch`")


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
