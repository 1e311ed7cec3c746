//go:build !linux

package doctorcmd

import "errors"

var errOther = errors.New("only Linux has it")

func freeBytes(string) (int64, error) { return 0, errOther }
func writable(string) error           { return nil }
func lockedMemory() string            { return "" }
