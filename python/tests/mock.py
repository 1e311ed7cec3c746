"""Arrays of a GPU of the mock driver, whose memory this process can read."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from mscclc import _gpu


class Memory:
    """A one-dimensional array with the CUDA array interface, which begins as a copy of an array of numpy."""

    def __init__(self, array: Any, base: "Memory | None" = None) -> None:
        self.base, self.view = base, array
        if base is None:
            address = ctypes.c_uint64()
            _gpu.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(1, array.nbytes)))
            memory = (ctypes.c_char * array.nbytes).from_address(address.value)
            self.view = np.frombuffer(memory, array.dtype)
            self.view[:] = array

    @property
    def __cuda_array_interface__(self) -> Any:
        where = (self.view.ctypes.data, False)
        return {"shape": self.view.shape, "typestr": self.view.dtype.str, "data": where, "version": 3}

    def __array__(self, dtype: Any = None) -> Any:
        wait()
        return self.view.copy()

    def __getitem__(self, part: slice) -> "Memory":
        return Memory(self.view[part], self)

    def __setitem__(self, part: slice, value: "Memory") -> None:
        wait()
        self.view[part] = value.view


def wait() -> None:
    """Wait for the default stream."""
    _gpu.call("cuStreamSynchronize", None)


class Graph:
    """A graph of what is launched on `stream` within `with`."""

    def __init__(self) -> None:
        self.stream, self.made = ctypes.c_void_p(), ctypes.c_void_p()
        _gpu.call("cuStreamCreate", ctypes.byref(self.stream), 1)

    def __enter__(self) -> "Graph":
        _gpu.call("cuStreamBeginCapture_v2", self.stream, 0)
        return self

    def __exit__(self, *_: Any) -> None:
        graph = ctypes.c_void_p()
        _gpu.call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        _gpu.call("cuGraphInstantiateWithFlags", ctypes.byref(self.made), graph, ctypes.c_uint64(0))

    def launch(self) -> None:
        """Launch the graph once, and wait for it."""
        _gpu.call("cuGraphLaunch", self.made, self.stream)
        _gpu.call("cuStreamSynchronize", self.stream)
