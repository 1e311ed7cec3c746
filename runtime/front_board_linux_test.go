package runtime_test

import (
	"bytes"
	"strings"
	"syscall"
	"testing"
)

// TestFrontBoardHasNoName: making communicators and ending calls that do not match, which needs the board of the last
// calls, makes no file of ours in /dev/shm: whoever is killed then would leave it there.
func TestFrontBoardHasNoName(t *testing.T) {
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	defer syscall.Close(fd)
	if _, err := syscall.InotifyAddWatch(fd, "/dev/shm", syscall.IN_CREATE); err != nil {
		t.Skip(err)
	}
	s := site{how: "preload", ranks: 2, bundle: wholeBundle(t, 2)}
	r := s.do(t, "init 0", "allreduce 0 1000 7 0 0 0 v", "sync", "@0 allreduce 0 1000 7 0 0 0", "@1 allgather 0 50 9 0 0 0",
		"meet 1", "sleep 50", "abort 0")
	if want := "and rank 1 called ncclAllGather of 50 bf16"; !strings.Contains(r.output, want) {
		t.Errorf("%q is not in the output:\n%s", want, r.output)
	}
	made := make([]byte, 1<<16)
	if n, err := syscall.Read(fd, made); err == nil && bytes.Contains(made[:n], []byte("mscclc-")) {
		t.Errorf("files were made: %q", made[:n])
	}
}
