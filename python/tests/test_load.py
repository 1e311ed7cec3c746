"""Programs that are loaded and called, in jobs of several processes and in threads of one."""

from __future__ import annotations

import queue
import threading
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
