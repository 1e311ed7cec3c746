"""What the tests share: the folder of programs, and jobs of several processes."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Callable, List

import pytest

HERE = Path(__file__).parent
PATIENCE = 240  # seconds; a job takes a few, also on a busy machine


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder of the programs that tests load."""
    return HERE / "programs"


@pytest.fixture
def job() -> Callable[..., List[str]]:
    """Return a function that runs job.py in several processes, and returns what each has printed."""

    def run(kind: str, ranks: int, *scenes: str) -> List[str]:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        command = [sys.executable, str(HERE / "job.py"), kind, f"127.0.0.1:{port}", str(ranks)]
        pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        each = [subprocess.Popen([*command, str(rank), *scenes], **pipe) for rank in range(ranks)]  # type: ignore
        try:
            said = [process.communicate(timeout=PATIENCE)[0] for process in each]
        finally:
            for process in each:
                process.kill()
        ended = [f"rank {rank} ended with {each[rank].returncode}:\n{text}" for rank, text in enumerate(said)]
        assert not any(process.returncode for process in each), "\n".join(ended)
        return said

    return run
