"""Decodes with tensor parallelism in a CUDA graph: torchrun --nproc-per-node N decode.py

Each layer has two AllReduces of batch x width elements of bf16, as in inference of large models. It prints the time of
a token, and how much of it the AllReduces take: the time without them is measured too. Nothing in it knows of mscclc.

With --fused, a residual and an RMSNorm follow each AllReduce. mscclc does all three in one launch, and the script
compares times and results with those of torch.
"""
import argparse
import statistics

import torch
import torch.distributed as dist

from model import begin

EPS = 1e-5


class Layer:
    """A rank's part of a layer of one token: an attention's and an MLP's matrices."""

    def __init__(self, width, ranks, device):
        def matrix(rows, columns):
            return torch.randn(rows, columns, device=device, dtype=torch.bfloat16) / rows**0.5

        part = width // ranks
        self.qkv, self.out = matrix(width, 3 * part), matrix(part, width)
        self.up, self.down = matrix(width, 4 * part), matrix(4 * part, width)
        self.norms = [torch.ones(width, device=device, dtype=torch.bfloat16) for _ in range(2)]
        self.part = part

    def finished(self, x, residual, finish):
        """The layer with norms: finish sums over the ranks, adds the residual and takes the norm."""
        x, residual = finish((x @ self.qkv)[:, : self.part] @ self.out, residual, self.norms[0])
        return finish(torch.relu(x @ self.up) @ self.down, residual, self.norms[1])

    def __call__(self, x, reduce):
        x = reduce((x @ self.qkv)[:, : self.part] @ self.out)
        return reduce(torch.relu(x @ self.up) @ self.down)


def plain(layers, x, reduce):
    """What the layers make of x."""
    for layer in layers:
        x = layer(x, reduce)
    return x


def with_norms(layers, x, finish):
    """What the layers with norms make of x."""
    residual = torch.zeros_like(x)
    for layer in layers:
        x, residual = layer.finished(x, residual, finish)
    return x


def capture(layers, x, reduce, run=plain):
    """A graph of all layers, and its result."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            run(layers, x, reduce)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = run(layers, x, reduce)
    return graph, y


def measure(graph, tokens):
    """The median time of a replay in us."""
    times = []
    for _ in range(tokens):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        graph.replay()
        b.record()
        b.synchronize()
        times.append(a.elapsed_time(b) * 1e3)
    return statistics.median(times)


def norm_of(y, residual, weight):
    """The RMSNorm of y + residual, and the updated residual, by torch."""
    total = y + residual
    return torch.nn.functional.rms_norm(total, weight.shape, weight, EPS), total


def by_torch(y, residual, weight):
    dist.all_reduce(y)
    return norm_of(y, residual, weight)


def by_mscclc(y, residual, weight):
    import mscclc

    return mscclc.all_reduce_rms_norm(y, residual, weight, EPS)


def fused(layers, x, tokens):
    """Compares sums, residuals and norms of mscclc with those of torch."""
    theirs, expected = capture(layers, x, by_torch, with_norms)
    ours, y = capture(layers, x, by_mscclc, with_norms)
    dist.barrier()
    torch_us, us = measure(theirs, tokens), measure(ours, tokens)
    # Both round to bf16 at other places, which many layers pass on.
    apart = ((y.float() - expected.float()).norm() / expected.float().norm()).item()
    worst = torch.tensor(apart, device=x.device)
    dist.all_reduce(worst, op=dist.ReduceOp.MAX)
    good = worst.item() < 0.05
    if dist.get_rank() == 0:
        each = (torch_us - us) / (2 * len(layers))
        print(f"decode: token {us:.1f} us fused, {torch_us:.1f} us by torch, {each:.2f} us less for each norm, "
              f"results {'alike' if good else 'DIFFERENT'} ({worst.item():.4f})", flush=True)
    del theirs, ours  # NCCL waits for graphs that it is captured in
    dist.destroy_process_group()
    if not good:
        raise SystemExit("results differ by more than rounding")


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--layers", type=int, default=32)
    ask.add_argument("--width", type=int, default=4096)
    ask.add_argument("--batch", type=int, default=8)
    ask.add_argument("--tokens", type=int, default=200)
    ask.add_argument("--fused", action="store_true", help="with residuals and norms, by mscclc at once, and by torch")
    args = ask.parse_args()
    rank, ranks, device = begin()
    layers = [Layer(args.width, ranks, device) for _ in range(args.layers)]
    x = torch.randn(args.batch, args.width, device=device, dtype=torch.bfloat16)
    dist.broadcast(x, 0)
    if args.fused:
        return fused(layers, x, args.tokens)

    def reduce(y):
        dist.all_reduce(y)
        return y

    graph, y = capture(layers, x, reduce)
    alone, _ = capture(layers, x, lambda y: y)
    graph.replay()
    torch.cuda.synchronize()
    dist.barrier()
    with_all, without = measure(graph, args.tokens), measure(alone, args.tokens)
    first = y.clone()
    dist.broadcast(first, 0)
    same = torch.tensor(int(torch.equal(first, y)), device=device)
    dist.all_reduce(same, op=dist.ReduceOp.MIN)
    if rank == 0:
        each = (with_all - without) / (2 * args.layers)
        print(f"decode: token {with_all:.1f} us, of which AllReduce {with_all - without:.1f} us ({each:.2f} us each), "
              f"results {'alike' if same.item() else 'DIFFERENT'} on {ranks} ranks", flush=True)
    del graph, alone  # NCCL waits for graphs that it is captured in
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
