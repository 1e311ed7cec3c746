//go:build !cgo || !linux

package gputest

// newMapper is for devices, of which there are none without cgo.
func newMapper(Device, bool) allocator { return nil }
