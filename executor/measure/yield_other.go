//go:build !linux

package measure

import "runtime"

func yield() { runtime.Gosched() }
