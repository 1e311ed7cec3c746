"""The host's time of a call from Python, beside that of the same call from C, in one process of a job.

cost.py HOST:PORT RANKS RANK [CALLS] times rounds of CALLS calls on a GPU, by turns from C, from Python on tensors that
were checked before, and from Python on others. Rank 0 prints the medians of the rounds, and how much of each lies
within mscclc_run: the same code is slower there than in a loop of C, since Python has used the caches. It needs gcc.
"""

from __future__ import annotations

import ctypes
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List

import job
import mscclc
from mscclc import _native

ROUNDS = 41
LOOP = """
#include <stddef.h>
#include <time.h>
int (*run)(void *, void **, size_t, int, int, void *);
double within;  // ns in run
static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * 1e9 + at.tv_nsec;
}
int timed(void *program, void **buffers, size_t count, int dtype, int redop, void *stream) {
  const double begin = now();
  const int failed = run(program, buffers, count, dtype, redop, stream);
  within += now() - begin;
  return failed;
}
int calls(int n, void *program, void **buffers, size_t count, int dtype, int redop, void *stream) {
  int failed = 0;
  for (int i = 0; i < n; i++) failed |= timed(program, buffers, count, dtype, redop, stream);
  return failed;
}
"""


def loop_of_c() -> Any:
    """Return the library of LOOP, built by gcc, which calls mscclc_run."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "loop.c"), Path(folder, "loop.so")
        source.write_text(LOOP)
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", source, "-o", made], check=True)
        lib = ctypes.CDLL(str(made))
    address = ctypes.cast(_native.library().mscclc_run, ctypes.c_void_p)
    ctypes.c_void_p.in_dll(lib, "run").value = address.value
    return lib


def main(address: str, ranks: int, rank: int, calls: int) -> None:
    import torch

    number = job.gpu("cuda", rank)
    loop = loop_of_c()
    with mscclc.Communicator(store=address, ranks=ranks, rank=rank, device=f"cuda:{number}") as comm:
        program = comm.load(Path(__file__).parent / "programs" / "both_ways.mscl")
        # A call on a pair of tensors that is in no cache: as many pairs as calls of all rounds.
        x = torch.arange(256, dtype=torch.float32, device="cuda")
        y = torch.zeros(256 * ranks, dtype=torch.float32, device="cuda")
        pool = torch.zeros(256 * ranks * calls, dtype=torch.float32, device="cuda")
        others = [pool[256 * ranks * i : 256 * ranks * (i + 1)] for i in range(calls)]
        program._run = loop.timed
        program(x, out=y)
        arguments = next(iter(program._ready.values())).args
        within = ctypes.c_double.in_dll(loop, "within")
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

        def from_c() -> None:
            assert loop.calls(calls, *arguments, stream) == 0

        def from_python() -> None:
            for _ in range(calls):
                program(x, out=y)

        def unchecked() -> None:
            program._ready.clear()
            for other in others:
                program(x, out=other)

        ways: Dict[str, Callable[[], None]] = {"C": from_c, "Python": from_python, "Python, new tensors": unchecked}
        times: Dict[str, List[float]] = {name: [] for name in ways}
        inside: Dict[str, List[float]] = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, way in ways.items():
                torch.cuda.synchronize()
                began, within.value = time.perf_counter(), 0
                way()
                times[name].append((time.perf_counter() - began) / calls * 1e6)
                inside[name].append(within.value / calls / 1e3)
        torch.cuda.synchronize()
        comm.check()
    if rank == 0:
        for name, each in times.items():
            run = statistics.median(inside[name])
            print(f"{name}: {statistics.median(each):.2f} us a call (least {min(each):.2f}), {run:.2f} in mscclc_run")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int((sys.argv[4:] or ["400"])[0]))
