"""The exceptions of the package. Each has the code, the position and the hint that the command prints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Sequence, Tuple, Type, TypeVar

E = TypeVar("E", bound="Error")

# What the proof of a program finds. Other codes are of the text of a program, or of a command line.
_PROOF = frozenset(
    "unmatched deadlock race across-nodes uninitialized wrong-result uneven final undecided".split()
)
_COMMAND = frozenset("usage unavailable internal io timeout".split())


@dataclass(frozen=True)
class Note:
    """A sentence that explains a problem, and the position that it is about."""

    message: str
    position: Optional[str] = None


@dataclass(frozen=True)
class Problem:
    """One problem of a program. `mscclc explain CODE` describes its code. A warning rejects nothing."""

    code: str
    message: str
    position: Optional[str] = None  # file:line:column, or the file
    hint: Optional[str] = None
    notes: Tuple[Note, ...] = ()
    rank: Optional[int] = None
    block: Optional[int] = None
    step: Optional[int] = None
    warning: bool = False
    counterexample: Optional[Mapping[str, Any]] = field(default=None, compare=False)

    @staticmethod
    def of(document: Mapping[str, Any]) -> "Problem":
        """Return the problem that a JSON document of the command describes."""
        notes = tuple(Note(n["message"], n.get("pos")) for n in document.get("notes", ()))
        rest = {k: document.get(k) for k in ("hint", "rank", "block", "step", "counterexample")}
        return Problem(
            code=document["code"],
            message=document["message"],
            position=document.get("pos"),
            notes=notes,
            warning=bool(document.get("warning")),
            **rest,
        )

    def document(self) -> Mapping[str, Any]:
        """Return the problem as the JSON document that `of` reads."""
        notes = [{"message": n.message, "pos": n.position} for n in self.notes]
        return {**vars(self), "pos": self.position, "notes": notes}

    def __str__(self) -> str:
        lines = [(self.position + ": " if self.position else "") + self.message + " [" + self.code + "]"]
        lines += [(n.position + ": " if n.position else "") + "note: " + n.message for n in self.notes]
        if self.hint:
            lines.append("hint: " + self.hint)
        return "\n".join(lines)


class Error(Exception):
    """The base of all exceptions of this package. Its attributes are those of its first problem."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        first = self.problems[0]
        self.code, self.message = first.code, first.message
        self.position, self.hint, self.notes = first.position, first.hint, first.notes
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.problems,)

    @classmethod
    def say(cls: Type[E], code: str, message: str, hint: Optional[str] = None, position: Optional[str] = None) -> E:
        """Return an exception with one problem."""
        return cls([Problem(code, message, position, hint)])


class CompileError(Error):
    """The text of a program is wrong, or the program cannot be compiled so."""


class Rejected(Error):
    """The proof found a schedule or a size with which the program goes wrong."""


class CommandError(Error):
    """The command is missing, cannot read a file, or cannot work on this machine."""


class ArrayError(Error, ValueError):
    """An array cannot be used in this call: its type, length, memory or overlap is wrong."""


class LibraryError(Error):
    """The library libmscclc.so is missing, or one of its calls failed."""


def error_of(problems: Sequence[Problem]) -> Error:
    """Return the exception for the problems of a program or of a command line."""
    wrong = [p for p in problems if not p.warning] or list(problems)
    code = wrong[0].code
    kind = Rejected if code in _PROOF else CommandError if code in _COMMAND else CompileError
    return kind(wrong)


def error_named(kind: str, problems: Sequence[Problem]) -> Error:
    """Return an exception of the class with this name, as another rank raised it."""
    kinds = {k.__name__: k for k in (CompileError, Rejected, CommandError, ArrayError, LibraryError)}
    return kinds.get(kind, Error)(problems)
