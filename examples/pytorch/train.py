"""Trains a small transformer: torchrun --nproc-per-node N train.py --parallel ddp|fsdp|tp

It prints the median time of a step, the loss, and whether the replicated parameters have the same bits on all ranks.
Nothing in it knows of mscclc.
"""
import argparse
import statistics
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

from model import Tokens, Transformer, begin, digest, same_everywhere


def parallel(model, how, ranks, device):
    """The model as `how` distributes it."""
    if how == "ddp":
        return DistributedDataParallel(model, device_ids=[device.index])
    if how == "fsdp":
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)
        for b in model.blocks:
            fully_shard(b, mp_policy=policy)
        return fully_shard(model, mp_policy=policy)
    mesh = init_device_mesh("cuda", (ranks,))
    plan = {n: ColwiseParallel() for n in ("q", "k", "v", "up")} | {n: RowwiseParallel() for n in ("out", "down")}
    for b in model.blocks:
        parallelize_module(b, mesh, plan)
    return model


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--parallel", choices=["ddp", "fsdp", "tp"], default="ddp")
    ask.add_argument("--steps", type=int, default=100)
    ask.add_argument("--batch", type=int, default=16)
    ask.add_argument("--length", type=int, default=1024)
    ask.add_argument("--loaders", type=int, default=2)
    args = ask.parse_args()
    rank, ranks, device = begin()
    model = parallel(Transformer().to(device), args.parallel, ranks, device)
    # Under tensor parallelism all ranks see the same tokens.
    seed = 0 if args.parallel == "tp" else rank
    data = torch.utils.data.DataLoader(Tokens(args.steps * args.batch, args.length, seed=seed), batch_size=args.batch,
                                       num_workers=args.loaders, multiprocessing_context="fork")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=args.parallel != "tp")
    times, loss = [], None
    for tokens in data:
        begun = time.perf_counter()
        tokens = tokens.to(device)
        with torch.autocast("cuda", torch.bfloat16):
            words = model(tokens[:, :-1])
        loss = F.cross_entropy(words.float().flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begun)
    whole = [p for p in model.parameters() if not hasattr(p, "placements") or args.parallel == "ddp"]
    if args.parallel == "fsdp":
        whole = [p.full_tensor() for p in model.parameters()]
    same = same_everywhere(digest(whole))
    total = loss.detach()
    dist.all_reduce(total, op=dist.ReduceOp.AVG)
    if rank == 0:
        print(f"{args.parallel}: step {statistics.median(times[10:]) * 1e3:.2f} ms, in all {sum(times[1:]):.2f} s, "
              f"loss {total.item():.4f}, parameters {'alike' if same else 'DIFFERENT'} on {ranks} ranks "
              f"({digest(whole)})", flush=True)
    dist.destroy_process_group()
    if not same:
        raise SystemExit("ranks ended with different parameters")


if __name__ == "__main__":
    main()
