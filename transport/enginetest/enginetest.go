//go:build cgo && linux

package enginetest

// #cgo CXXFLAGS: -O2 -std=c++17 -fno-exceptions -fno-rtti -Wall -Wextra
// #include "engine.h"
// #include <stdlib.h>
import "C"

import (
	"unsafe"

	"mscclc/transport"
)

// Use has transport.Open know this engine as test:SPEC.
func Use() { transport.UseTestEngine(unsafe.Pointer(&C.transport_test)) }

// Fault has the next message of any engine suffer a fault, named as in a spec.
func Fault(name string) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	C.transport_test_fault(text)
}
