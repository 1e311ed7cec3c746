//go:build cgo && linux

package enginetest

// #cgo CXXFLAGS: -O2 -std=c++17 -fno-exceptions -fno-rtti -Wall -Wextra
// #include "engine.h"
import "C"

import (
	"unsafe"

	"mscclc/transport"
)

// Use has transport.Open know this engine as test:SPEC.
func Use() { transport.UseTestEngine(unsafe.Pointer(&C.transport_test)) }
