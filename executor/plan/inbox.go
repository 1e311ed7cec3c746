package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"mscclc/executor"
	"mscclc/executor/abi"
)

// This file is the memory of a plan of several nodes: lanes, where kernels write for the proxy of their process what to
// send, and inboxes, which are what ranks of other nodes write (executor/abi/net_inbox.go). Both are memory of the
// host.

// A seatNet is what a seat has where its plan is of several nodes.
type seatNet struct {
	lanes   uint64      // abi.NetLane
	uses    []bool      // by rank: whether its blocks access the inbox
	inboxes []abi.Inbox // by rank, as far as it uses them
	leave   [][]byte    // handles of inboxes that it reached
}

// An inboxLayout is how inboxes are laid out, in bytes: a copy of scratch of all replicas, all scratch, where the flags
// begin, and all.
type inboxLayout struct{ copy, scratch, flagsAt, all uint64 }

func (p *Plan) inbox() (l inboxLayout) {
	one := p.kind.(*oneSided)
	l.copy = uint64(p.net.table.Inboxes.Chunks) * uint64(p.replicas) * one.layout.ScratchStride
	l.scratch = l.copy * uint64(one.one.Depth)
	at, all := lay(l.scratch, one.layout.FlagMem)
	l.flagsAt, l.all = at[1], all
	return l
}

// laneBytes returns the length of a seat's lanes.
func (p *Plan) laneBytes(s *seat) int64 {
	return int64(len(s.one.Blocks)*p.replicas) * int64(unsafe.Sizeof(abi.NetLane{}))
}

// allocateNet makes lanes for the seats, inboxes for their ranks, and mirrors of those that they write.
func (p *Plan) allocateNet() error {
	if p.net == nil {
		return nil
	}
	in := p.inbox()
	for _, s := range p.seats {
		var err error
		if s.net.lanes, err = s.gpu.AllocNet(p.laneBytes(s) + 1); err != nil { // a seat may have no block
			return err
		}
		if err := p.skipMeetings(s); err != nil {
			return err
		}
		for _, r := range s.ranks {
			if !p.net.table.Inboxes.Of(r) {
				continue
			}
			if p.net.inboxes[r], err = s.gpu.AllocNet(int64(in.all)); err != nil {
				return fmt.Errorf("the inbox of rank %d: %w", r, err)
			}
		}
		for r, used := range s.net.uses {
			if !used || p.nodes.of[r] == p.nodes.of[s.ranks[0]] || p.net.mirrors[r] != 0 {
				continue
			}
			if p.net.mirrors[r], err = p.seats[0].gpu.AllocNet(int64(in.scratch)); err != nil {
				return fmt.Errorf("a mirror of the inbox of rank %d: %w", r, err)
			}
		}
	}
	return nil
}

// reachInboxes has every seat reach the inboxes of its node, as far as it uses them.
func (p *Plan) reachInboxes(ctx context.Context) error {
	handles, in := map[int][]byte{}, p.inbox()
	var err error
	for r, address := range p.net.inboxes {
		var e error
		handles[r], e = p.of[r].gpu.ShareNet(address, int64(in.all))
		err = errors.Join(err, e)
	}
	all, err := p.swap(ctx, handles, err)
	if err != nil {
		return err
	}
	for _, s := range p.seats {
		err = errors.Join(err, p.reachInboxesOf(s, all))
	}
	_, err = p.agree(ctx, nil, err)
	return err
}

// reachInboxesOf notes where a seat finds inboxes, and has its kernels know.
func (p *Plan) reachInboxesOf(s *seat, handles map[int][]byte) error {
	s.net.inboxes = make([]abi.Inbox, len(p.nodes.of))
	for r, used := range s.net.uses {
		to := &s.net.inboxes[r]
		switch {
		case !used:
		case p.nodes.of[r] != p.nodes.of[s.ranks[0]]:
			to.Scratch = p.net.mirrors[r]
		case p.of[r] != nil:
			to.Scratch = p.net.inboxes[r]
		default:
			var err error
			if to.Scratch, err = s.gpu.ReachNet(handles[r]); err != nil {
				return fmt.Errorf("the inbox of rank %d: %w", r, err)
			}
			s.net.leave = append(s.net.leave, handles[r])
		}
		if used && p.nodes.of[r] == p.nodes.of[s.ranks[0]] {
			to.Flags = to.Scratch + p.inbox().flagsAt
		}
	}
	return s.gpu.Poke(s.at.inboxes, raw(s.net.inboxes))
}

// skipMeetings has the flags that blocks of other nodes would signal in a meeting count as signalled, on the ranks of a
// seat: packets do not leave their node, so only ranks of one node meet where the packets' flags begin anew.
func (p *Plan) skipMeetings(s *seat) error {
	one := p.kind.(*oneSided)
	row := make([]uint64, len(one.one.Blocks))
	for i, b := range one.one.Blocks {
		if p.nodes.of[b.Rank] != p.nodes.of[s.ranks[0]] {
			row[i] = math.MaxUint64
		}
	}
	at, _ := one.parts()
	var errs []error
	for _, arena := range s.arenas {
		for c := range p.replicas {
			flag := uint64(c+1)*one.layout.Flags - uint64(len(row))
			errs = append(errs, s.gpu.Poke(arena+at[2]+flag*8, raw(row)))
		}
	}
	return errors.Join(errs...)
}

// clearNet empties the lanes of a seat, and the flags in the inboxes of its ranks, after the work of its stream.
func (p *Plan) clearNet(s *seat) error {
	if p.net == nil {
		return nil
	}
	err := errors.Join(s.stream.Sync(context.Background()), s.gpu.ZeroNet(s.net.lanes, p.laneBytes(s)), p.skipMeetings(s))
	in := p.inbox()
	for _, r := range s.ranks {
		if address := p.net.inboxes[r]; address != 0 {
			err = errors.Join(err, s.gpu.ZeroNet(address+in.flagsAt, int64(in.all-in.flagsAt)))
		}
	}
	return err
}

// closeNet leaves the network, and frees its memory.
func (p *Plan) closeNet() error {
	if p.net == nil {
		return nil
	}
	if p.net.job != nil {
		if p.x != nil && p.x.Lost() != nil { // nobody answers a goodbye
			p.net.job.Stop(p.x.Lost().Error())
		}
		p.net.job.Close(netGoodbye)
		p.net.job = nil
	}
	var errs []error
	free := func(gpu executor.GPU, address uint64) {
		if address != 0 {
			errs = append(errs, gpu.FreeNet(address))
		}
	}
	for _, s := range p.seats {
		for _, h := range s.net.leave {
			errs = append(errs, s.gpu.LeaveNet(h))
		}
		free(s.gpu, s.net.lanes)
	}
	for r, address := range p.net.inboxes {
		free(p.of[r].gpu, address)
	}
	for _, address := range p.net.mirrors {
		free(p.seats[0].gpu, address)
	}
	return errors.Join(errs...)
}
