"""Groups that exchange bytes, and failures that all ranks see."""

from __future__ import annotations

import socket
import threading
from typing import Any, Callable, List

import pytest

from mscclc import CommandError, Group, Rejected, TcpGroup, prove
from mscclc._groups import group_of


def address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def together(ranks: int, work: Callable[[TcpGroup], Any]) -> List[Any]:
    """Have each rank of a TcpGroup do work in a thread, and return the results or exceptions."""
    results: List[Any] = [None] * ranks
    where = address()

    def run(rank: int) -> None:
        try:
            group = TcpGroup(where, ranks, rank)
            try:
                results[rank] = work(group)
            finally:
                group.close()
        except Exception as error:
            results[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in reversed(range(ranks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_tcp(ranks: int) -> None:
    parts = [bytes([rank]) * (rank * 300_000) for rank in range(ranks)]
    found = together(ranks, lambda group: [group.exchange(parts[group.rank]), group.exchange(b"end")])
    assert found == [[parts, [b"end"] * ranks]] * ranks


def test_one_fails(programs: Any) -> None:
    def work(group: TcpGroup) -> Any:
        return group.together(lambda: prove(programs / "wrong.mscl") if group.rank == 1 else None)

    found = together(3, work)
    assert all(type(error) is Rejected and error.code == "wrong-result" for error in found)
    assert found[0].position == found[1].position and found[0].notes == found[1].notes
    assert str(found[0]).startswith("rank 1: ")


def test_nobody_comes() -> None:
    with pytest.raises(CommandError, match="rank 0 does not reach rank 1, 2 "):
        TcpGroup(address(), 3, 0, patience=0.1)
    with pytest.raises(CommandError, match="rank 2 does not reach rank 0"):
        TcpGroup(address(), 3, 2, patience=0.1)


def test_wrong_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(CommandError, match="the ranks are not known"):
        group_of(None, None, None, None)
    with pytest.raises(CommandError, match="is not HOST:PORT"):
        TcpGroup("here", 2, 0)
    with pytest.raises(CommandError, match="rank 2 is not from 0 to 1"):
        group_of(None, 2, 2, "127.0.0.1:1")


def test_mpi() -> None:
    class Comm:
        """What is used of a communicator of mpi4py."""

        def Get_size(self) -> int:
            return 2

        def Get_rank(self) -> int:
            return 1

        def allgather(self, mine: bytes) -> List[bytes]:
            return [b"other", mine]

    group = group_of(Comm(), None, None, None)
    assert isinstance(group, Group) and (group.ranks, group.rank) == (2, 1)
    assert group.exchange(b"mine") == [b"other", b"mine"]
