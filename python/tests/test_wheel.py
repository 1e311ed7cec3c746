"""The script that writes the wheel."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

WHEEL = Path(__file__).parent.parent / "wheel"


def write(folder: Path, output: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(WHEEL), str(folder), "--output", str(output), *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of a wheel. The library is the head of an ELF file for aarch64."""
    elf = b"\x7fELF" + bytes(14) + (183).to_bytes(2, "little") + bytes(44)
    names = "bin/mscclc lib/libmscclc.so lib/libmscclc-preload.so lib/nccl/libnccl.so.2 lib/other.txt"
    for name in names.split():
        path = tmp_path / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(elf)
    return tmp_path / "files"


def test_wheel(folder: Path, tmp_path: Path) -> None:
    name = "mscclc-0.2.0.dev3-py3-none-manylinux_2_28_aarch64.whl"
    first = write(folder, tmp_path / "a", "--version", "0.2.0.dev3")
    (folder / "bin/mscclc").touch()
    second = write(folder, tmp_path / "b", "--version", "0.2.0.dev3")
    assert first.stdout.strip() == str(tmp_path / "a" / name), first.stderr
    content = (tmp_path / "a" / name).read_bytes()
    assert content == Path(second.stdout.strip()).read_bytes()
    with zipfile.ZipFile(tmp_path / "a" / name) as archive:
        names = archive.namelist()
        record = archive.read("mscclc-0.2.0.dev3.dist-info/RECORD").decode().splitlines()
        assert [line.split(",")[0] for line in record] == names
        for line in record[:-1]:
            path, digest, size = line.split(",")
            data = archive.read(path)
            found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert digest == "sha256=" + found and int(size) == len(data)
        assert {"mscclc/__init__.py", "mscclc/py.typed", "mscclc/_files/lib/nccl/libnccl.so.2"} <= set(names)
        assert not [name for name in names if "test" in name or "other" in name]
        assert archive.getinfo("mscclc/_files/bin/mscclc").external_attr >> 16 & 0o777 == 0o755
        assert archive.getinfo("mscclc/__init__.py").external_attr >> 16 & 0o777 == 0o644


def test_refused(folder: Path, tmp_path: Path) -> None:
    assert "no version of a wheel" in write(folder, tmp_path, "--version", "v1-dirty").stderr
    (folder / "lib/libmscclc.so").write_bytes(b"text")
    assert "is no ELF file" in write(folder, tmp_path).stderr
    (folder / "bin/mscclc").unlink()
    done = write(folder, tmp_path)
    assert done.returncode == 1 and "has no bin/mscclc" in done.stderr
