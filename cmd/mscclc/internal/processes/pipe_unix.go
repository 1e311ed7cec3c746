//go:build unix

package processes

import "syscall"

// takePipe reports whether a file that this process began with is a pipe, and keeps it from processes that it starts.
func takePipe(fd int) bool {
	var is syscall.Stat_t
	if syscall.Fstat(fd, &is) != nil || is.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		return false
	}
	syscall.CloseOnExec(fd)
	return true
}
