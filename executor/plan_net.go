package executor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"
	"unsafe"

	"mscclc/executor/abi"
	"mscclc/transport"
)

// This file is how a plan of several nodes reaches the other ones (transport/proxy.h). A kernel writes mirrors of other
// ranks' scratch, and rows in lanes. The proxy of this process, one for all its plans, carries both.

// NetVariable names the environment variable that says what carries messages between nodes: ucx, which is the usual, or
// ncclnet:PLUGIN.
const NetVariable = "MSCCLC_NET"

// proxies are those of this process, by engine. They are there until it ends.
var proxies struct {
	sync.Mutex
	of map[string]*transport.Proxy
}

func proxy() (*transport.Proxy, error) {
	proxies.Lock()
	defer proxies.Unlock()
	engine := cmp.Or(os.Getenv(NetVariable), "ucx")
	if p := proxies.of[engine]; p != nil {
		return p, nil
	}
	p, err := transport.Open(engine)
	if err != nil {
		return nil, fmt.Errorf("the network between nodes, %s: %w", engine, err)
	}
	if proxies.of == nil {
		proxies.of = map[string]*transport.Proxy{}
	}
	proxies.of[engine] = p
	return p, nil
}

// A network is what a plan has where its ranks are of several nodes.
type network struct {
	table   abi.NetTable
	mirrors map[int]uint64 // of scratch, by rank
	job     *transport.Job // from connect on
}

// Limits of what the network of a plan takes.
const (
	netConnect = 30 * time.Second // to reach all peers, where the context has no limit
	netGoodbye = 2 * time.Second  // to leave them
	netSilence = 5 * time.Second  // that a process may be silent, as proxies have it
)

// laneBytes is the length of a seat's lanes.
func (p *Plan) laneBytes(s *seat) int64 {
	return int64(len(s.one.Blocks)*p.columns) * int64(unsafe.Sizeof(abi.NetLane{}))
}

// allocateNet makes lanes for the seats, and mirrors of what they write.
func (p *Plan) allocateNet() error {
	if p.net == nil {
		return nil
	}
	var err error
	for _, s := range p.seats {
		if s.netLanes, err = s.gpu.(netGPU).AllocNet(p.laneBytes(s) + 1); err != nil { // a seat may have no block
			return err
		}
		if err := p.skipMeetings(s); err != nil {
			return err
		}
	}
	blocks := p.loaded.img.One.Blocks
	for _, m := range p.net.table.Messages {
		rank := int(m.Rank)
		if p.of[int(blocks[m.Block].Rank)] == nil || m.Segments == 0 || p.net.mirrors[rank] != 0 {
			continue
		}
		bytes := int64(p.kind.(*onePlan).layout.Scratch)
		if p.net.mirrors[rank], err = p.seats[0].gpu.(netGPU).AllocNet(bytes); err != nil {
			return fmt.Errorf("a mirror of the scratch of rank %d: %w", rank, err)
		}
	}
	return nil
}

// skipMeetings has the flags that blocks of other nodes would signal in a meeting count as signalled, on the ranks of a
// seat: packets do not leave their node, so only ranks of one node meet where the packets' flags begin anew.
func (p *Plan) skipMeetings(s *seat) error {
	one := p.kind.(*onePlan)
	row := make([]uint64, len(one.one.Blocks))
	for i, b := range one.one.Blocks {
		if p.nodes.of[b.Rank] != p.nodes.of[s.ranks[0]] {
			row[i] = math.MaxUint64
		}
	}
	at, _ := one.parts()
	var errs []error
	for _, arena := range s.arenas {
		for c := range p.columns {
			flag := uint64(c+1)*one.layout.Flags - uint64(len(row))
			errs = append(errs, s.gpu.Poke(arena+at[2]+flag*8, raw(row)))
		}
	}
	return errors.Join(errs...)
}

// connect connects this process with those of other nodes that its ranks tell something, or are told by.
func (p *Plan) connect(ctx context.Context) error {
	if p.net == nil {
		return nil
	}
	handles := map[int][]byte{}
	err := p.newJob()
	if err == nil {
		for _, peer := range p.net.job.Peers() {
			h, e := p.net.job.Handle(peer)
			handles[peer], err = h, errors.Join(err, e)
		}
	}
	all, err := p.agree(ctx, handles, err)
	if err != nil {
		return err
	}
	var list [][]byte
	for _, peer := range p.net.job.Peers() {
		var of map[int][]byte
		e := json.Unmarshal(all[peer], &of)
		list, err = append(list, of[p.x.Index()]), errors.Join(err, e)
	}
	if err == nil {
		err = p.netError(p.reachPeers(ctx, list))
	}
	_, err = p.agree(ctx, nil, err)
	return err
}

