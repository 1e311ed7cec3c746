"""What the processes of a job do. All data are equal on all ranks, so that each rank computes what it must get."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Callable, List

import numpy as np

import mscclc

PROGRAMS = Path(__file__).parent / "programs"
ALLTOALLV = Path(__file__).parents[2] / "examples" / "python" / "alltoallv.mscl"
POISON = 77


def data(ranks: int, elements: int, dtype: str) -> Any:
    """Return the input of each rank: small whole numbers, whose sums are exact in each type."""
    return np.random.randint(-8, 8, (ranks, elements)).astype(dtype)


def to(kind: str, array: Any) -> Any:
    """Return a copy of an array: for torch, numpy, CuPy, or the mock driver. The kind cuda is torch on a GPU."""
    if kind == "mock":
        import mock

        return mock.Memory(array)
    if kind in ("torch", "cuda"):
        import torch

        copy = torch.from_numpy(array.copy())
        return copy.cuda() if kind == "cuda" else copy
    if kind == "cupy":
        import cupy

        return cupy.asarray(array)
    return array.copy()


def poisoned(kind: str, elements: int, dtype: str) -> Any:
    return to(kind, np.full(elements, POISON, dtype))


def host(array: Any) -> Any:
    """Return an array as one of numpy. It waits for the GPU."""
    if hasattr(array, "get"):  # CuPy
        return array.get()
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array)


def equal(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(host(found), expected)


def raises(kind: Any, call: Callable[[], Any]) -> Any:
    """Return the exception of this class that a call must raise."""
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__} was raised")


def gathers(comm: Any, kind: str) -> None:
    gather = mscclc.load(PROGRAMS / "both_ways.mscl", group=comm)
    assert (gather.name, gather.shape.collective) == ("both_ways", "allgather")
    for dtype in ("float32", "float16"):
        for elements in (1, 3, 64, 1000, 70_001):
            x = data(comm.ranks, elements, dtype)
            y = poisoned(kind, elements * comm.ranks, dtype)
            assert gather(to(kind, x[comm.rank]), out=y) is y
            equal(y, x.reshape(-1))
            if kind != "mock":
                equal(gather(to(kind, x[comm.rank])), x.reshape(-1))
    whole = poisoned(kind, 8 * comm.ranks, "float32")
    x = data(comm.ranks, 8, "float32")
    mine = whole[8 * comm.rank : 8 * comm.rank + 8]
    mine[:] = to(kind, x[comm.rank])
    gather(mine, out=whole)
    equal(whole, x.reshape(-1))


def halo(comm: Any, kind: str) -> None:
    exchange = comm.load(PROGRAMS / "halo.mscl")
    for elements in (1, 5, 4096):
        x = data(comm.ranks, 2 * elements, "float32").reshape(comm.ranks, 2, elements)
        y = poisoned(kind, 2 * elements, "float32")
        exchange(to(kind, x[comm.rank].reshape(-1)), out=y)
        found = host(y).reshape(2, elements)
        if comm.rank > 0:
            equal(found[0], x[comm.rank - 1, 1])
        if comm.rank < comm.ranks - 1:
            equal(found[1], x[comm.rank + 1, 0])


def alltoallv(comm: Any, kind: str) -> None:
    program = comm.load(ALLTOALLV)
    chunks = program.shape.inputs[0].units[comm.rank]

    def parts(r: int, q: int) -> int:
        return (r + 2 * q) % 4

    for elements in (1, 7, 1024):
        x = data(comm.ranks, chunks * elements, "float32").reshape(comm.ranks, chunks, elements)
        y = poisoned(kind, chunks * elements, "float32")
        program(to(kind, x[comm.rank].reshape(-1)), out=y)
        expected: List[Any] = []
        for r in range(comm.ranks):
            first = sum(parts(r, k) for k in range(comm.rank))
            expected.extend(x[r, first : first + parts(r, comm.rank)])
        equal(host(y).reshape(chunks, elements)[: len(expected)], np.array(expected).reshape(-1, elements))


def sums(comm: Any, kind: str) -> None:
    reduce = comm.load("allreduce/allpairs")
    x = data(comm.ranks, 24 * 100, "float32")
    for op, expected in (("sum", x.sum(0)), ("max", x.max(0)), ("min", x.min(0))):
        y = poisoned(kind, x.shape[1], "float32")
        reduce(to(kind, x[comm.rank]), out=y, op=op)
        equal(y, expected)
        y[:] = to(kind, x[comm.rank])
        assert reduce(y, out=y, op=op) is y
        equal(y, expected)


def bf16(comm: Any, kind: str) -> None:
    import torch

    reduce = comm.load("allreduce/allpairs")
    x = data(comm.ranks, 480, "float32")
    y = to(kind, x[comm.rank]).to(torch.bfloat16)
    reduce(y, out=y)
    equal(y.to(torch.float32), x.sum(0))


def compiled(comm: Any, kind: str) -> None:
    """torch.compile keeps calls in one graph: fullgraph=True allows no break."""
    import torch

    gather, reduce = comm.load(PROGRAMS / "both_ways.mscl"), comm.load("allreduce/allpairs")
    x = data(comm.ranks, 8, "float32")

    def into(mine: Any, y: Any) -> Any:
        double = mine * 2
        gather(double, out=y)
        return y + 1

    def in_place(mine: Any) -> Any:
        double = mine * 2
        reduce(double, out=double)
        return double + 1

    mine, y = to(kind, x[comm.rank]), poisoned(kind, 8 * comm.ranks, "float32")
    for backend in ("eager", "aot_eager") + (("inductor",) if kind == "cuda" else ()):
        for function, arguments, expected in (
            (into, (mine, y), 2 * x.reshape(-1) + 1),
            (lambda mine: gather(mine * 2) + 1, (mine,), 2 * x.reshape(-1) + 1),
            (in_place, (mine,), 2 * x.sum(0) + 1),
        ):
            made = torch.compile(function, fullgraph=True, backend=backend)
            for _ in range(2):
                equal(made(*arguments), expected)
        equal(y, 2 * x.reshape(-1))
        y[:] = POISON


def errors(comm: Any, kind: str) -> None:
    """Ranks that load other things, or what is wrong, all get the exception. Afterwards all is well."""
    error = raises(mscclc.CompileError, lambda: comm.load(PROGRAMS / "misspelt.mscl"))
    assert error.code == "undefined" and error.position.endswith("misspelt.mscl:5:71") and error.hint, error
    error = raises(mscclc.Rejected, lambda: comm.load(PROGRAMS / "wrong.mscl"))
    assert error.code == "wrong-result" and error.notes, error
    file = "halo.mscl" if comm.rank == 1 else "both_ways.mscl"
    error = raises(mscclc.CommandError, lambda: comm.load(PROGRAMS / file))
    assert "both_ways.mscl on rank 0, and halo.mscl on rank 1" in str(error), error
    missing = "missing.mscl" if comm.rank == comm.ranks - 1 else "halo.mscl"
    raises(mscclc.CommandError, lambda: comm.load(PROGRAMS / missing))
    gather = comm.load(PROGRAMS / "both_ways.mscl")
    x = poisoned(kind, 8, "float32")
    error = raises(mscclc.ArrayError, lambda: gather(x, out=x))
    assert error.code in ("counts", "overlap"), error
    gathers(comm, kind)


def aborted(comm: Any, kind: str) -> None:
    """Rank 0 aborts. The others, who wait for room in a full queue of launches, get an error."""
    gather = comm.load(PROGRAMS / "both_ways.mscl")
    x, y = poisoned(kind, 8, "float32"), poisoned(kind, 8 * comm.ranks, "float32")
    if comm.rank == 0:
        time.sleep(0.5)  # the others fill the queue
        comm.check()
        comm.abort()
        error = raises(mscclc.LibraryError, lambda: gather(x, out=y))
        assert error.code in ("aborted", "bad-use"), error
        error = raises(mscclc.LibraryError, comm.check)
        assert error.code == "aborted", error
        return
    error = raises(mscclc.LibraryError, lambda: [gather(x, out=y) for _ in range(1_000_000)])
    assert error.code in ("remote", "aborted"), error


def outlived(comm: Any, kind: str) -> None:
    """The last rank leaves after fewer calls than the others. They get an error that names it."""
    gather = comm.load(PROGRAMS / "both_ways.mscl")
    x, y = poisoned(kind, 8, "float32"), poisoned(kind, 8 * comm.ranks, "float32")
    gather(x, out=y)
    if comm.rank == comm.ranks - 1:
        return
    error = raises(mscclc.LibraryError, lambda: [gather(x, out=y) for _ in range(1_000_000)])
    assert error.code == "remote" and f"rank {comm.ranks - 1} has left after 1 calls" in error.message, error


def unloaded(comm: Any, kind: str) -> None:
    """The last rank does not load. The others get an error in time, as it does when it comes late."""
    if comm.rank == comm.ranks - 1:
        time.sleep(11)
    begin = time.monotonic()
    error = raises(mscclc.CommandError, lambda: comm.load(PROGRAMS / "both_ways.mscl"))
    assert time.monotonic() - begin < 60, "a busy machine, or no limit"
    assert comm.rank or f"rank {comm.ranks - 1} did not load within 9 s" in error.message, error


def reloads(comm: Any, kind: str) -> None:
    """Loading a program again opens no more files."""
    counts = []
    for _ in range(4):
        comm.load(PROGRAMS / "both_ways.mscl")
        counts.append(len(os.listdir("/proc/self/fd")))
    # Memory that ranks share has a file on the CPU, and other ranks' are mapped: as many at each load.
    assert counts[3] - counts[2] == counts[2] - counts[1], counts
    files = [f"/proc/self/fd/{n}" for n in os.listdir("/proc/self/fd")]
    bundles = [os.readlink(file) for file in files if os.path.lexists(file)]
    assert sum("loaded.bundle" in name for name in bundles) <= 1, bundles


def closed(comm: Any, kind: str) -> None:
    gather = comm.load(PROGRAMS / "both_ways.mscl")
    comm.close()
    comm.close()
    x, y = poisoned(kind, 8, "float32"), poisoned(kind, 8 * comm.ranks, "float32")
    error = raises(mscclc.LibraryError, lambda: gather(x, out=y))
    assert error.code == "bad-use", error


def graph(comm: Any, kind: str) -> None:
    """A graph of three calls is launched several times, between eager calls."""
    import mock

    gather = comm.load(PROGRAMS / "both_ways.mscl")
    x = data(comm.ranks, 300, "float32")
    mine, outputs = to(kind, x[comm.rank]), [poisoned(kind, 300 * comm.ranks, "float32") for _ in range(3)]
    gather(mine, out=outputs[0])
    with mock.Graph() as made:
        for y in outputs:
            gather(mine, out=y, stream=made.stream.value)
    for _ in range(3):
        for y in outputs:
            y[:] = poisoned(kind, 300 * comm.ranks, "float32")
        made.launch()
        for y in outputs:
            equal(y, x.reshape(-1))
        gather(mine, out=outputs[1])
        equal(outputs[1], x.reshape(-1))


EPS = 1e-5


def rms_norm(total: Any, weight: Any) -> Any:
    """Return the norm of the rows of a sum, in f64."""
    mean = (total * total).mean(-1, keepdims=True)
    return total / np.sqrt(mean + EPS) * weight


def e4m3(codes: Any) -> Any:
    """Return the numbers of bytes of E4M3."""
    codes = codes.astype(np.int64)
    exponent, part = codes >> 3 & 15, codes & 7
    value = np.where(exponent > 0, np.ldexp(8.0 + part, exponent - 10), np.ldexp(part * 1.0, -9))
    return np.where(codes & 128, -value, value)


def near(found: Any, expected: Any, relative: float) -> None:
    np.testing.assert_allclose(host(found).astype(np.float64), expected, rtol=relative, atol=1e-4)


def rows(comm: Any, kind: str) -> None:
    """Rows that are finished, as numpy computes them in f64. Outputs begin poisoned."""
    norm, quantised = (comm.load_rows(f"residual, rms_norm(eps){more}") for more in ("", ", quantise(e4m3)"))
    for dtype in ("float16", "float32"):
        for count, length in ((1, 8), (5, 77), (40, 512), (300, 256)):
            x, residual = data(comm.ranks, count * length, dtype), data(1, count * length, dtype)[0]
            weight = data(1, length, dtype)[0]
            total = (x.astype(np.float64).sum(0) + residual).reshape(count, length)
            mine = Shaped(to(kind, x[comm.rank]), (count, length))
            before, weights = to(kind, residual), to(kind, weight)
            y, updated = poisoned(kind, count * length, dtype), poisoned(kind, count * length, dtype)
            stages = [mscclc.Stage(reads=before, writes=updated), mscclc.Stage(value=EPS, reads=weights)]
            assert norm(mine, stages, out=y) is y
            equal(updated, total.reshape(-1).astype(dtype))
            near(y, rms_norm(total, weight).reshape(-1), 1e-3 if dtype == "float16" else 1e-5)
            codes, scales = poisoned(kind, count * length, "uint8"), poisoned(kind, count, "float32")
            in_place = mscclc.Stage(reads=before, writes=before)
            quantised(mine, [in_place, stages[1], mscclc.Stage(writes=scales)], out=codes)
            equal(before, total.reshape(-1).astype(dtype))
            largest = np.abs(rms_norm(total, weight)).max(-1)
            near(scales, np.where(largest == 0, 1, largest / 448), 1e-5)
            found = e4m3(host(codes)).reshape(count, length) * host(scales).reshape(count, 1)
            bound = np.abs(rms_norm(total, weight)) / 15.9 + host(scales).reshape(count, 1) / 900
            assert (np.abs(found - rms_norm(total, weight)) <= bound).all()
    error = raises(mscclc.ArrayError, lambda: norm(mine, stages[:1], out=y))
    assert "takes 2 stages" in error.message, error
    error = raises(mscclc.ArrayError, lambda: norm(mine, [mscclc.Stage(), stages[1]], out=y))
    assert "reads of residual is missing" in error.message, error
    error = raises(mscclc.ArrayError, lambda: norm(mine, [stages[0], mscclc.Stage(reads=updated)], out=y))
    assert error.code == "counts", error
    long = Shaped(to(kind, data(1, 1 << 17, "float32")[0]), (1 << 17,))
    same = [mscclc.Stage(reads=long.array, writes=poisoned(kind, 1 << 17, "float32")), mscclc.Stage(reads=long.array)]
    error = raises(mscclc.LibraryError, lambda: norm(long, same, out=poisoned(kind, 1 << 17, "float32")))
    assert error.code == "unsupported" and "longer" in error.message, error


class Shaped:
    """An array of one dimension as one of several."""

    def __init__(self, array: Any, shape: Any) -> None:
        self.array, self.shape = array, shape

    def __getattr__(self, name: str) -> Any:
        return getattr(self.array, name)


def row_graph(comm: Any, kind: str) -> None:
    """A graph of calls that finish rows is launched several times, with other data."""
    import mock

    norm = comm.load_rows("residual, rms_norm(eps)")
    count, length = 8, 256
    x, zeros = data(comm.ranks, count * length, "float16"), np.zeros(count * length, "float16")
    mine, residual, weight = to(kind, x[comm.rank]), to(kind, zeros), to(kind, np.ones(length, "float16"))
    y = poisoned(kind, count * length, "float16")
    stages = [mscclc.Stage(reads=residual, writes=residual), mscclc.Stage(value=EPS, reads=weight)]
    with mock.Graph() as made:
        for _ in range(2):  # the second one adds the sum again
            norm(Shaped(mine, (count, length)), stages, out=y, stream=made.stream.value)
    for _ in range(3):
        x = data(comm.ranks, count * length, "float16")
        mine[:], residual[:], y[:] = to(kind, x[comm.rank]), to(kind, zeros), poisoned(kind, count * length, "float16")
        made.launch()
        total = 2 * x.astype(np.float64).sum(0)
        equal(residual, total.astype("float16"))
        near(y, rms_norm(total.reshape(count, length), np.ones(length)).reshape(-1), 1e-3)


def norms(comm: Any, kind: str) -> None:
    """all_reduce_rms_norm by the library, and by torch where it cannot, with the same results within rounding."""
    import warnings

    import torch

    ranks, rank = comm.ranks, comm.rank
    for dtype, why in (("float16", ""), ("float32", ""), ("float64", "torch.float64")):
        x, residual, weight = data(ranks, 6 * 40, dtype), data(1, 6 * 40, dtype)[0], data(1, 40, dtype)[0]
        total = (x.astype(np.float64).sum(0) + residual).reshape(2, 3, 40)
        mine, before = torch.tensor(x[rank]).view(2, 3, 40), torch.tensor(residual).view(2, 3, 40)
        out = torch.full_like(mine, POISON)
        slanting = torch.full((3, 2, 40), POISON, dtype=mine.dtype).transpose(0, 1)  # not contiguous
        each: List[Any] = [{}, {"out": out}, {"residual_out": before.clone()}, {"out": slanting}]
        for given in each:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                norm, updated = mscclc.all_reduce_rms_norm(mine, before, torch.tensor(weight), EPS, **given)
            assert len(said) == bool(why and not given) and all(why in str(w.message) for w in said), said
            assert "out" not in given or norm is given["out"]
            assert "residual_out" not in given or updated is given["residual_out"]
            equal(updated, total.astype(dtype))
            near(norm, rms_norm(total, weight), 1e-3 if dtype == "float16" else 1e-5)
        slanted = torch.tensor(x[rank]).view(3, 2, 40).transpose(0, 1)
        norm, _ = mscclc.all_reduce_rms_norm(slanted, torch.zeros_like(slanted), torch.tensor(weight), EPS)
        near(norm, rms_norm(x.sum(0).astype(np.float64).reshape(3, 2, 40).transpose(1, 0, 2), weight), 1e-3)
    if not why:
        return
    x = data(ranks, 5 * 64, "float32")
    mine, zeros, ones = torch.tensor(x[rank]).view(5, 64), torch.zeros(5, 64), torch.ones(64)
    codes, scales, updated = mscclc.all_reduce_rms_norm(mine, zeros, ones, EPS, quant="e4m3")
    expected = rms_norm(x.sum(0).reshape(5, 64).astype(np.float64), 1)
    found = e4m3(host(codes.view(torch.uint8) if hasattr(codes, "view") else codes)) * host(scales)
    assert scales.shape == (5, 1) and (np.abs(found - expected) <= np.abs(expected) / 15.9 + 0.01).all()
    equal(updated, x.sum(0).reshape(5, 64))
    error = raises(mscclc.ArrayError, lambda: mscclc.all_reduce_rms_norm(mine, zeros, torch.ones(63), EPS))
    assert error.code == "counts", error
    raises(mscclc.ArrayError, lambda: mscclc.all_reduce_rms_norm(mine, zeros, ones, EPS, quant="e3m4"))


def norm_graph(comm: Any, kind: str) -> None:
    """all_reduce_rms_norm of bf16 on GPUs: eager, and in a graph that torch captures and replays."""
    import torch

    count, length, bf16 = 8, 512, torch.bfloat16
    weight = to(kind, data(1, length, "float32")[0])
    mine, residual = (to(kind, np.zeros((count, length), "float32")).to(bf16) for _ in range(2))

    def call() -> Any:
        norm, updated = mscclc.all_reduce_rms_norm(mine, residual, weight.to(bf16), EPS, group=comm)
        q, scales, _ = mscclc.all_reduce_rms_norm(mine, residual, weight.to(bf16), EPS, quant="e4m3", group=comm)
        return norm, updated, q, scales

    call()  # loads the programs
    made = torch.cuda.CUDAGraph()
    with torch.cuda.graph(made):
        captured = call()
    for turn in range(4):
        x, before = data(comm.ranks, count * length, "float32"), data(1, count * length, "float32")[0]
        mine.copy_(to(kind, x[comm.rank]).view(count, length))
        residual.copy_(to(kind, before).view(count, length))
        if turn % 2:
            norm, updated, q, scales = call()
        else:
            made.replay()
            norm, updated, q, scales = captured
        total = (x.sum(0) + before).reshape(count, length).astype(np.float64)
        expected = rms_norm(total, host(weight))
        equal(updated.float(), total)
        near(norm.float(), expected, 5e-3)
        found = host(q.float()) * host(scales)
        assert (np.abs(found - expected) <= np.abs(expected) / 15.9 + host(scales) / 900).all()
    comm.check()


def norms_without(comm: Any, kind: str) -> None:
    """Without the library on one rank, torch runs the calls of all, and each rank says once why."""
    import warnings

    import torch

    from mscclc import _native

    library = _native.library

    def missing() -> Any:
        raise mscclc.LibraryError.say("unavailable", "the library is gone")

    x = data(comm.ranks, 5 * 64, "float32")
    mine = torch.tensor(x[comm.rank]).view(5, 64)
    if comm.rank == comm.ranks - 1:
        _native.library = missing
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(3):
                norm, updated = mscclc.all_reduce_rms_norm(mine, torch.zeros(5, 64), torch.ones(64), EPS)
                equal(updated, x.sum(0).reshape(5, 64))
                near(norm, rms_norm(x.sum(0).reshape(5, 64).astype(np.float64), 1), 1e-5)
    finally:
        _native.library = library
    assert [f"rank {comm.ranks - 1}: the library is gone" in str(w.message) for w in said] == [True], said


def many(comm: Any, kind: str) -> None:
    """Programs of one communicator follow each other, so that any number of them can be captured."""
    import mock

    programs = [comm.load(PROGRAMS / "both_ways.mscl") for _ in range(9)]
    x = data(comm.ranks, 100, "float32")
    mine, outputs = to(kind, x[comm.rank]), [poisoned(kind, 100 * comm.ranks, "float32") for _ in programs]
    with mock.Graph() as made:
        for program, y in zip(programs, outputs):
            program(mine, out=y, stream=made.stream.value)
    made.launch()
    for program, y in zip(programs, outputs):
        equal(y, x.reshape(-1))
        y[:] = poisoned(kind, 100 * comm.ranks, "float32")
        program(mine, out=y)
        equal(y, x.reshape(-1))


def torch_graph(comm: Any, kind: str) -> None:
    """torch captures a graph of all programs here, and launches it several times, between eager calls."""
    import torch

    for _ in range(5):  # they take no room from those that are captured
        comm.load(PROGRAMS / "both_ways.mscl")
    gather, exchange = comm.load(PROGRAMS / "both_ways.mscl"), comm.load(PROGRAMS / "halo.mscl")
    reduce, ranks, elements = comm.load("allreduce/allpairs"), comm.ranks, 24 * 50
    mine, y = to(kind, np.zeros(elements, "float32")), poisoned(kind, elements * ranks, "float32")
    halos, total = poisoned(kind, elements, "float32"), poisoned(kind, elements, "float32")
    made = torch.cuda.CUDAGraph()
    with torch.cuda.graph(made):
        gather(mine, out=y)
        exchange(mine, out=halos)
        reduce(mine + 1, out=total)
        reduce(total, out=total, op="max")
    for _ in range(5):
        x = data(ranks, elements, "float32")
        mine[:] = to(kind, x[comm.rank])
        for output in (y, halos, total):
            output[:] = POISON
        made.replay()
        equal(y, x.reshape(-1))
        equal(total, x.sum(0) + ranks)
        if comm.rank > 0:
            equal(halos[: elements // 2], x[comm.rank - 1, elements // 2 :])
        eager = poisoned(kind, elements * ranks, "float32")
        gather(mine, out=eager)
        equal(eager, x.reshape(-1))
    comm.check()


def streams(comm: Any, kind: str) -> None:
    """Calls follow the current stream, and the one that is given."""
    import torch

    gather = comm.load(PROGRAMS / "both_ways.mscl")
    side = torch.cuda.Stream()
    for given in (False, True):
        x = data(comm.ranks, 1 << 18, "float32")
        mine, y = to(kind, np.zeros(1 << 18, "float32")), poisoned(kind, comm.ranks << 18, "float32")
        source = to(kind, x[comm.rank])
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(20_000_000)
            mine.copy_(source)
            if not given:
                gather(mine, out=y)
        if given:
            gather(mine, out=y, stream=side)
        with torch.cuda.stream(side):
            equal(y, x.reshape(-1))


def fp8(comm: Any, kind: str) -> None:
    import torch

    gather = comm.load(PROGRAMS / "both_ways.mscl")
    x = data(comm.ranks, 1000, "float32")
    mine = to(kind, x[comm.rank]).to(torch.float8_e4m3fn)  # moved as bytes: there are no sums
    equal(gather(mine).to(torch.float32), x.reshape(-1))


def jax_inputs(comm: Any, kind: str) -> None:
    """JAX's arrays are inputs. Outputs are CuPy's."""
    import cupy
    import jax

    gather = comm.load(PROGRAMS / "both_ways.mscl")
    for dtype in ("float32", "int32", "bfloat16"):
        for elements in (3, 1000, 70_001):
            x = data(comm.ranks, elements, "float32")
            mine = jax.device_put(x[comm.rank], jax.devices()[comm.device]).astype(dtype)
            if dtype == "bfloat16":  # CuPy has no such type
                import torch

                y = torch.zeros(elements * comm.ranks, dtype=torch.bfloat16, device=f"cuda:{comm.device}")
                gather(mine, out=y)
                equal(y.float(), x.reshape(-1))
                continue
            y = cupy.full(elements * comm.ranks, POISON, dtype)
            assert gather(mine, out=y) is y
            equal(y, x.reshape(-1))
    raises(mscclc.ArrayError, lambda: gather(mine, out=mine))
