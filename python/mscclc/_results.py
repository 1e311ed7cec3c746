"""What the command finds, as objects: verdicts, simulations, choices and compiled files."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from typing import Any, Iterable, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union

from ._command import Param, ask, flags
from ._errors import CommandError, Problem

File = Union[str, "os.PathLike[str]"]
Ranks = Union[int, str, Iterable[int]]
T = TypeVar("T")


@dataclass(frozen=True)
class Verdict:
    """What was proven of a program. A program that is wrong has no verdict: it is an exception."""

    file: str
    algorithm: str
    collective: str
    ranks: Tuple[int, ...]  # numbers of ranks that are proven
    refused: Tuple[int, ...]  # numbers of ranks that an assert of the file refuses
    programs: int
    steps: int
    result: bool  # False: the file does not say what must hold at the end
    warnings: Tuple[Problem, ...]
    notes: Tuple[str, ...]
    document: Mapping[str, Any] = field(repr=False, compare=False)  # as `mscclc help json` describes it


@dataclass(frozen=True)
class Size:
    """The simulated time of a call. Times are in microseconds, bandwidths in GB/s, as nccl-tests has them."""

    bytes: int
    us: float
    latency_us: float
    algbw: float
    busbw: float
    passes: int = 0
    interval_us: Optional[float] = None
    replicas: Optional[int] = None
    ctas: Optional[int] = None
    link: Optional[str] = None
    occupied: float = 0.0
    program: Optional[str] = None
    bound_us: Optional[float] = None
    of_bound: Optional[float] = None


@dataclass(frozen=True)
class Simulation:
    """How long a program takes on a topology, for each size. If unmeasured, the device's costs are estimates."""

    file: str
    topology: str
    device: str
    ranks: int
    by: str
    sizes: Tuple[Size, ...]
    unmeasured: bool = False
    notes: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Range:
    """A range of sizes in bytes, from start to below stop, and the program that is fastest there."""

    start: int
    stop: Optional[int]  # None: no end
    at: int  # the size that the times are of
    program: str
    protocol: str
    us: float
    latency_us: float
    interval_us: Optional[float] = None
    replicas: Optional[int] = None
    lanes: Optional[int] = None
    threads: Optional[int] = None
    tile: Optional[int] = None
    via: Optional[str] = None
    next: Optional[str] = None
    behind: Optional[float] = None  # how many times as long next takes
    reason: Optional[str] = None
    bound_us: Optional[float] = None
    of_bound: Optional[float] = None


@dataclass(frozen=True)
class Choice:
    """The fastest program for each range of sizes on a topology."""

    collective: str
    topology: str
    ranks: int
    by: str
    ranges: Tuple[Range, ...]
    unmeasured: bool = False
    notes: Tuple[str, ...] = ()

    def at(self, size: int) -> Range:
        """Return the range that a call of a given number of bytes lies in."""
        for one in self.ranges:
            if one.start <= size and (one.stop is None or size < one.stop):
                return one
        raise ValueError(f"no range holds {size} bytes")


@dataclass(frozen=True)
class Compiled:
    """A file that `compile` wrote, and the line that loads it in the target's runtime."""

    output: str
    target: str
    algorithm: str
    collective: str
    ranks: int
    use: Optional[str]


def _make(kind: Type[T], document: Mapping[str, Any], **given: Any) -> T:
    names = {f.name for f in fields(kind)} - set(given)
    found = {name: document[name] for name in names if document.get(name) is not None}
    if "notes" in found:
        found["notes"] = tuple(found["notes"])
    return kind(**found, **given)


def _ranks(ranks: Optional[Ranks]) -> Sequence[str]:
    if ranks is None:
        return ()
    text = str(ranks) if isinstance(ranks, (int, str)) else ",".join(map(str, ranks))
    return ("--ranks", text)


def prove(file: File, *, ranks: Optional[Ranks] = None, options: Sequence[str] = (), **params: Param) -> Verdict:
    """Prove a program and return the verdict, or raise CompileError or Rejected.

    ranks is a number, several numbers, or text as in "2-17". params are parameters of the algorithm, and options more
    flags of `mscclc verify`.
    """
    documents = ask("verify", os.fspath(file), *_ranks(ranks), *flags(params, options))
    if len(documents) != 1 or "program" not in documents[0]:
        raise CommandError.say("usage", f"{file} is not one program", "`mscclc verify` proves folders and bundles")
    (document,) = documents
    program = document["program"]
    counts = document.get("counts", {"proven": [program["ranks"]], "programs": 1, "steps": program["steps"]})
    return Verdict(
        file=document["file"],
        algorithm=program["algorithm"],
        collective=program["collective"],
        ranks=tuple(counts["proven"]),
        refused=tuple(counts.get("refused", ())),
        programs=counts["programs"],
        steps=counts["steps"],
        result=document["proof"]["result"],
        warnings=tuple(Problem.of(p) for p in document["problems"]),
        notes=tuple(document.get("notes", ())),
        document=document,
    )


def simulate(
    file: File,
    *,
    ranks: Optional[int] = None,
    topology: str = "h200",
    options: Sequence[str] = (),
    **params: Param,
) -> Simulation:
    """Simulate a program on a topology. options are more flags of `mscclc simulate`, such as "--begin=1M"."""
    document = ask("simulate", os.fspath(file), "--topology", topology, *_ranks(ranks), *flags(params, options))
    return _make(Simulation, document, sizes=tuple(_make(Size, s) for s in document["sizes"]))


def select(collective: str, *files: File, topology: str = "h200", options: Sequence[str] = ()) -> Choice:
    """Find the fastest of the catalog's programs and of files, for each range of sizes, by simulation."""
    document = ask("select", collective, *[os.fspath(f) for f in files], "--topology", topology, *options)
    ranges = tuple(_make(Range, r, start=r["from"], stop=r.get("to")) for r in document["ranges"])
    return _make(Choice, document, ranges=ranges)


def compile(
    file: File,
    output: File,
    *,
    target: str = "program",
    ranks: Optional[int] = None,
    options: Sequence[str] = (),
    **params: Param,
) -> Compiled:
    """Compile and prove a program, and write it to output for a target: msccl, rccl, mscclpp or program."""
    where = ("--target", target, "--output", os.fspath(output))
    document = ask("compile", os.fspath(file), *where, *_ranks(ranks), *flags(params, options))
    return _make(Compiled, {"use": None, **document["program"], **document}, use=document.get("use"))
