"""The command mscclc: where it is, and what it answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, List, Mapping, NoReturn, Optional, Sequence, Union

from ._errors import CommandError, Problem, error_of

Param = Union[bool, int, str]

# The wheel has the command, the libraries and the header in this folder.
FILES = Path(__file__).parent / "_files"


def find() -> str:
    """Return the path of the command: MSCCLC if it is set, else the one of the wheel, else the one on PATH.

    MSCCLC is a path, or a name that is searched on PATH.
    """
    named = os.environ.get("MSCCLC") or "mscclc"
    if os.sep in named:
        if not os.path.isfile(named) or not os.access(named, os.X_OK):
            raise CommandError.say("unavailable", f"MSCCLC names {named}, which cannot be run")
        return named
    inside = FILES / "bin" / "mscclc"
    if named == "mscclc" and inside.exists():
        return str(inside)
    # The script that pip makes of `main` is on PATH too. It would start itself without end.
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = shutil.which(named, path=folder) if folder else None
        if path and not _is_script(path):
            return path
    hint = "install the wheel, or set MSCCLC to the path of the command"
    raise CommandError.say("unavailable", f"the command {named} is not found", hint)


def _is_script(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def main() -> NoReturn:
    """Become the command. The script mscclc of the wheel calls this."""
    try:
        path = find()
    except CommandError as error:
        sys.exit(f"error: {error}")
    os.execv(path, [path, *sys.argv[1:]])


def flags(params: Mapping[str, Param], options: Sequence[str] = ()) -> List[str]:
    """Return the flags -p NAME=VALUE of parameters, after the flags in options."""
    return [*options, *(word for k, v in texts(params).items() for word in ("-p", f"{k}={v}"))]


def texts(params: Mapping[str, Param]) -> "dict[str, str]":
    """Return the values of parameters as the command reads them."""
    for name, value in params.items():
        if isinstance(value, float):
            message = f"the parameter {name} is {value}"
            raise CommandError.say("usage", message, "give a whole number, a text or a truth value")
    return {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in params.items()}


def ask(command: str, *arguments: str, env: Optional[Mapping[str, str]] = None) -> Any:
    """Run a command with --json and return its document. Problems that reject a program are exceptions."""
    path = find()
    done = subprocess.run(
        [path, command, "--json", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=None if env is None else {**os.environ, **env},
    )
    try:
        document = json.loads(done.stdout)
    except ValueError:
        said = done.stderr.decode(errors="replace").strip() or "it printed no document"
        message = f"mscclc {command} ended with exit code {done.returncode}: {said}"
        raise CommandError.say("internal", message) from None
    each = document if isinstance(document, list) else [document]
    problems = [Problem.of(p) for part in each if part.get("ok") is False for p in part["problems"]]
    if problems:
        raise error_of(problems)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise CommandError.say("internal", f"mscclc {command} ended with exit code {done.returncode}: {said}")
    return document
