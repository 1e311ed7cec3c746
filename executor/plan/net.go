package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"mscclc/executor/abi"
	"mscclc/executor/exchange"
	"mscclc/transport"
)

// This file is how a plan of several nodes reaches the other ones (transport/proxy.h). A kernel writes mirrors of other
// ranks' inboxes, and rows in lanes. The proxy of this process, one for all its plans, carries both.

// A network is what a plan has where its ranks are of several nodes.
type network struct {
	engine           string        // as PlanOptions have it
	connect          time.Duration // likewise
	table            abi.NetTable
	inboxes, mirrors map[int]uint64 // of ranks of this process, and of other nodes
	job              *transport.Job // from connect on
	help             abi.Help       // likewise: what launches on the host do while they wait
}

// Limits of what the network of a plan takes.
const (
	netConnect = 30 * time.Second // to reach all peers, where neither the options nor the context have a limit
	netGoodbye = 2 * time.Second  // to leave them
)

// connect connects this process with those of other nodes that its ranks signal, or receive signals from.
func (p *Plan) connect(ctx context.Context) error {
	if p.net == nil {
		return nil
	}
	if err := p.reachInboxes(ctx); err != nil {
		return err
	}
	handles := make([][]byte, p.x.Size()) // by who connects by them
	err := p.newJob()
	if err == nil {
		for _, peer := range p.net.job.Peers() {
			h, e := p.net.job.Handle(peer)
			handles[peer], err = h, errors.Join(err, e)
		}
	}
	made, err := exchange.Trade(ctx, p.x, handles, err)
	if err != nil {
		return err
	}
	var list [][]byte
	for _, peer := range p.net.job.Peers() {
		list = append(list, made[peer])
	}
	err = exchange.During(ctx, p.x, func(ctx context.Context) error { return p.reachPeers(ctx, list) })
	_, err = p.agree(ctx, nil, err)
	return err
}

// reachPeers connects the job, unless ctx ends, or a process is gone or has failed in it.
func (p *Plan) reachPeers(ctx context.Context, handles [][]byte) error {
	carrier, err := p.carrier()
	if err != nil {
		return err
	}
	p.x.SetPatience(carrier.Silence())
	limit := cmp.Or(p.net.connect, netConnect)
	if end, ok := ctx.Deadline(); ok {
		limit = time.Until(end)
	}
	return p.netError(p.net.job.Reach(ctx, handles, limit))
}

// Network says how many nodes the ranks of a plan are on, and what carries messages between them. It is empty for one
// node.
func (p *Plan) Network() string {
	if p.net == nil {
		return ""
	}
	carrier, err := p.carrier()
	if err != nil {
		return err.Error()
	}
	is, err := carrier.Properties()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d nodes, by %s", len(p.nodes.names), is.Name)
}

// carrier returns the proxy of this process.
func (p *Plan) carrier() (*transport.Proxy, error) {
	gpu := ""
	for _, s := range p.seats {
		if g, ok := s.gpu.(interface{ PCI() string }); ok {
			gpu = g.PCI()
			break
		}
	}
	return transport.Shared(p.net.engine, p.x.Cards(), gpu)
}

// newJob makes the job of the plan.
func (p *Plan) newJob() error {
	carrier, err := p.carrier()
	if err != nil {
		return err
	}
	one := p.kind.(*oneSided)
	c := &transport.Program{Replicas: uint32(p.replicas), Depth: uint32(one.one.Depth),
		Chunks: uint32(p.program().Coll.Chunks), Flags: uint32(one.layout.Flags),
		ScratchStride: one.layout.ScratchStride, ScratchCopy: p.inbox().copy, Hash: [32]byte(p.programHash())}
	for _, m := range p.net.table.Messages {
		c.Messages = append(c.Messages, transport.Message(m))
	}
	for _, s := range p.net.table.Segments {
		c.Segments = append(c.Segments, transport.Segment(s))
	}
	for r := range p.nodes.of {
		c.Process, c.Node = append(c.Process, uint32(p.nodes.process[r])), append(c.Node, uint32(p.nodes.of[r]))
	}
	for _, b := range one.one.Blocks {
		c.RankOf = append(c.RankOf, b.Rank)
	}
	memory, lanes := p.netMemory(one)
	p.net.help.Call, p.net.help.With = carrier.Help()
	p.net.job, err = carrier.Job(p.x.Index(), c, memory, lanes)
	return err
}

// netMemory returns where the proxy finds what it carries: inboxes and their mirrors by rank, and the lanes of all
// blocks of this process.
func (p *Plan) netMemory(one *oneSided) (memory []transport.Memory, lanes []transport.Lane) {
	memory = make([]transport.Memory, len(p.nodes.of))
	in := p.inbox()
	for r, address := range p.net.mirrors {
		memory[r] = transport.Memory{Scratch: address, ScratchBytes: in.scratch}
	}
	for r, address := range p.net.inboxes {
		memory[r] = transport.Memory{Scratch: address, ScratchBytes: in.scratch, Flags: address + in.flagsAt,
			FlagBytes: one.layout.FlagMem}
	}
	for _, s := range p.seats {
		for i, b := range s.one.Blocks {
			for replica := range p.replicas {
				lane := s.net.lanes + uint64(i*p.replicas+replica)*uint64(unsafe.Sizeof(abi.NetLane{}))
				lanes = append(lanes, transport.Lane{At: lane, Block: b.Number, Replica: uint32(replica)})
			}
		}
	}
	return memory, lanes
}

// offerNet gives a launch a seat's lanes, the inboxes, and the replicas that share CTAs.
func (p *oneSided) offerNet(s *seat, params *abi.OneParams) {
	net := abi.Net{Lanes: s.net.lanes, Sent: s.at.sent, Inboxes: s.at.inboxes, InboxCopy: p.inbox().copy, Together: 1}
	if p.sharesCTAs() {
		together, narrow := s.one.Together()
		net.Together, net.Narrow = uint32(together), narrow
	}
	params.SetNet(net)
}

// lookNet notes what the network has failed with.
func (p *Plan) lookNet() {
	if p.net == nil || p.net.job == nil {
		return
	}
	if err := p.netError(p.net.job.Err()); err != nil {
		p.fail(*p.lost(err), note{Text: err.Error(), Lost: true})
	}
}

// netError names this process, and the one that a job has failed by, with their ranks and nodes.
func (p *Plan) netError(err error) error {
	var f *transport.Failure
	if errors.As(err, &f) && f.Process >= 0 {
		return fmt.Errorf("the network between process %d%s and process %d%s: %s", p.x.Index(), p.nodes.where(p.x.Index()),
			f.Process, p.nodes.where(f.Process), f.Text)
	}
	return err
}
