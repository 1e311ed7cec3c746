"""Checks that calls of a communicator follow each other over streams: torchrun --nproc-per-node N order.py

Two graphs and an eager call run on three streams. What comes first is held for a while; all others must wait for it.
Then it times replays of a graph of 64 calls. NCCL_GRAPH_MIXING_SUPPORT=0 leaves the order of graphs to the program:
then --replays-only shows what the order costs, and the check would fail. Nothing in it knows of mscclc.
"""
import argparse
import time

import torch
import torch.distributed as dist

from model import begin

HOLD = 200_000_000  # cycles, about 0.1 s


def captured(tensor, calls):
    """A graph of some AllReduces."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            dist.all_reduce(tensor)
    return graph


def follow(work, device):
    """Runs work on streams of its own, the first of which is held. Gives how many did not wait."""
    streams = [torch.cuda.Stream() for _ in work]
    held, ends = torch.cuda.Event(enable_timing=True), [torch.cuda.Event(enable_timing=True) for _ in work]
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()
    with torch.cuda.stream(streams[0]):
        torch.cuda._sleep(HOLD)
        held.record()
    for stream, run, end in zip(streams, work, ends):
        with torch.cuda.stream(stream):
            run()
            end.record()
    torch.cuda.synchronize()
    return sum(held.elapsed_time(end) < 0 for end in ends)


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--replays", type=int, default=200)
    ask.add_argument("--replays-only", action="store_true", help="check nothing")
    args = ask.parse_args()
    rank, ranks, device = begin()
    x, y, z = (torch.ones(1000, device=device) for _ in range(3))
    for t in (x, y, z):
        dist.all_reduce(t)
    torch.cuda.synchronize()
    first, second, early = captured(x, 2), captured(y, 2), 0
    eager = lambda: dist.all_reduce(z)
    orders = [[first.replay, second.replay, eager], [second.replay, eager, first.replay],
              [eager, first.replay, second.replay]]
    for work in [] if args.replays_only else orders:
        for t in (x, y, z):
            t.fill_(1)
        early += follow(work, device)
        right = all(bool((t == ranks**n).all()) for t, n in ((x, 2), (y, 2), (z, 1)))
        if not right:
            raise SystemExit(f"rank {rank}: wrong sums")
    x.zero_()
    graph = captured(x, 64)
    for _ in range(10):
        graph.replay()
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(args.replays):
        graph.replay()
    torch.cuda.synchronize()
    call = (time.perf_counter() - begun) / args.replays / 64
    print(f"order: rank {rank}: {early} of 6 did not wait; a call of 4 KB in a graph of 64 takes {call * 1e6:.2f} us",
          flush=True)
    dist.destroy_process_group()
    raise SystemExit(early > 0)


if __name__ == "__main__":
    main()
