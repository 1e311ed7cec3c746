"""Groups of ranks that exchange bytes: of torch.distributed, of mpi4py, or over TCP alone."""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, TypeVar

from ._errors import CommandError, Error, Problem, error_named

T = TypeVar("T")
PATIENCE = 60.0  # seconds in which the ranks of a TcpGroup must come
LATE = 9.0  # seconds for which rank 0 waits for the others when it loads, as mscclc_load does
_MAGIC = b"mscclcpy"


class Group:
    """Ranks that exchange bytes. exchange is collective: it gives each rank's bytes to all ranks, by rank."""

    def __init__(self, ranks: int, rank: int, exchange: Callable[[bytes], Sequence[bytes]]) -> None:
        if not 0 <= rank < ranks:
            raise CommandError.say("usage", f"rank {rank} is not from 0 to {ranks - 1}")
        self.ranks, self.rank, self._exchange = ranks, rank, exchange
        self.patience = PATIENCE  # in which the parts of others come to rank 0, if the group itself has no limit

    def exchange(self, mine: bytes) -> List[bytes]:
        """Return the bytes of all ranks."""
        parts = list(self._exchange(mine))
        if len(parts) != self.ranks:
            raise CommandError.say("usage", f"the group exchanged {len(parts)} parts, and has {self.ranks} ranks")
        return parts

    def together(self, work: Callable[[], T], pack: Callable[[T], bytes] = lambda _: b"") -> "tuple[T, List[bytes]]":
        """Do work on each rank. If it fails on one, all ranks raise the first rank's exception.

        Return the rank's own result, and what pack makes of each rank's result.
        """
        failed: Optional[BaseException] = None
        try:
            result = work()
            mine = b"+" + pack(result)
        except Exception as error:
            failed = CommandError.say("io", str(error)) if isinstance(error, OSError) else error
            mine = b"-" + _packed(failed)
        parts = self.exchange(mine)
        if failed is not None:
            raise failed
        for rank, part in enumerate(parts):
            if part[:1] != b"+":
                raise _unpacked(part[1:], rank)
        return result, [part[1:] for part in parts]

    def close(self) -> None:
        """Close what the group opened itself."""


def _packed(error: BaseException) -> bytes:
    problems = error.problems if isinstance(error, Error) else [Problem("internal", f"{type(error).__name__}: {error}")]
    return json.dumps([type(error).__name__, [p.document() for p in problems]]).encode()


def _unpacked(text: bytes, rank: int) -> Error:
    kind, problems = json.loads(text)
    error = error_named(kind, [Problem.of(p) for p in problems])
    error.args = (f"rank {rank}: {error}",)
    return error


