//go:build cgo && linux

package gpu

import (
	"errors"
	"fmt"
	"unsafe"

	"mscclc/executor"
)

// An instance is a loaded program: tables and state on every GPU, and the memory
// that launches use.
type instance struct {
	machine  *machine
	img      *executor.Image
	gpus     []*card
	part     []*part
	rank     []rankMemory
	conns    []executor.ConnMemory
	wire     wireKey
	messages uint64 // the most that any connection may have carried since the last reset
	broken   error  // what makes the GPUs' memory unusable
}

// A part is what one GPU has of a program. Tables are those of the whole program,
// of which its blocks read their rows; slots and tails are of the connections that
// its ranks receive on, heads of those that they send on.
type part struct {
	gpu                                                 *card
	numbers                                             []uint32 // of its blocks
	steps, blocks, list, ranks, states, conns, counters buffer
	fifo, status                                        buffer
}

// rankMemory are the buffers of a rank, on its GPU.
type rankMemory struct{ input, output, scratch buffer }

// A wireKey is what slots are laid out by. Packets of one layout must not be read
// as those of another.
type wireKey struct {
	proto, slots uint32
	stride       uint64
}

func newInstance(m *machine, img *executor.Image, gpus []*card) (*instance, error) {
	in := &instance{machine: m, img: img, gpus: gpus, rank: make([]rankMemory, img.Program.Coll.Ranks), conns: make([]executor.ConnMemory, len(img.Conns))}
	for r := range in.rank {
		g := in.of(r)
		in.rank[r] = rankMemory{buffer{gpu: g}, buffer{gpu: g}, buffer{gpu: g}}
	}
	for _, g := range gpus {
		p := &part{gpu: g}
		for _, b := range p.buffers() {
			b.gpu = g
		}
		in.part = append(in.part, p)
	}
	for b := range img.Blocks {
		p := in.part[int(img.Blocks[b].Rank)%len(gpus)]
		p.numbers = append(p.numbers, uint32(b))
	}
	for _, p := range in.part {
		if err := p.tables(img); err != nil {
			return nil, errors.Join(err, in.free())
		}
	}
	return in, nil
}

// of is the GPU of a rank.
func (in *instance) of(rank int) *card { return in.gpus[rank%len(in.gpus)] }

func (p *part) buffers() []*buffer {
	return []*buffer{&p.steps, &p.blocks, &p.list, &p.ranks, &p.states, &p.conns, &p.counters, &p.fifo, &p.status}
}

// tables copies what does not change from launch to launch.
func (p *part) tables(img *executor.Image) error {
	conns := uint64(len(img.Conns))
	return errors.Join(
		p.steps.grow("steps", size(img.Steps)), p.blocks.grow("blocks", size(img.Blocks)), p.list.grow("blocks", size(p.numbers)),
		p.ranks.grow("ranks", uint64(img.Program.Coll.Ranks)*uint64(unsafe.Sizeof(executor.RankMemory{}))),
		p.states.grow("states", uint64(len(img.Blocks))*uint64(unsafe.Sizeof(executor.State{}))),
		p.conns.grow("connections", conns*uint64(unsafe.Sizeof(executor.ConnMemory{}))),
		p.counters.grow("counters", conns*uint64(unsafe.Sizeof(executor.Counters{}))),
		p.status.grow("a status", uint64(unsafe.Sizeof(executor.Status{}))),
		put(&p.steps, 0, img.Steps), put(&p.blocks, 0, img.Blocks), put(&p.list, 0, p.numbers))
}

// Close frees the instance's memory.
func (in *instance) Close() error {
	in.machine.busy.Lock()
	defer in.machine.busy.Unlock()
	return in.free()
}

func (in *instance) free() error {
	if in.broken != nil {
		return nil // what may still be in use is left alone
	}
	var errs []error
	for _, p := range in.part {
		for _, b := range p.buffers() {
			errs = append(errs, b.free())
		}
	}
	for i := range in.rank {
		r := &in.rank[i]
		errs = append(errs, r.input.free(), r.output.free(), r.scratch.free())
	}
	return errors.Join(errs...)
}

// reset forgets all messages and flags, as after a launch that left some behind.
func (in *instance) reset() error {
	var errs []error
	for _, p := range in.part {
		errs = append(errs, p.states.zero(), p.counters.zero(), p.fifo.zero())
	}
	in.wire, in.messages = wireKey{}, 0
	return errors.Join(errs...)
}

// prepare sees to the memory of a launch. Slots stay as they are from launch to
// launch, unless they are too small, of another protocol, or the 32 bits of a
// packet's flag would wrap.
func (in *instance) prepare(l *executor.Launch) error {
	p := &l.Params
	fits := in.wire.proto == p.Proto && in.wire.slots == p.Slots && in.wire.stride >= p.SlotStride
	if !fits || in.messages+l.Messages >= 1<<32-1 {
		if err := in.reset(); err != nil {
			return err
		}
		if err := in.connections(p); err != nil {
			return err
		}
		in.wire = wireKey{p.Proto, p.Slots, p.SlotStride}
	}
	p.SlotStride = in.wire.stride
	return in.memory(l)
}

// connections lays out slots and counters.
func (in *instance) connections(p *executor.Params) error {
	each := uint64(p.Slots) * p.SlotStride
	if each/uint64(p.Slots) != p.SlotStride {
		return errors.New("slots are out of range")
	}
	fill := make([]uint64, len(in.part))
	for _, c := range in.img.Conns {
		fill[int(c.Dst)%len(in.part)]++
	}
	for i, n := range fill {
		if each > 0 && n > 1<<46/each {
			return errors.New("slots are out of range")
		}
		if err := in.part[i].fifo.grow("slots", n*each); err != nil {
			return err
		}
		fill[i] = 0
	}
	for i, c := range in.img.Conns {
		src, dst := in.part[int(c.Src)%len(in.part)], int(c.Dst)%len(in.part)
		row := uint64(i) * uint64(unsafe.Sizeof(executor.Counters{}))
		in.conns[i] = executor.ConnMemory{Slots: in.part[dst].fifo.address + fill[dst]*each, Head: src.counters.address + row,
			Tail: in.part[dst].counters.address + row + uint64(unsafe.Offsetof(executor.Counters{}.Tail))}
		fill[dst]++
	}
	for _, p := range in.part {
		if err := put(&p.conns, 0, in.conns); err != nil {
			return err
		}
	}
	return nil
}

// longest bounds a buffer: the kernel counts its 16-byte units in 32 bits.
const longest = 1 << 35

// memory sees to the ranks' buffers, and tells the blocks where they are.
func (in *instance) memory(l *executor.Launch) error {
	table := make([]executor.RankMemory, len(in.rank))
	for i := range in.rank {
		r, m := &in.rank[i], &l.Memory[i]
		if n := int64(max(len(m.Input), len(m.Output))); max(n, l.Scratch[i]) > longest {
			return fmt.Errorf("buffers of %d bytes are over the limit of %d", max(n, l.Scratch[i]), int64(longest))
		}
		if err := errors.Join(r.input.grow("input", uint64(len(m.Input))), r.output.grow("output", uint64(len(m.Output))),
			r.scratch.grow("scratch", uint64(l.Scratch[i]))); err != nil {
			return err
		}
		table[i] = executor.RankMemory{Input: r.input.address + uint64(m.InAt), Output: r.output.address, Scratch: r.scratch.address}
		if m.Output == nil {
			table[i].Output = r.input.address + uint64(m.OutAt)
		}
	}
	for _, p := range in.part {
		if err := put(&p.ranks, 0, table); err != nil {
			return err
		}
	}
	return nil
}
