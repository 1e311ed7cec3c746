//go:build linux

package shared

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"syscall"

	"mscclc/executor"

	"golang.org/x/sys/unix"
)

// This file has the system make shared memory, and map that of other processes.

// Supported says why this system has no such memory.
func Supported() error { return nil }

// memoryName is how /proc shows the files.
const memoryName = "mscclc"

// newPiece makes zeroed memory. It takes space where it is touched.
func newPiece(bytes int64) (*piece, error) {
	if err := enough(bytes); err != nil {
		return nil, err
	}
	file, err := unix.MemfdCreate(memoryName, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making a file in memory: %w%s", err, hint(err))
	}
	p := &piece{file: file}
	if err := syscall.Ftruncate(file, bytes); err != nil {
		return nil, errors.Join(fmt.Errorf("a file in memory: %w", err), p.free())
	}
	if p.bytes, err = mapped(file, bytes); err != nil {
		return nil, errors.Join(err, p.free())
	}
	return p, nil
}

func mapped(file int, bytes int64) ([]byte, error) {
	m, err := syscall.Mmap(file, 0, int(bytes), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping a file in memory: %w%s", err, hint(err))
	}
	return m, nil
}

// hint says what may help.
func hint(err error) string {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return " (ulimit -n)"
	case errors.Is(err, syscall.ENOMEM):
		return " (out of memory, or ulimit -v)"
	}
	return ""
}

func (p *piece) free() error {
	var errs []error
	if p.bytes != nil {
		errs = append(errs, syscall.Munmap(p.bytes))
	}
	return errors.Join(append(errs, syscall.Close(p.file))...)
}

// enough refuses memory that the machine, or a limit, has no room for: the system itself gives it, and ends the
// process that touches it.
func enough(bytes int64) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err == nil && uint64(bytes) > limit.Cur {
		return fmt.Errorf("out of memory: files of this process may have %d bytes (ulimit -f): %w", limit.Cur,
			executor.ErrNoDevice)
	}
	if left, ok := Available(); ok && bytes > left {
		return fmt.Errorf("out of memory: there are %d bytes left: %w", left, executor.ErrNoDevice)
	}
	return nil
}

// A handle is what another process needs to know of memory.
type handle struct {
	Boot   string // of the machine
	PID    int
	File   int
	Inode  uint64
	Bytes  int64 // of the file
	Offset uint64
}

// Machine returns a number of this machine's, or nothing where it does not say.
func Machine() string { return machine() }

var machine = sync.OnceValue(func() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
})

// Node names what processes must have in common to map each other's memory: the machine, and the processes that /proc
// shows.
func Node() string {
	space, _ := os.Readlink("/proc/self/ns/pid") // where there are none, all see each other
	return machine() + " " + space
}

// Share makes a handle of bytes at an address of this process, which Reach in another takes while the memory is there.
func Share(address uint64, bytes int64) ([]byte, error) {
	p, err := find(address, bytes)
	if err != nil {
		return nil, err
	}
	var is syscall.Stat_t
	if err := syscall.Fstat(p.file, &is); err != nil {
		return nil, fmt.Errorf("a file in memory: %w", err)
	}
	return json.Marshal(&handle{Boot: machine(), PID: os.Getpid(), File: p.file, Inode: is.Ino, Bytes: int64(len(p.bytes)),
		Offset: address - p.address})
}

// reached is the memory of other processes that this one has mapped, by handle without offset.
var reached struct {
	sync.Mutex
	pieces map[handle]*mapping
}

// A mapping is there as long as somebody needs it.
type mapping struct {
	piece
	users int
}

// Reach maps memory of another process, and returns the address of what was shared. Leave undoes it. Memory that was
// reached before is not mapped again. first, if it is not nil, is called with memory that was not mapped before, all of
// it.
func Reach(text []byte, first func(whole []byte) error) (address uint64, err error) {
	h, offset, err := readHandle(text)
	if err != nil {
		return 0, err
	}
	if h.Boot != machine() {
		return 0, fmt.Errorf("process %d is on another machine, and processes on the CPU share one machine's memory: %w", h.PID,
			executor.ErrNotSupported)
	}
	reached.Lock()
	defer reached.Unlock()
	m := reached.pieces[h]
	if m == nil {
		if m, err = h.open(); err == nil && first != nil {
			if err = first(m.bytes); err != nil {
				syscall.Munmap(m.bytes)
			}
		}
		if err != nil {
			return 0, fmt.Errorf("shared memory of process %d: %w", h.PID, err)
		}
		if reached.pieces == nil {
			reached.pieces = map[handle]*mapping{}
		}
		reached.pieces[h] = m
	}
	m.users++
	return m.address + offset, nil
}

// readHandle reads the text of a handle, and takes the offset out of it.
func readHandle(text []byte) (h handle, offset uint64, err error) {
	if err := json.Unmarshal(text, &h); err != nil {
		return h, 0, fmt.Errorf("a handle of shared memory: %w", err)
	}
	offset, h.Offset = h.Offset, 0
	return h, offset, nil
}

// open maps the file.
func (h *handle) open() (*mapping, error) {
	const rule = "processes must be of one user, and see each other in /proc"
	path := fmt.Sprintf("/proc/%d/fd/%d", h.PID, h.File)
	if to, err := os.Readlink(path); err != nil || !strings.HasPrefix(to, "/memfd:"+memoryName) {
		return nil, fmt.Errorf("%s is no such file, but %q (%s): %w", path, to, rule, cmp.Or(err, os.ErrNotExist))
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, rule)
	}
	defer file.Close()
	var is syscall.Stat_t
	if err := syscall.Fstat(int(file.Fd()), &is); err != nil {
		return nil, err
	}
	if is.Ino != h.Inode || is.Size != h.Bytes {
		return nil, fmt.Errorf("%s is another file (%s)", path, rule)
	}
	bytes, err := mapped(int(file.Fd()), h.Bytes)
	if err != nil {
		return nil, err
	}
	return &mapping{piece: piece{address: addressOf(bytes), bytes: bytes}}, nil
}

// Leave undoes one Reach. last, if it is not nil, is called with memory that nobody needs any more, before it is
// unmapped.
func Leave(text []byte, last func(whole []byte) error) error {
	h, _, err := readHandle(text)
	if err != nil {
		return err
	}
	reached.Lock()
	defer reached.Unlock()
	m := reached.pieces[h]
	if m == nil {
		return nil
	}
	if m.users--; m.users > 0 {
		return nil
	}
	delete(reached.pieces, h)
	if last != nil {
		err = last(m.bytes)
	}
	return errors.Join(err, syscall.Munmap(m.bytes))
}

// ownSpace returns the bytes that this process may yet map, if there is a limit to that.
func ownSpace() (bytes int64, limited bool) {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &limit) != nil || limit.Cur >= math.MaxInt64 {
		return 0, false
	}
	var pages int64 // the first number of statm
	if !read("/proc/self/statm", &pages) {
		return 0, false
	}
	return max(int64(limit.Cur)-pages*int64(os.Getpagesize()), 0), true
}
