"""Checks and times AllReduce + residual + RMSNorm: mscclc's one launch, and torch's three kernels.

    torchrun --nproc-per-node 2 examples/pytorch/rows.py
    mscclc with --nccl none -- torchrun --nproc-per-node 2 examples/pytorch/rows.py

Each time is the median, over several replays, of a CUDA graph of some calls, divided by their number. It is the slowest
rank's. "sum" is all_reduce alone: NCCL's, or mscclc's in a job that `mscclc with` starts.
"""

import argparse
import os
import statistics

import torch
import torch.distributed as dist
import torch.nn.functional as F

import mscclc

ROWS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]


def judged(length: int, rows: int, dtype: torch.dtype, quant: "str | None") -> float:
    """Return the largest error of a call against f64, in units of the output's rounding."""
    device = torch.cuda.current_device()
    generator = torch.Generator(device).manual_seed(rows * 8 + dist.get_rank())
    x = torch.randn(rows, length, device=device, generator=generator).to(dtype)
    shared = torch.Generator(device).manual_seed(rows)  # the residual and the weights are the same on all ranks
    residual = torch.randn(rows, length, device=device, generator=shared).to(dtype)
    weight = (1 + 0.1 * torch.randn(length, device=device, generator=shared)).to(dtype)
    total = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(total, x)
    exact = sum(t.double() for t in total) + residual.double()
    norm = exact * torch.rsqrt(exact.pow(2).mean(-1, keepdim=True) + 1e-6) * weight.double()
    got = mscclc.all_reduce_rms_norm(x, residual, weight, 1e-6, quant=quant)
    updated = got[-1].double()
    result = got[0].double() * got[1].double() if quant else got[0].double()
    ulp = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}[dtype]
    of_norm = norm.abs().amax(-1, keepdim=True) * (2.0**-4 if quant else ulp)
    worst = max(((result - norm).abs() / of_norm).max().item(),
                ((updated - exact).abs() / (exact.abs().amax(-1, keepdim=True) * ulp)).max().item())
    return worst


def graph_of(call, calls: int) -> torch.cuda.CUDAGraph:
    """Capture some calls in one graph, after a few of them ran eagerly."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(calls):
            call()
    return graph


def micros(graphs: "dict[str, torch.cuda.CUDAGraph]", calls: int, rounds: int) -> "dict[str, float]":
    """Time graphs in turns, and return the median time of a call of each."""
    times: "dict[str, list[float]]" = {name: [] for name in graphs}
    for _ in range(rounds):
        for name, graph in graphs.items():
            dist.barrier()
            torch.cuda.synchronize()
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            times[name].append(begin.elapsed_time(end) * 1000 / calls)
    mine = torch.tensor([statistics.median(times[name]) for name in graphs], device=torch.cuda.current_device())
    dist.all_reduce(mine, dist.ReduceOp.MAX)
    return dict(zip(graphs, mine.tolist()))


def timed(rows: int, length: int, calls: int, rounds: int) -> "dict[str, float]":
    """Time calls of some rows of bf16. Graphs end with this function: NCCL waits for them before it ends."""
    x, residual = (torch.zeros(rows, length, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    weight = torch.ones(length, device="cuda", dtype=torch.bfloat16)
    out, updated = torch.empty_like(x), torch.empty_like(x)

    def three_kernels() -> None:
        dist.all_reduce(x)
        F.rms_norm(torch.add(x, residual), (length,), weight, 1e-6)

    def fused(quant: "str | None") -> None:
        mscclc.all_reduce_rms_norm(x, residual, weight, 1e-6, None if quant else out, quant, residual_out=updated)

    graphs = {
        "sum": graph_of(lambda: dist.all_reduce(x), calls),
        "torch": graph_of(three_kernels, calls),
        "mscclc": graph_of(lambda: fused(None), calls),
        "e4m3": graph_of(lambda: fused("e4m3"), calls),
    }
    return micros(graphs, calls, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--length", type=int, default=8192, help="elements of a row")
    parser.add_argument("--calls", type=int, default=20, help="calls of a graph")
    parser.add_argument("--rounds", type=int, default=21, help="replays of a graph")
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    options = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    dist.init_process_group("nccl")
    first = dist.get_rank() == 0
    for dtype in (torch.bfloat16, torch.float16):
        for quant in (None, "e4m3"):
            worst = max(judged(length, rows, dtype, quant)
                        for length, rows in [(options.length, 1), (options.length, 65), (1000, 7), (24, 300)])
            if first:
                print(f"# {dtype}, {quant or 'not quantised'}: the largest error is {worst:.2f} roundings", flush=True)
            assert worst <= 2, worst
    if first:
        print(f"{'rows':>5} {'sum':>8} {'torch':>8} {'mscclc':>8} {'e4m3':>8}   mscclc-sum  mscclc/sum mscclc/torch")
    for rows in options.rows:
        t = timed(rows, options.length, options.calls, options.rounds)
        if first:
            line = " ".join(f"{micros:8.2f}" for micros in t.values())
            print(f"{rows:5} {line}   {t['mscclc'] - t['sum']:10.2f}"
                  f"  {t['mscclc'] / t['sum']:10.3f} {t['mscclc'] / t['torch']:12.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
