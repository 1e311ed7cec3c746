//go:build cgo

package devices

// HasCPU says that this build has the CPU device.
const HasCPU = true
