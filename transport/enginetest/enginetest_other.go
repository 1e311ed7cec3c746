//go:build !cgo || !linux

package enginetest

// Use does nothing: builds without cgo have no engines.
func Use() {}

// Fault does nothing, too.
func Fault(string) {}
