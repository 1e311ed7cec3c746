"""mscclc compiles, proves, simulates and runs programs for collective communication.

    gather = mscclc.load("both_ways.mscl", group=dist.group.WORLD)
    gather(x, out=y)

docs/python.md describes the package.
"""

from importlib.metadata import PackageNotFoundError, version as _version

from ._calls import Buffer, Shape
from ._errors import ArrayError, CommandError, CompileError, Error, LibraryError, Note, Problem, Rejected
from . import _front
from ._front import front, register_backend
from ._groups import Group, TcpGroup
from ._norm import all_reduce_rms_norm
from ._program import Communicator, Program, load
from ._rows import Rows, Stage
from ._results import Choice, Compiled, Range, Simulation, Size, Verdict, compile, prove, select, simulate

__all__ = [
    "ArrayError", "Buffer", "Choice", "CommandError", "Communicator", "CompileError", "Compiled", "Error", "Group",
    "LibraryError", "Note", "Problem", "Program", "Range", "Rejected", "Rows", "Shape", "Simulation", "Size", "Stage",
    "TcpGroup", "Verdict", "all_reduce_rms_norm", "compile", "front", "load", "prove", "register_backend", "select",
    "simulate",
]  # fmt: skip

try:
    __version__ = _version("mscclc")
except PackageNotFoundError:  # a clone
    __version__ = "0.0.0"

_front.at_import()
