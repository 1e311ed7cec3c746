package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/exchange"
	"mscclc/ir/either"
)

// This file is the memory of a plan. A rank has an arena, which other ranks reach. A seat
// has memory of its own: states, a status and tables.

// lay gives the offsets of parts, whose bytes it gets, and the bytes of all.
func lay(parts ...uint64) (at []uint64, bytes uint64) {
	for _, n := range parts {
		at = append(at, bytes)
		bytes += (n + 255) &^ 255
	}
	return at, bytes
}

// settle has kernels ready. Where ranks have several blocks, and the caller leaves the number of replicas to the plan,
// these are no more than are resident at once on the GPUs of all processes, in blocks of the most threads. err is what
// has failed so far.
func (p *Plan) settle(ctx context.Context, opt *Options, err error) error {
	replicas := p.replicas
	for _, s := range p.seats {
		for _, t := range opt.Types {
			if err != nil {
				break
			}
			room := 0
			room, err = s.gpu.Load(t, p.kernel(s))
			replicas = min(replicas, room/max(p.blocks(s.ranks), 1))
		}
	}
	one, ok := p.kind.(*oneSided)
	if !ok || !one.open || widest(p.program()) < 2 {
		return err
	}
	all, err := exchange.Agree(ctx, p.x, replicas, err)
	if err != nil {
		return err
	}
	return one.reserve(max(slices.Min(all), opt.Replicas, 1), p.tile)
}

// blocks returns how many blocks a replica of some ranks has.
func (p *Plan) blocks(ranks []int) (sum int) {
	for _, r := range ranks {
		sum += len(p.program().TBsOf(r))
	}
	return sum
}

// widest returns how many blocks the rank of a program has that has most.
func widest(p *either.Program) (most int) {
	for r := range p.Rank {
		most = max(most, len(p.TBsOf(r)))
	}
	return most
}

// kernel returns what kernels a seat runs.
func (p *Plan) kernel(s *seat) executor.KernelKind {
	one := p.checked.Image.One
	switch {
	case p.net != nil && p.kind.(*oneSided).sharesCTAs():
		return executor.TogetherKernel
	case p.net != nil:
		return executor.NetKernel
	case one == nil:
		return executor.TwoSidedKernel
	case one.Port && one.Part(func(r int) bool { return slices.Contains(s.ranks, r) }).Ports():
		return executor.PortKernel
	}
	return executor.OneSidedKernel
}

// allocate makes the memory of this process's ranks.
func (p *Plan) allocate() error {
	for _, s := range p.seats {
		for i, r := range s.ranks {
			address, err := p.newArena(s, int64(p.kind.arena(r)+1)) // a rank may need none
			if err != nil {
				return err
			}
			s.arenas = append(s.arenas, address)
			s.reach[s.ranks[i]] = address
		}
		n, err := p.kind.sit(s)
		if err != nil {
			return err
		}
		if err := p.allocateOwn(s, &n); err != nil {
			return err
		}
	}
	return p.allocateNet()
}

// allocateOwn makes a seat's own memory, and puts its tables there.
func (p *Plan) allocateOwn(s *seat, n *needs) (err error) {
	parts := []uint64{n.states, uint64(n.lanes) * uint64(unsafe.Sizeof(abi.PortEnds{})), uint64(n.sent) * 8,
		uint64(unsafe.Sizeof(abi.Status{})), n.call * uint64(n.calls), uint64(n.boxes) * uint64(unsafe.Sizeof(abi.Inbox{}))}
	for _, t := range n.tables {
		parts = append(parts, uint64(len(t)))
	}
	at, bytes := lay(parts...)
	if s.own, err = s.gpu.Alloc(int64(bytes)); err != nil {
		return err
	}
	for i := range at {
		at[i] += s.own
	}
	s.at.states, s.at.ends, s.at.sent, s.at.status, s.at.calls, s.at.inboxes = at[0], at[1], at[2], at[3], at[4], at[5]
	s.at.tables = at[6:]
	s.lanes = n.lanes
	if n.call > 0 {
		for i := range n.calls {
			s.free = append(s.free, i)
		}
	}
	err = s.setLimit(p.wait)
	for i, t := range n.tables {
		err = errors.Join(err, s.gpu.Poke(s.at.tables[i], t))
	}
	return err
}

// raw returns a table as bytes.
func raw[T any](rows []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(rows))), bytesOf(rows))
}

