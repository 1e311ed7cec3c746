//go:build cgo

package main

// hasCPU says that this build has the CPU device.
const hasCPU = true