// reachPeers connects the job, unless a process is gone or ctx ends.
func (p *Plan) reachPeers(ctx context.Context, handles [][]byte) error {
	p.x.SetPatience(netSilence)
	limit, over := netConnect, make(chan struct{})
	if end, ok := ctx.Deadline(); ok {
		limit = time.Until(end)
	}
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-p.x.Done():
			p.net.job.Stop(p.x.Lost().Error())
		case <-ctx.Done():
			p.net.job.Stop(context.Cause(ctx).Error())
		case <-over:
		}
	})
	err := p.net.job.Connect(handles, limit)
	close(over)
	watch.Wait()
	return err
}

// Network says how many nodes the ranks of a plan are on, and what carries messages between them. It is empty for one
// node.
func (p *Plan) Network() string {
	if p.net == nil {
		return ""
	}
	carrier, err := proxy()
	if err != nil {
		return err.Error()
	}
	is, err := carrier.Properties()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d nodes, by %s", len(p.nodes.names), is.Name)
}

// newJob makes the job of the plan.
func (p *Plan) newJob() error {
	carrier, err := proxy()
	if err != nil {
		return err
	}
	one := p.kind.(*onePlan)
	c := &transport.Program{Columns: uint32(p.columns), Depth: uint32(one.one.Depth),
		Chunks: uint32(p.program().Coll.Chunks), Flags: uint32(one.layout.Flags),
		ScratchStride: one.layout.ScratchStride, ScratchCopy: one.layout.ScratchCopy, Hash: [32]byte(p.programHash())}
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
	p.net.job, err = carrier.Job(p.x.Index(), c, memory, lanes)
	return err
}

// netMemory is where the proxy finds what it carries: memory of ranks, and the lanes of all blocks of this process.
func (p *Plan) netMemory(one *onePlan) (memory []transport.Memory, lanes []transport.Lane) {
	memory = make([]transport.Memory, len(p.nodes.of))
	for r, address := range p.net.mirrors {
		memory[r] = transport.Memory{Scratch: address, ScratchBytes: one.layout.Scratch}
	}
	at, _ := one.parts()
	for _, s := range p.seats {
		for i, r := range s.ranks {
			memory[r] = transport.Memory{Scratch: s.arenas[i] + at[0], ScratchBytes: one.layout.Scratch,
				Flags: s.arenas[i] + at[2], FlagBytes: one.layout.FlagMem}
		}
		for i, b := range s.one.Blocks {
			for column := range p.columns {
				lane := s.netLanes + uint64(i*p.columns+column)*uint64(unsafe.Sizeof(abi.NetLane{}))
				lanes = append(lanes, transport.Lane{At: lane, Block: b.Number, Column: uint32(column)})
			}
		}
	}
	return memory, lanes
}

// offer tells a launch of a seat's lanes, and of the mirrors.
func (n *network) offer(s *seat, params *abi.OneParams, memory []abi.OneMemory) {
	for r, address := range n.mirrors {
		memory[r].Scratch = address
	}
	params.SetNet(abi.Net{Lanes: s.netLanes, Sent: s.at.sent})
}

// lookNet notes what the network has failed with.
func (p *Plan) lookNet() {
	if p.net == nil || p.net.job == nil {
		return
	}
	if err := p.netError(p.net.job.Err()); err != nil {
		p.fail(failure{err: err, lost: true}, note{Text: err.Error(), Lost: true})
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

// clearNet empties the lanes of a seat, behind what its stream does.
func (p *Plan) clearNet(s *seat) error {
	if p.net == nil {
		return nil
	}
	return errors.Join(s.stream.Fill(s.netLanes, 0, p.laneBytes(s)), s.stream.Sync(context.Background()),
		p.skipMeetings(s))
}

// closeNet leaves the network, and frees its memory.
func (p *Plan) closeNet() error {
	if p.net == nil {
		return nil
	}
	if p.net.job != nil {
		p.net.job.Close(netGoodbye)
	}
	var errs []error
	for _, address := range p.net.mirrors {
		if address != 0 {
			errs = append(errs, p.seats[0].gpu.Free(address))
		}
	}
	for _, s := range p.seats {
		if s.netLanes != 0 {
			errs = append(errs, s.gpu.Free(s.netLanes))
		}
	}
	return errors.Join(errs...)
}
