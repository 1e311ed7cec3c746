package shared

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"
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

// View returns memory of this process. It fails where bytes from an address on are not in one piece that Alloc made.
func View(address uint64, bytes int64) ([]byte, error) {
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

// Alloc makes memory, zeroed. Its address is a multiple of a page, and it takes space where it is touched.
func Alloc(bytes int64) (uint64, error) {
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

// Free gives memory back.
func Free(address uint64) error {
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
