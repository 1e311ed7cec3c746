//go:build cgo

package fibers

// #cgo CXXFLAGS: -O3 -std=c++17 -fno-exceptions -fno-rtti -Wall -Wextra
// #cgo LDFLAGS: -lpthread
import "C"

import _ "mscclc/kernels" // a change to the kernel's headers must rebuild this package
