"""Each rank gathers four numbers of all ranks on the CPU. torchrun's environment variables name the ranks."""

import sys

import numpy as np

import mscclc

with mscclc.load(sys.argv[1], device="cpu") as gather:
    rank, ranks = gather.comm.rank, gather.comm.ranks
    x = np.full(4, rank, np.float32)
    y = np.empty(4 * ranks, np.float32)
    gather(x, out=y)
    print(f"rank {rank} of {ranks}: {y}")
    try:
        gather(x, out=y[1:])
    except mscclc.ArrayError as error:
        print(f"rank {rank}: {error.code}: {error.message}")
