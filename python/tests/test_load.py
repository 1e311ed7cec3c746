"""Programs that are loaded and called, in jobs of several processes and in threads of one."""

from __future__ import annotations

import os
import queue
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Callable, List

import numpy as np
import pytest

import mscclc
import scenes

MANY = ("gathers", "halo", "sums", "errors")


@pytest.mark.parametrize("ranks", [2, 3])
def test_numpy(job: Callable[..., List[str]], ranks: int) -> None:
    job("numpy", ranks, *MANY, "closed")


def test_numpy_of_four(job: Callable[..., List[str]]) -> None:
    job("numpy", 4, *MANY, "alltoallv", "aborted")


def test_torch(job: Callable[..., List[str]]) -> None:
    pytest.importorskip("torch")
    job("torch", 4, *MANY, "alltoallv", "bf16", "closed")


@pytest.mark.parametrize("ranks", [2, 4])
def test_rows(job: Callable[..., List[str]], ranks: int) -> None:
    job("numpy", ranks, "rows")


@pytest.mark.parametrize("scene", ["norms", "norms_without"])
def test_norms(job: Callable[..., List[str]], scene: str) -> None:
    pytest.importorskip("torch")
    job("torch", 2, scene)


def test_compile(job: Callable[..., List[str]]) -> None:
    torch = pytest.importorskip("torch")
    if not hasattr(torch.library, "custom_op"):
        pytest.skip(f"torch {torch.__version__} has no torch.library.custom_op, which came with 2.4")
    job("torch", 2, "compiled")


def test_mock_driver(job: Callable[..., List[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same on GPUs of a mock driver, which executes on the host."""
    if "MSCCLC_TEST_DRIVER" not in os.environ:
        pytest.skip("python/test sets MSCCLC_TEST_DRIVER")
    monkeypatch.setenv("MSCCLC_LIBCUDA", os.environ["MSCCLC_TEST_DRIVER"])
    monkeypatch.setenv("MSCCLC_STANDIN_NAME", "mock")  # of all GPUs
    job("mock", 2, "rows", "row_graph")
    job("mock", 2, "graph", "many", "gathers", "halo", "sums", "errors", "aborted")


@pytest.mark.parametrize("scene", ["outlived", "unloaded", "reloads"])
def test_leaving(job: Callable[..., List[str]], scene: str) -> None:
    job("numpy", 3, scene)


def test_foreign_bundle(programs: Path, tmp_path: Path) -> None:
    """A bundle that others may write to is refused, as the library refuses it."""
    from mscclc import _bundle

    file = tmp_path / "both_ways.bundle"
    file.write_bytes(_bundle.build(str(programs / "both_ways.mscl"), "both_ways", 2, "CPU", (), {}))
    file.chmod(0o644)
    assert _bundle.build(str(file), "both_ways", 2, "CPU", (), {})
    file.chmod(0o666)
    with pytest.raises(mscclc.LibraryError, match="write"):
        _bundle.build(str(file), "both_ways", 2, "CPU", (), {})
    with pytest.raises(mscclc.CommandError, match="parameters already"):
        _bundle.build(str(file), "both_ways", 2, "CPU", (), {"n": 2})


def test_example() -> None:
    """The program of docs/python.md."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1] - 1  # the package takes the port after torch's
    command = [sys.executable, str(scenes.ALLTOALLV.parent / "gather.py"), str(scenes.PROGRAMS / "both_ways.mscl")]
    env = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    each = [
        subprocess.Popen(command, env={**env, "RANK": str(rank)}, stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    for rank, process in enumerate(each):
        said = process.communicate(timeout=240)[0]
        assert said.startswith(f"rank {rank} of 2: [0. 0. 0. 0. 1. 1. 1. 1.]\nrank {rank}: counts: output has 7"), said


def test_threads() -> None:
    """Two ranks in one process."""
    results: "queue.Queue[Any]" = queue.Queue()
    barrier, parts = threading.Barrier(2), [b"", b""]

    def exchange(rank: int, mine: bytes) -> List[bytes]:
        parts[rank] = mine
        barrier.wait()
        found = list(parts)
        barrier.wait()
        return found

    def run(rank: int) -> None:
        try:
            group = mscclc.Group(2, rank, lambda mine: exchange(rank, mine))
            with mscclc.load(scenes.PROGRAMS / "both_ways.mscl", group=group, device="cpu") as gather:
                x = np.full(5, rank, "float32")
                results.put(gather(x).tolist())
        except Exception as error:
            results.put(error)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [0.0] * 5 + [1.0] * 5
    assert [results.get(), results.get()] == [expected, expected]
