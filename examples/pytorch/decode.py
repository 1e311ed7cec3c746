"""Decodes with tensor parallelism in a CUDA graph: torchrun --nproc-per-node N decode.py

Each layer has two AllReduces of batch x width elements of bf16, as in inference of large models. It prints the time of
a token, and how much of it the AllReduces take: the time without them is measured too. Nothing in it knows of mscclc.
"""
import argparse
import statistics

import torch
import torch.distributed as dist

from model import begin


class Layer:
    """A rank's part of a layer of one token: an attention's and an MLP's matrices."""

    def __init__(self, width, ranks, device):
        def matrix(rows, columns):
            return torch.randn(rows, columns, device=device, dtype=torch.bfloat16) / rows**0.5

        part = width // ranks
        self.qkv, self.out = matrix(width, 3 * part), matrix(part, width)
        self.up, self.down = matrix(width, 4 * part), matrix(4 * part, width)
        self.part = part

    def __call__(self, x, reduce):
        x = reduce((x @ self.qkv)[:, : self.part] @ self.out)
        return reduce(torch.relu(x @ self.up) @ self.down)


def capture(layers, x, reduce):
    """A graph of all layers, and its result."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            y = x
            for layer in layers:
                y = layer(y, reduce)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x
        for layer in layers:
            y = layer(y, reduce)
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


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--layers", type=int, default=32)
    ask.add_argument("--width", type=int, default=4096)
    ask.add_argument("--batch", type=int, default=8)
    ask.add_argument("--tokens", type=int, default=200)
    args = ask.parse_args()
    rank, ranks, device = begin()
    layers = [Layer(args.width, ranks, device) for _ in range(args.layers)]
    x = torch.randn(args.batch, args.width, device=device, dtype=torch.bfloat16)
    dist.broadcast(x, 0)

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
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