// bytesAt returns one row as bytes.
func bytesAt[T any](row *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(row)), unsafe.Sizeof(*row))
}

func bytesOf[T any](rows []T) uint64 { return uint64(len(rows)) * uint64(unsafe.Sizeof(*new(T))) }

// An extent is memory of a rank's that others may need: none where its address is 0.
type extent struct {
	address uint64
	bytes   int64
}

// reach has every seat reach the arenas of all ranks, as far as it needs them.
func (p *Plan) reach(ctx context.Context, err error) error {
	arena := func(s *seat, i int) extent { return extent{s.arenas[i], int64(p.kind.arena(s.ranks[i]) + 1)} }
	var handles map[int][]byte
	if err == nil {
		handles, err = p.share(arena, p.hosted)
	}
	if !p.hosted {
		defer p.unshare(handles)
	}
	all, err := p.swap(ctx, handles, err)
	if err != nil {
		return err
	}
	for _, s := range p.seats {
		for r, needed := range p.kind.reaches(s) {
			if needed && p.nodes.of[r] == p.nodes.of[s.ranks[0]] {
				address, e := p.address(s, r, all[r], arena, p.hosted)
				s.reach[r], err = address, errors.Join(err, e)
			}
		}
		if err == nil {
			err = p.kind.reached(s)
		}
	}
	_, err = p.agree(ctx, nil, err)
	return err
}

// share makes handles of memory of this process's ranks, where others need them: of GPUs, or of the host.
func (p *Plan) share(of func(s *seat, i int) extent, host bool) (map[int][]byte, error) {
	handles := map[int][]byte{}
	if p.x == nil || p.x.Size() == 1 {
		return handles, nil
	}
	for _, s := range p.seats {
		for i, r := range s.ranks {
			m := of(s, i)
			if m.address == 0 {
				continue
			}
			share := s.gpu.Share
			if host {
				share = s.gpu.ShareNet
			}
			h, err := share(m.address, m.bytes)
			if err != nil {
				return handles, fmt.Errorf("rank %d: %w", r, err)
			}
			handles[r] = h
		}
	}
	return handles, nil
}

// unshare ends that, when all have reached it or nobody will.
func (p *Plan) unshare(handles map[int][]byte) {
	for r, h := range handles {
		p.of[r].gpu.Unshare(h) // of a handle that Share has made
	}
}

// address returns where a seat finds memory of another rank: of this process, by peer access if it is not the host's,
// or by a handle.
func (p *Plan) address(s *seat, rank int, handle []byte, own func(of *seat, i int) extent, host bool) (uint64, error) {
	if of := p.of[rank]; of != nil {
		m := own(of, slices.Index(of.ranks, rank))
		if of.gpu != s.gpu && !host {
			if err := s.gpu.Connect(of.gpu, m.address, m.bytes); err != nil {
				return 0, fmt.Errorf("memory of rank %d: %w", rank, err)
			}
		}
		return m.address, nil
	}
	if handle == nil {
		return 0, fmt.Errorf("rank %d has not said where its memory is", rank)
	}
	reach, leave := s.gpu.Reach, &s.leave
	if host {
		reach, leave = s.gpu.ReachNet, &s.leaveHost
	}
	address, err := reach(handle)
	if err != nil {
		return 0, fmt.Errorf("memory of rank %d: %w", rank, err)
	}
	*leave = append(*leave, handle)
	return address, nil
}

// free gives everything back, as far as it was made.
func (p *Plan) free() error {
	var errs []error
	if p.deaf != nil {
		p.deaf()
	}
	if p.order != nil {
		errs = append(errs, p.order.Close())
	}
	if err := p.closePorts(); err != nil {
		return errors.Join(append(errs, err)...) // they may yet use the memory
	}
	errs = append(errs, p.closeNet())
	for _, s := range p.seats {
		for _, h := range s.leave {
			errs = append(errs, s.gpu.Leave(h))
		}
		for _, h := range s.leaveHost {
			errs = append(errs, s.gpu.LeaveNet(h))
		}
		for _, a := range s.arenas {
			errs = append(errs, p.freeArena(s, a))
		}
		for _, a := range append(s.two.buffers(), s.own) {
			if a != 0 {
				errs = append(errs, s.gpu.Free(a))
			}
		}
		if s.stream != nil {
			errs = append(errs, s.stream.Close())
		}
	}
	return errors.Join(errs...)
}
