package host

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"mscclc/executor"
)

// A piece is memory that was made at once: a file in memory, which is mapped.
type piece struct {
	address uint64
	bytes   []byte
	file    int
}

// own is the memory that this process has made, by address.
var own struct {
	sync.Mutex
	pieces []*piece
}

func byAddress(p *piece, address uint64) int {
	switch {
	case address < p.address:
		return 1
	case address >= p.address+uint64(len(p.bytes)):
		return -1
	}
	return 0
}

// find returns the piece that bytes from an address on lie in.
func find(address uint64, bytes int64) (*piece, error) {
	own.Lock()
	defer own.Unlock()
	at, found := slices.BinarySearchFunc(own.pieces, address, byAddress)
	if !found {
		return nil, fmt.Errorf("%#x is no shared memory of this process", address)
	}
	p := own.pieces[at]
	if left := p.address + uint64(len(p.bytes)) - address; bytes < 0 || uint64(bytes) > left {
		return nil, fmt.Errorf("%d bytes from %#x on are wanted, and its memory has %d", bytes, address, left)
	}
	return p, nil
}

// view is memory of this process.
func view(address uint64, bytes int64) ([]byte, error) {
	if bytes == 0 {
		return nil, nil
	}
	p, err := find(address, bytes)
	if err != nil {
		return nil, err
	}
	at := address - p.address
	return p.bytes[at : at+uint64(bytes)], nil
}

func addressOf(bytes []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(bytes)))) }

// Alloc makes memory.
func (g *gpu) Alloc(bytes int64) (uint64, error) {
	if bytes < 1 || bytes > 1<<46 {
		return 0, fmt.Errorf("shared memory of %d bytes", bytes)
	}
	p, err := newPiece(bytes)
	if err != nil {
		return 0, fmt.Errorf("%d bytes of shared memory: %w", bytes, err)
	}
	p.address = addressOf(p.bytes)
	own.Lock()
	defer own.Unlock()
	at, _ := slices.BinarySearchFunc(own.pieces, p.address, byAddress)
	own.pieces = slices.Insert(own.pieces, at, p)
	return p.address, nil
}

// AllocNet makes memory that the proxy of this process reaches, as it does all.
func (g *gpu) AllocNet(bytes int64) (uint64, error) { return g.Alloc(bytes) }

// Free gives memory back.
func (g *gpu) Free(address uint64) error {
	p, err := find(address, 0)
	if err != nil {
		return err
	}
	if p.address != address {
		return fmt.Errorf("%#x is not where shared memory begins", address)
	}
	own.Lock()
	at, _ := slices.BinarySearchFunc(own.pieces, address, byAddress)
	own.pieces = slices.Delete(own.pieces, at, at+1)
	own.Unlock()
	return p.free()
}

// Owns says why memory is not of this process. All shares of the host have the same.
func (g *gpu) Owns(address uint64, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	_, err := find(address, bytes)
	return err
}

// Reaches returns an error for a GPU of another kind.
func (g *gpu) Reaches(to executor.GPU) error {
	if _, ok := to.(*gpu); !ok {
		return fmt.Errorf("%v cannot reach %v, which is no share of the host: %w", g, to, executor.ErrNoDevice)
	}
	return nil
}

// Connect has nothing to do in one process.
func (g *gpu) Connect(to executor.GPU, _ uint64, _ int64) error { return g.Reaches(to) }

// Peek reads beside what runs.
func (g *gpu) Peek(to []byte, address uint64) error {
	from, err := view(address, int64(len(to)))
	copy(to, from)
	return err
}

// Poke writes beside what runs.
func (g *gpu) Poke(address uint64, from []byte) error {
	to, err := view(address, int64(len(from)))
	copy(to, from)
	return err
}
