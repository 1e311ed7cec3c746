"""Checks collectives of several communicators beside compute: torchrun --nproc-per-node N check.py --seconds 20

All values are small integers, so that every sum is exact in every type, and each result is compared. It prints what a
communicator costs too. Nothing in it knows of mscclc.
"""
import argparse
import random
import statistics
import time

import torch
import torch.distributed as dist

from model import begin

TYPES = [torch.float32, torch.bfloat16, torch.float16, torch.int32, torch.int64, torch.uint8]


def values(rank, count, kind, device, salt):
    """A rank's input: integers from 0 to 6."""
    return ((torch.arange(count, device=device) * 7 + rank * 3 + salt) % 7).to(kind)


def call(name, group, rank, ranks, count, kind, device, salt, inplace):
    """Runs one collective, and returns its output and what must be in it."""
    mine = values(rank, count, kind, device, salt)
    everyone = [values(r, count, kind, device, salt) for r in range(ranks)]
    if name == "all_reduce":
        dist.all_reduce(mine, group=group)
        return mine, sum(everyone[1:], everyone[0])
    if name == "broadcast":
        dist.broadcast(mine, salt % ranks, group=group)
        return mine, everyone[salt % ranks]
    if name == "all_gather":
        out = torch.full((ranks * count,), 77, dtype=kind, device=device)
        if inplace:
            out[rank * count : (rank + 1) * count] = mine
            mine = out[rank * count : (rank + 1) * count]
        dist.all_gather_into_tensor(out, mine, group=group)
        return out, torch.cat(everyone)
    if name == "reduce_scatter":
        whole = values(rank, ranks * count, kind, device, salt)
        out = whole[rank * count : (rank + 1) * count] if inplace else torch.full_like(mine, 77)
        parts = (values(r, ranks * count, kind, device, salt) for r in range(ranks))
        want = sum(p[rank * count : (rank + 1) * count] for p in parts)
        dist.reduce_scatter_tensor(out, whole, group=group)
        return out, want.to(kind)
    whole = values(rank, ranks * count, kind, device, salt)
    out = torch.full_like(whole, 77)
    dist.all_to_all_single(out, whole, group=group)
    want = [values(r, ranks * count, kind, device, salt)[rank * count : (rank + 1) * count] for r in range(ranks)]
    return out, torch.cat(want)


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--seconds", type=float, default=20)
    ask.add_argument("--groups", type=int, default=5)
    args = ask.parse_args()
    rank, ranks, device = begin()
    groups, costs = [], []
    for _ in range(args.groups):
        torch.cuda.synchronize()
        free, begun = torch.cuda.mem_get_info()[0], time.perf_counter()
        groups.append(dist.new_group())
        dist.all_reduce(torch.zeros(1, device=device), group=groups[-1])
        torch.cuda.synchronize()
        costs.append((time.perf_counter() - begun, (free - torch.cuda.mem_get_info()[0]) >> 20))
    streams = [torch.cuda.Stream() for _ in groups]
    busy, a = torch.cuda.Stream(), torch.randn(4096, 4096, device=device, dtype=torch.bfloat16)
    draw, calls, end = random.Random(1), 0, time.time() + args.seconds
    wrong, stop = torch.zeros((), dtype=torch.int64, device=device), torch.zeros(1, device=device)
    while True:
        for _ in range(50):
            i = draw.randrange(len(groups))
            name = draw.choice(["all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"])
            count = draw.choice([1, 3, 64, 1000, 4099, 65536, 262145, 1 << draw.randrange(4, 22)])
            kind, salt, inplace = draw.choice(TYPES), draw.randrange(1000), draw.random() < 0.5
            with torch.cuda.stream(busy):
                torch.mm(a, a)
            with torch.cuda.stream(streams[i]):
                got, want = call(name, groups[i], rank, ranks, count, kind, device, salt, inplace)
                wrong += (got != want).sum()
            calls += 1
        torch.cuda.synchronize()
        stop.fill_(float(time.time() > end))
        dist.all_reduce(stop)
        if stop.item():
            break
    dist.all_reduce(wrong)
    if rank == 0:
        seconds, megabytes = zip(*costs)
        print(f"check: {calls} calls on {len(groups)} communicators of {ranks} ranks, {wrong.item()} wrong elements; "
              f"a communicator takes {statistics.median(seconds):.3f} s and {statistics.median(megabytes)} MiB, "
              f"the first {seconds[0]:.3f} s and {megabytes[0]} MiB", flush=True)
    dist.destroy_process_group()
    raise SystemExit(wrong.item() > 0)


if __name__ == "__main__":
    main()
