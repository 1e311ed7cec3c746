"""What the command finds, as objects and exceptions."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import mscclc
import scenes
from mscclc import _command, _rows


def test_verdict(programs: Path) -> None:
    verdict = mscclc.prove(programs / "both_ways.mscl", ranks="2-4,8")
    assert (verdict.algorithm, verdict.collective) == ("both_ways", "allgather")
    assert verdict.ranks == (2, 3, 4, 8) and verdict.programs == 4 and verdict.steps > 0 and verdict.result
    assert mscclc.prove(programs / "both_ways.mscl", ranks=[3, 5]).ranks == (3, 5)
    assert mscclc.prove("allreduce/ring", ranks=4).collective == "allreduce"


def test_parameters(programs: Path) -> None:
    assert mscclc.prove("halo/direct", ranks=4, rows=2).ranks == (4,)
    with pytest.raises(mscclc.CompileError) as caught:
        mscclc.prove(programs / "both_ways.mscl", ranks=4, colour=3)
    assert caught.value.code == "parameter"


def test_compile_error(programs: Path) -> None:
    with pytest.raises(mscclc.CompileError) as caught:
        mscclc.prove(programs / "misspelt.mscl")
    error = caught.value
    assert error.code == "undefined" and error.message == "rnk is not defined"
    assert error.position == f"{programs}/misspelt.mscl:5:71"
    assert error.hint is not None and "ranks = 4 (parameter)" in error.hint
    assert "hint: " in str(error) and "[undefined]" in str(error)


def test_rejected(programs: Path) -> None:
    with pytest.raises(mscclc.Rejected) as caught:
        mscclc.prove(programs / "wrong.mscl")
    error = caught.value
    assert error.code == "wrong-result" and error.position is not None and error.position.endswith("wrong.mscl:3:1")
    assert [n.message for n in error.notes][0] == "nothing writes output[0] of rank 0"
    assert error.problems[0].rank == 0
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is mscclc.Rejected and again.problems == error.problems


def test_command_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(mscclc.CommandError) as caught:
        mscclc.prove("nothing-here.mscl")
    assert caught.value.code == "io" and caught.value.hint
    with pytest.raises(mscclc.CommandError) as caught:
        mscclc.prove("allreduce/ring", options=["--nonsense"])
    assert caught.value.code == "usage"
    with pytest.raises(mscclc.CommandError, match="is not one program"):
        mscclc.prove(scenes.ALLTOALLV.parents[1])
    monkeypatch.setenv("MSCCLC", "/nothing/here")
    with pytest.raises(mscclc.CommandError, match="/nothing/here"):
        mscclc.prove("allreduce/ring")


def test_simulate(programs: Path) -> None:
    found = mscclc.simulate(programs / "both_ways.mscl", ranks=8, options=["--begin=1K", "--end=4M"])
    assert found.ranks == 8 and found.topology == "h200"
    assert [size.bytes for size in found.sizes] == [1 << n for n in range(10, 23, 2)]
    assert all(size.us > 0 and size.busbw > 0 for size in found.sizes)


def test_select(programs: Path) -> None:
    choice = mscclc.select("allgather", programs / "both_ways.mscl", options=["--end=16M"])
    assert choice.ranges[0].start == 0 and choice.ranges[-1].stop is None
    assert choice.at(1 << 20) in choice.ranges
    for one, following in zip(choice.ranges, choice.ranges[1:]):
        assert one.stop == following.start and choice.at(following.start) is following


def test_compile(programs: Path, tmp_path: Path) -> None:
    made = mscclc.compile(programs / "both_ways.mscl", tmp_path / "four.xml", target="msccl", ranks=4)
    assert made.ranks == 4 and made.target == "msccl" and made.use
    assert mscclc.prove(made.output).collective == "allgather"


def test_script() -> None:
    """The wheel puts the command on PATH."""
    script = Path(sys.executable).parent / "mscclc"
    if not script.exists() or not _command.FILES.exists():
        pytest.skip("the wheel is not installed")
    env = {k: v for k, v in os.environ.items() if k != "MSCCLC"}
    done = subprocess.run([script, "explain", "deadlock"], env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0 and "deadlock" in done.stdout, done.stderr
    assert subprocess.run([script, "nonsense"], env=env, capture_output=True, timeout=240).returncode == 2


def test_found_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script of that name on PATH is passed by: it may be the package's own, which would start itself."""
    for name, head in (("script", b"#!/bin/sh\n"), ("binary", b"\x7fELF")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mscclc").write_bytes(head)
        (tmp_path / name / "mscclc").chmod(0o755)
    monkeypatch.delenv("MSCCLC", raising=False)
    monkeypatch.setattr(_command, "FILES", tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/script:{tmp_path}/binary")
    assert _command.find() == f"{tmp_path}/binary/mscclc"
    monkeypatch.setenv("MSCCLC", "mscclc")  # a name, as of any command
    assert _command.find() == f"{tmp_path}/binary/mscclc"
    monkeypatch.setenv("MSCCLC", f"{tmp_path}/binary")  # a folder
    with pytest.raises(mscclc.CommandError, match="binary, which cannot be run"):
        _command.find()
    monkeypatch.setenv("MSCCLC", "other")
    with pytest.raises(mscclc.CommandError, match="the command other is not found"):
        _command.find()
    monkeypatch.delenv("MSCCLC")
    monkeypatch.setenv("PATH", f"{tmp_path}/script")
    with pytest.raises(mscclc.CommandError, match="the command mscclc is not found"):
        _command.find()


def test_lists_of_stages() -> None:
    """Lists have spaces as one likes, and what is no list is an error."""
    plain = _rows.kinds("residual, rms_norm(eps), quantise(e4m3, block = 128)")
    assert [tuple(k) for k in plain] == [("residual", "", 0), ("rms_norm", "eps", 0), ("quantise", "e4m3", 128)]
    assert _rows.kinds(" residual( ),rms_norm(\teps,) ,\nquantise ( e4m3,block=128,),") == plain
    assert _rows.kinds("") == []
    wrong = ("residual rms_norm(eps)", "rms_norm(eps", "scale,,bias", "scale(,)", "quantise(e4m3, block = 0)", "scäle")
    for text in wrong:
        with pytest.raises(mscclc.ArrayError, match="is no list of stages"):
            _rows.kinds(text)
    with pytest.raises(mscclc.ArrayError, match="there is no stage rmsnorm"):
        _rows.kinds("residual, rmsnorm(eps)")
