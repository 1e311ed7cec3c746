"""Programs on real GPUs, with all libraries of arrays. Where ranks are more than GPUs, they share one, in turns."""

from __future__ import annotations

import os
from typing import Any, Callable, List

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("torch sees no GPU", allow_module_level=True)
RANKS = (2, 3, 4)


@pytest.fixture(autouse=True)
def shared(monkeypatch: Any) -> None:
    """Let ranks share a GPU where there are too few. That needs a job without NCCL."""
    if torch.cuda.device_count() < max(RANKS):
        monkeypatch.setenv("MSCCLC_SHARED_GPU", "1")
        monkeypatch.setenv("MSCCLC_NCCL", "none")
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    monkeypatch.setenv("MSCCLC_FRONT", "0")
    assert "MSCCLC_LIBCUDA" not in os.environ


@pytest.mark.parametrize("ranks", RANKS)
def test_torch(job: Callable[..., List[str]], ranks: int) -> None:
    job("cuda", ranks, "gathers", "halo", "sums", "bf16", "fp8", "streams")


@pytest.mark.parametrize("ranks", (2, 4))
def test_norms(job: Callable[..., List[str]], ranks: int) -> None:
    job("cuda", ranks, "rows", "norm_graph")


def test_unequal(job: Callable[..., List[str]]) -> None:
    job("cuda", 4, "alltoallv")


@pytest.mark.parametrize("ranks", RANKS)
def test_graph(job: Callable[..., List[str]], ranks: int) -> None:
    job("cuda", ranks, "torch_graph", "gathers", "torch_graph")


def test_compile(job: Callable[..., List[str]]) -> None:
    if not hasattr(torch.library, "custom_op"):
        pytest.skip(f"torch {torch.__version__} has no torch.library.custom_op, which came with 2.4")
    job("cuda", 2, "compiled")


def test_cupy(job: Callable[..., List[str]]) -> None:
    pytest.importorskip("cupy")
    job("cupy", 2, "gathers", "halo", "sums")
    job("cupy", 4, "alltoallv")


def test_jax(job: Callable[..., List[str]]) -> None:
    pytest.importorskip("jax")
    pytest.importorskip("cupy")
    job("jax", 2, "jax_inputs")


@pytest.mark.parametrize("scene", ["errors", "aborted", "closed"])
def test_failures(job: Callable[..., List[str]], scene: str) -> None:
    job("cuda", 2, scene)
