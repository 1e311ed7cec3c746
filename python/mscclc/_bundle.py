"""From a program's file to the bundle that all ranks load. Rank 0 makes it, and the others check what they named."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Iterator, Mapping, Sequence, Tuple

from . import _native
from ._command import Param, ask, texts
from ._errors import CommandError
from ._groups import Group

_DTYPES = "bf16,f16,f32,i32,i64,u8"  # they hold each size, so that elements of all types are moved


def agree(
    group: Group, file: str, device: str, options: Sequence[str], params: Mapping[str, Param]
) -> Tuple[bytes, str]:
    """Return the bytes of the bundle with a program, and the program's name there. All ranks call this."""
    facts, parts = group.together(
        lambda: _facts(file, device, options, params), lambda found: json.dumps(found).encode()
    )
    for rank, part in enumerate(parts):
        _compare(json.loads(parts[0]), json.loads(part), rank)
    name = os.path.splitext(os.path.basename(file))[0][:63]

    def made() -> bytes:
        return build(file, name, group.ranks, device, options, params) if group.rank == 0 else b""

    _, bundles = group.together(made, bytes)
    return bundles[0], name


def agree_rows(group: Group, device: str, stages: str, options: Sequence[str]) -> bytes:
    """Return the bytes of a bundle whose programs finish rows by stages. All ranks call this."""
    facts = {"stages": stages, "options": " ".join(options), "device": device}
    parts = group.exchange(json.dumps(facts).encode())
    for rank, part in enumerate(parts):
        _compare(json.loads(parts[0]), json.loads(part), rank)

    def made() -> bytes:
        if group.rank:
            return b""
        return _written(group.ranks, device, ["--then", stages, "--dtype", "bf16,f16,f32", *options])

    _, bundles = group.together(made, bytes)
    return bundles[0]


def _written(ranks: int, device: str, flags: Sequence[str]) -> bytes:
    """Have the command write a bundle without measured rules, and return its bytes."""
    with tempfile.TemporaryDirectory(prefix="mscclc-") as folder:
        output = os.path.join(folder, "one.bundle")
        ask("bundle", "--ranks", str(ranks), "--device", device, "--output", output, "--rules", "none", *flags)
        return Path(output).read_bytes()


def _facts(file: str, device: str, options: Sequence[str], params: Mapping[str, Param]) -> Mapping[str, str]:
    """Return what must be equal on all ranks. A name without a file is of the catalog, which the command holds."""
    path = Path(file)
    content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "none"
    return {
        "file": os.path.basename(file),
        "content (SHA-256)": content,
        "parameters": json.dumps(dict(sorted(texts(params).items()))),
        "options": " ".join(options),
        "device": device,
    }


def _compare(first: Mapping[str, str], other: Mapping[str, str], rank: int) -> None:
    for what, value in first.items():
        if other[what] != value:
            message = f"ranks load different programs: {what} is {value} on rank 0, and {other[what]} on rank {rank}"
            raise CommandError.say("usage", message, "call load with equal arguments on all ranks")


def build(
    file: str, name: str, ranks: int, device: str, options: Sequence[str], params: Mapping[str, Param]
) -> bytes:
    """Compile and prove a program, and return the bytes of a bundle in which it has a name.

    device is the GPU's name, as its driver has it, or CPU.
    """
    if file.endswith(".bundle"):
        if params or options:
            raise CommandError.say("usage", f"{file} is a bundle, whose programs have their parameters already")
        # The library takes no bundle that others may write to. What rank 0 hands on is a file of its own.
        _native.call("mscclc_close", _native.handle("mscclc_open", os.fsencode(file)))
        return Path(file).read_bytes()
    if "," in file:
        raise CommandError.say("usage", f"the name {file} has a comma", "rename the file")
    program = ",".join([f"{name}={file}", *(f"{k}={v}" for k, v in texts(params).items())])
    return _written(ranks, device, ["--program", program, "--dtype", _DTYPES, *options])


@contextlib.contextmanager
def as_file(data: bytes) -> Iterator[str]:
    """Write a bundle to a file that only this user can write to, and remove it afterwards."""
    with tempfile.TemporaryDirectory(prefix="mscclc-") as folder:
        path = os.path.join(folder, "loaded.bundle")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        yield path