class TcpGroup(Group):
    """Ranks that exchange bytes through rank 0, which listens on a port. Nothing is encrypted.

    address is HOST:PORT of rank 0, the same text on all ranks.
    """

    def __init__(self, address: str, ranks: int, rank: int, patience: float = PATIENCE) -> None:
        super().__init__(ranks, rank, self._gather)
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise CommandError.say("usage", f"{address} is not HOST:PORT")
        self._peers: Dict[int, socket.socket] = {}
        end = time.monotonic() + patience
        where = (host.strip("[]"), int(port))
        try:
            if rank == 0:
                self._accept(where, end)
            else:
                self._connect(where, end)
        except OSError as error:
            self.close()
            missing = sorted(set(range(1, ranks)) - set(self._peers)) if rank == 0 else [0]
            who = ", ".join(map(str, missing))
            message = f"rank {rank} does not reach rank {who} at {address} in {patience:g} s: {error}"
            raise CommandError.say("timeout", message) from None

    def _accept(self, where: "tuple[str, int]", end: float) -> None:
        family = socket.getaddrinfo(*where, type=socket.SOCK_STREAM)[0][0]
        with socket.create_server(where, family=family, backlog=64) as server:
            while len(self._peers) < self.ranks - 1:
                server.settimeout(max(0.001, end - time.monotonic()))
                peer, _ = server.accept()
                peer.settimeout(max(0.001, end - time.monotonic()))
                magic, rank, ranks = struct.unpack("<8sII", _receive(peer, 16))
                if magic != _MAGIC:  # a stranger
                    peer.close()
                    continue
                if ranks != self.ranks or rank in self._peers or not 0 < rank < ranks:
                    peer.close()
                    raise OSError(f"rank {rank} of {ranks} came, and this group has {self.ranks} ranks, each once")
                peer.settimeout(None)
                self._peers[rank] = peer

    def _connect(self, where: "tuple[str, int]", end: float) -> None:
        while True:
            try:
                peer = socket.create_connection(where, timeout=max(0.001, end - time.monotonic()))
                break
            except ConnectionRefusedError:  # rank 0 does not listen yet
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)
        peer.settimeout(None)
        peer.sendall(struct.pack("<8sII", _MAGIC, self.rank, self.ranks))
        self._peers[0] = peer

    def _gather(self, mine: bytes) -> List[bytes]:
        if self.ranks > 1 and not self._peers:
            raise CommandError.say("bad-use", "the group is closed")
        try:
            if self.rank:
                _send(self._peers[0], mine)
                return [_next(self._peers[0]) for _ in range(self.ranks)]
            parts = [mine, *self._parts()]
            for rank in range(1, self.ranks):
                for part in parts:
                    _send(self._peers[rank], part)
            return parts
        except OSError as error:
            raise CommandError.say("io", f"rank {self.rank} lost another rank of its group: {error}") from None

    def _parts(self) -> List[bytes]:
        """Return the parts of all other ranks, of which each comes soon, or not at all."""
        end = time.monotonic() + self.patience
        parts = []
        for rank in range(1, self.ranks):
            peer = self._peers[rank]
            try:
                peer.settimeout(max(0.001, end - time.monotonic()))
                parts.append(_next(peer))
                peer.settimeout(None)
            except socket.timeout:
                self.close()
                raise CommandError.say("timeout", f"rank {rank} did not load within {self.patience:g} s") from None
            except OSError as error:
                self.close()
                raise CommandError.say("io", f"rank 0 has lost rank {rank}: {error}") from None
        return parts

    def close(self) -> None:
        """Close the connections."""
        for peer in self._peers.values():
            peer.close()
        self._peers.clear()


def _send(peer: socket.socket, part: bytes) -> None:
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    peer.sendall(struct.pack("<Q", len(part)) + part)


def _next(peer: socket.socket) -> bytes:
    return _receive(peer, struct.unpack("<Q", _receive(peer, 8))[0])


def _receive(peer: socket.socket, size: int) -> bytes:
    parts, left = [], size
    while left:
        part = peer.recv(min(left, 1 << 20))
        if not part:
            raise ConnectionError("the connection has ended")
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def group_of(group: Any, ranks: Optional[int], rank: Optional[int], store: Optional[str]) -> Group:
    """Return the group that the arguments of `load` name.

    group is a Group, a group of torch.distributed, a communicator of mpi4py, or None. None means the ranks of store,
    which is HOST:PORT; else torch's default group; else those of torchrun's environment variables.
    """
    if isinstance(group, Group):
        return group
    if group is not None and hasattr(group, "Get_size") and hasattr(group, "allgather"):
        return Group(group.Get_size(), group.Get_rank(), group.allgather)
    dist = _distributed()
    if group is not None or (store is None and ranks is None and dist is not None):
        if dist is None:
            kind = type(group).__name__
            raise CommandError.say("usage", f"group is a {kind}, and torch.distributed is not initialised")
        return _of_torch(dist, group)
    env = os.environ
    if store is None and "MASTER_ADDR" in env and "MASTER_PORT" in env:
        # MASTER_PORT itself is that of torch's store. torchrun keeps it open while the job runs.
        store = f"{env['MASTER_ADDR']}:{int(env['MASTER_PORT']) + 1}"
    ranks = int(env.get("WORLD_SIZE", "0")) if ranks is None else ranks
    rank = int(env.get("RANK", "-1")) if rank is None else rank
    if store is None or ranks < 1 or rank < 0:
        hint = "give group=, or ranks=, rank= and store='HOST:PORT', or start the job with torchrun"
        raise CommandError.say("usage", "the ranks are not known", hint)
    return TcpGroup(store, ranks, rank)


def _distributed() -> Any:
    dist = getattr(sys.modules.get("torch"), "distributed", None)
    return dist if dist is not None and dist.is_available() and dist.is_initialized() else None


def _of_torch(dist: Any, group: Any) -> Group:
    ranks = dist.get_world_size(group)

    def exchange(mine: bytes) -> List[bytes]:
        parts: List[Any] = [None] * ranks
        dist.all_gather_object(parts, mine, group=group)
        return parts

    return Group(ranks, dist.get_rank(group), exchange)
