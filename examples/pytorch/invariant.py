"""Compares the bits of sums in calls of many sizes and places: torchrun --nproc-per-node N invariant.py

An element has the same inputs in all calls, and these cancel, so that sums in another order have other bits. Each line
says whether all calls of a type and collective have the bits of the order of ranks: r0 + r1 + r2, rounded once. With
MSCCLC_BITS=invariant and `mscclc with` they do. With NCCL alone some have others from three ranks on, and the exit code
is 1. --cpu runs with gloo, to try the script.
"""
import argparse
import sys

import torch
import torch.distributed as dist

SIZES = [1, 5, 777, 4096, 30000, 1 << 18, (1 << 20) + 3, 1 << 22, 1 << 24]
OFFSETS = [0, 1, 3]  # elements by which a buffer is moved, and its alignment with it


def inputs(rank, n, dtype):
    """What a rank has, of many magnitudes. f16 holds all of them."""
    made = torch.Generator().manual_seed(rank)
    scale = 10.0 ** torch.randint(-3, 4, (n,), generator=made)
    return (torch.randn(n, generator=made) * scale).to(dtype)


def in_order(ranks, n, dtype):
    """The sum in the order of ranks, kept in f32."""
    total = inputs(0, n, dtype).float()
    for rank in range(1, ranks):
        total += inputs(rank, n, dtype).float()
    return total.to(dtype)


def bits(x):
    return x.contiguous().view(torch.int16 if x.element_size() == 2 else torch.int32)


class Sums:
    """The sums of a type, whose results are compared with what they must be."""

    def __init__(self, dtype, most, device):
        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        self.mine = inputs(self.rank, most, dtype).to(device)
        self.must = in_order(self.ranks, most, dtype).to(device)

    def moved(self, n, offset):
        """The first n elements in a buffer of their own."""
        x = torch.empty(n + offset, dtype=self.mine.dtype, device=self.mine.device)[offset:]
        x.copy_(self.mine[:n])
        return x

    def all_reduce(self, n, offset):
        x = self.moved(n, offset)
        dist.all_reduce(x)
        return x, self.must[:n]

    def captured_all_reduce(self, n, offset):
        x, graph = self.moved(n, offset), torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            dist.all_reduce(x)
        x.copy_(self.mine[:n])
        graph.replay()
        return x, self.must[:n]

    def reduce_scatter(self, n, offset):
        part = max(n // self.ranks, 1)
        out = self.moved(part, offset)
        dist.reduce_scatter_tensor(out, self.moved(part * self.ranks, offset))
        return out, self.must[self.rank * part : (self.rank + 1) * part]

    def reduce(self, n, offset):
        x, root = self.moved(n, offset), n % self.ranks
        dist.reduce(x, root)
        return (x, self.must[:n]) if self.rank == root else (x[:0], self.must[:0])


def compare(sums, name, sizes):
    """How many calls differ on this rank, and the first of them."""
    wrong, first = 0, ""
    for n in sizes:
        for offset in OFFSETS:
            got, must = getattr(sums, name)(n, offset)
            differ = int((bits(got) != bits(must)).sum())
            if differ:
                wrong += 1
                first = first or f"{differ} of {n} elements, moved by {offset}"
    return wrong, first


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--cpu", action="store_true", help="run on the CPU with gloo")
    p.add_argument("--most", type=int, default=SIZES[-1], help="the most elements of a call")
    args = p.parse_args()
    dist.init_process_group("gloo" if args.cpu else "nccl")
    device = "cpu" if args.cpu else torch.device("cuda", dist.get_rank() % torch.cuda.device_count())
    if not args.cpu:
        torch.cuda.set_device(device)
    sizes = [n for n in SIZES if n <= args.most]
    all_wrong = 0
    types = [torch.float16, torch.float32] + ([] if args.cpu else [torch.bfloat16])  # gloo may have no bf16
    for dtype in types:
        sums = Sums(dtype, sizes[-1] + dist.get_world_size(), device)
        for name in ("all_reduce",) if args.cpu else ("all_reduce", "captured_all_reduce", "reduce_scatter", "reduce"):
            found = [None] * dist.get_world_size()
            dist.all_gather_object(found, compare(sums, name, sizes))
            wrong = sum(w for w, _ in found)
            all_wrong += wrong
            if dist.get_rank() == 0:
                calls = len(sizes) * len(OFFSETS)
                example = next((text for _, text in found if text), "")
                verdict = f"{wrong} calls of ranks are DIFFERENT, such as {example}" if wrong else "all alike"
                print(f"{str(dtype)[6:]} {name}, {calls} calls of up to {sizes[-1]} elements: {verdict}", flush=True)
    dist.destroy_process_group()
    sys.exit(1 if all_wrong else 0)


if __name__ == "__main__":
    main()
