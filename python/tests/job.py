"""One process of a job: job.py numpy|torch|mock|cuda|cupy|jax HOST:PORT RANKS RANK SCENE...

A SCENE is a function of scenes.py.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

import mscclc
import scenes


def gpu(kind: str, rank: int) -> int:
    """Return the GPU of a rank, and make it the current one of torch and CuPy. Ranks go round the GPUs."""
    if kind == "mock":
        return rank
    import torch

    number = int(rank % torch.cuda.device_count())
    torch.cuda.set_device(number)
    if kind in ("cupy", "jax"):
        import cupy

        cupy.cuda.Device(number).use()
    return number


def main(kind: str, address: str, ranks: int, rank: int, names: "list[str]") -> None:
    """Run scenes on a communicator. Each scene is collective."""
    if kind == "torch":
        import torch.distributed as dist

        os.environ["MASTER_ADDR"], _, os.environ["MASTER_PORT"] = address.partition(":")
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        os.environ.setdefault("USE_LIBUV", "0")  # Debian's torch 2 is built without it
        dist.init_process_group("gloo", rank=rank, world_size=ranks)
        group: Any = mscclc.Communicator(dist.group.WORLD, device="cpu")
    else:
        device = "cpu" if kind == "numpy" else f"cuda:{gpu(kind, rank)}"
        group = mscclc.Communicator(store=address, ranks=ranks, rank=rank, device=device)
    assert (group.ranks, group.rank) == (ranks, rank)
    with group as comm:
        for name in names:
            np.random.seed(len(name))  # equal on all ranks
            getattr(scenes, name)(comm, kind)
            print("ok", name, flush=True)
    if kind == "torch":
        dist.destroy_process_group()  # gloo's threads end the process if they are left to its end


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
