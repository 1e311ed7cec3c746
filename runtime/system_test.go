package runtime_test

import (
	"debug/elf"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// systemCalls is the only unit that makes system calls which a signal can interrupt, or which may move fewer bytes than
// asked for. Its functions repeat them.
const systemCalls = "transport/system.cc"

// interruptible are the C library's functions for such calls, without the suffix 64 of some.
var interruptible = strings.Fields(`open openat creat read readv pread preadv write writev pwrite pwritev ftruncate
	truncate fallocate fsync fdatasync flock lockf connect accept accept4 send sendto sendmsg sendmmsg recv recvfrom recvmsg
	recvmmsg poll ppoll select pselect epoll_wait epoll_pwait nanosleep clock_nanosleep usleep sleep pause sigsuspend
	sigwaitinfo sigtimedwait sem_wait sem_timedwait sem_clockwait waitpid wait waitid wait4 msgrcv msgsnd semop semtimedop
	io_getevents getrandom getentropy syscall fopen fdopen freopen fgets fgetc getc getline fread fwrite fputs fputc putc
	fprintf vfprintf dprintf vdprintf printf puts perror popen system`)

// TestSystemCalls: no unit but one makes system calls that a signal can interrupt.
func TestSystemCalls(t *testing.T) {
	engine, err := engineObjects()
	if err != nil {
		t.Fatal(err)
	}
	made, err := parts()
	if err != nil {
		t.Fatal(err)
	}
	ofC, err := interfaceObjects()
	if err != nil {
		t.Fatal(err)
	}
	front, err := filepath.Glob(filepath.Join(made, "objects", "*.o"))
	if err != nil || len(front) == 0 {
		t.Fatal("there are no objects of the front: ", err)
	}
	own, seen := filepath.Base(systemCalls)+".o", false
	for _, object := range slices.Concat(engine, front, ofC) {
		calls := interruptibleOf(t, object)
		if filepath.Base(object) == own {
			seen = len(calls) > 10
			continue
		}
		if filepath.Base(object) == "fibers_host.cc.o" {
			continue // its naps are short, and one that a signal ends does no harm
		}
		for _, name := range calls {
			t.Errorf("%s calls %s, which a signal can interrupt: use %s", strings.TrimSuffix(filepath.Base(object), ".o"), name,
				"transport/system.h")
		}
	}
	if !seen {
		t.Errorf("%s makes no such calls: the names are wrong", own)
	}
}

// interruptibleOf returns the functions of the list that an object needs.
func interruptibleOf(t *testing.T, object string) (names []string) {
	t.Helper()
	f, err := elf.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		name := strings.TrimSuffix(strings.TrimPrefix(s.Name, "__"), "_chk") // as a compiler with more checks names it
		name = strings.TrimSuffix(strings.TrimSuffix(name, "_2"), "64")
		if s.Section == elf.SHN_UNDEF && slices.Contains(interruptible, name) {
			names = append(names, s.Name)
		}
	}
	return names
}
