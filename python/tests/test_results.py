"""What the command finds, as objects and exceptions."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import mscclc


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
