package plan

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"unsafe"

	"mscclc/bundle/limits"
	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/executor/launch"
	"mscclc/executor/proof"
	"mscclc/ir"
)

// FewVariable names the environment variable that, set to 0, turns the launches of few packets off: for measurements.
const FewVariable = "MSCCLC_FEW"

// A oneSided is a plan of a one-sided program. A rank's arena is its scratch, packets and
// flags, one after another, which all ranks reach.
type oneSided struct {
	*Plan
	one    *abi.OneImage
	layout abi.OneLayout
	usual  executor.Width
	few    bool // launches of few packets go their own way: all but for the variable
	open   bool // it is left to the plan how many replicas there is memory for
}

func newOneSided(p *Plan, opt *Options) (kind, error) {
	one, usual := p.checked.Image.One, executor.UsualWidth(opt.GPUs)
	if one.OnePass {
		if err := p.onePass(opt); err != nil {
			return nil, err
		}
	}
	kind := &oneSided{Plan: p, one: one, usual: usual, few: os.Getenv(FewVariable) != "0",
		open: opt.Wider || opt.Replicas == 0}
	replicas := opt.Replicas
	if kind.open {
		replicas = max(replicas, usual.Most)
	}
	opt.TileBytes = cmp.Or(opt.TileBytes, one.UsualTile(usual.Tile))
	return kind, kind.reserve(replicas, opt.TileBytes)
}

// reserve has memory made for a number of replicas, and tiles of a number of bytes.
func (p *oneSided) reserve(replicas int, tile int64) (err error) {
	if err := p.one.Reserve(replicas, tile); err != nil {
		return err
	}
	p.replicas, p.tile = p.one.Replicas, p.one.Tile
	p.layout, err = p.one.Layout()
	return err
}

// mostBlocks is how many blocks of few threads any GPU holds at once.
const mostBlocks = 512

// onePass chooses what memory is made for where launches have one pass and the caller does not say: no more replicas
// than have room on a GPU, since a call of long chunks needs all, and of the longest chunk that is known of what a
// replica has.
func (p *Plan) onePass(opt *Options) error {
	gpus, err := opt.GPUs.GPUs()
	if err != nil {
		return err
	}
	program, ranks, usual := p.program(), len(opt.Ranks), executor.UsualWidth(opt.GPUs)
	if opt.Exchange != nil && opt.Exchange.Size() > 1 {
		ranks = cmp.Or(ranks, 1)
	}
	ranks = cmp.Or(ranks, len(program.Rank))
	blocks := max(1, widest(program)) * ((ranks + len(gpus) - 1) / len(gpus))
	opt.Replicas = cmp.Or(opt.Replicas, min(usual.Most, max(1, mostBlocks/blocks)))
	if opt.TileBytes == 0 && opt.PieceBytes > 0 && opt.Replicas > 0 {
		share := opt.PieceBytes/int64(max(program.Coll.Chunks, 1)*opt.Replicas) + 2*limits.ChunkAlign
		opt.TileBytes = min(max(share, p.checked.Image.One.UsualTile(usual.Tile)), limits.Tile)
	}
	return nil
}

func (p *oneSided) hash(w *proof.Hash) {
	one := p.one
	w.Flags(one.OnePass)
	w.Table([]byte(p.program().Then.String()))
	w.Numbers(int64(p.program().Protocol), int64(one.Depth), int64(one.Scratch), int64(one.Packets), int64(one.Flags))
	w.Table(raw(one.Blocks))
	w.Table(raw(one.Steps))
	w.Table(raw(one.Operands))
}

// parts returns the offsets in an arena, and its length.
func (p *oneSided) parts() ([]uint64, uint64) {
	return lay(p.layout.Scratch, p.layout.Packets, p.layout.FlagMem)
}

func (p *oneSided) arena(int) uint64 {
	_, bytes := p.parts()
	return bytes
}

func (p *oneSided) reaches(s *seat) []bool {
	return touches(s.one, p.program().Coll.Ranks, s.ranks)[ir.Flags]
}

func (p *oneSided) sit(s *seat) (needs, error) {
	s.one = p.one.Part(func(r int) bool { return slices.Contains(s.ranks, r) })
	if p.net != nil {
		s.net.uses = s.one.Deliver(&p.net.table.Inboxes)
	}
	n := needs{states: uint64(len(s.one.Blocks)) * uint64(p.one.Replicas) * uint64(unsafe.Sizeof(abi.OneState{})),
		tables: [][]byte{raw(s.one.Blocks), raw(s.one.Steps), raw(s.one.Operands)}}
	if s.one.Ports() {
		n.lanes = len(s.one.Blocks) * p.one.Replicas
	}
	if p.net != nil {
		n.sent, n.boxes = len(s.one.Blocks)*p.one.Replicas, p.program().Coll.Ranks
	}
	ranks := uint64(p.program().Coll.Ranks)
	if ranks > abi.OneRanks {
		n.call, n.calls = ranks*uint64(unsafe.Sizeof(abi.OneMemory{})), oneCalls
	}
	if p.rowTable(s) {
		n.call, n.calls = n.call+ranks*uint64(unsafe.Sizeof(abi.RowMemory{})), oneCalls
	}
	return n, nil
}

// oneCalls is how many calls a plan has at once that need a table: of more than OneRanks ranks, or with an epilogue
// where a launch has the memory of several ranks.
const oneCalls = 64

func (p *oneSided) reached(*seat) error { return nil }

// touches returns, by buffer and rank, whether steps of t access memory of a rank that is not one of its own. A rank's
// scratch, packets and flags are one arena, which all reach: the runtime has flags of its own there.
func touches(t *abi.OnePart, ranks int, own []int) map[ir.Buf][]bool {
	of := map[ir.Buf][]bool{}
	for _, buf := range [3]ir.Buf{ir.Input, ir.Output, ir.Flags} {
		of[buf] = make([]bool, ranks)
	}
	all := abi.OneOperand{Rank: ir.AllRanks, Buf: uint8(ir.Flags)}
	for _, o := range append([]abi.OneOperand{all}, t.Operands...) {
		for r := range of[ir.Buf(o.Buf)] {
			of[ir.Buf(o.Buf)][r] = of[ir.Buf(o.Buf)][r] || o.Rank == int16(r) || o.Rank == ir.AllRanks
		}
	}
	for _, r := range own {
		for _, list := range of {
			list[r] = false
		}
	}
	return of
}

func (p *oneSided) shares() (list []ir.Buf) {
	one := p.one
	for _, buf := range [2]ir.Buf{ir.Input, ir.Output} {
		if slices.ContainsFunc(one.Blocks, func(b abi.OneBlock) bool {
			return slices.ContainsFunc(one.Operands[b.FirstOperand:b.FirstOperand+b.Operands], func(o abi.OneOperand) bool {
				return ir.Buf(o.Buf) == buf && o.Rank != int16(b.Rank)
			})
		}) {
			list = append(list, buf)
		}
	}
	return list
}

// ReplicaBytes is how much of a chunk makes another replica worth it, and PortBytes where a port copies: its
// copies should be few and long.
const ReplicaBytes, PortBytes = launch.ReplicaBytes, launch.PortBytes

// model chooses what a caller leaves open.
func (p *oneSided) model(args *CallArgs, geo data.Geometry) (replicas int, tile int64) {
	most, worth := min(p.replicas, p.usual.Replicas), int64(ReplicaBytes)
	if p.one.Port {
		worth = PortBytes
	}
	var enough int
	if args.Rows != nil { // the block of a row works alone
		_, some := launch.RowsOf(uint64(geo.Chunk), uint64(most))
		enough = p.one.EnoughRows(int(some), geo.Chunk, abi.RowBytes(args.DType, args.Rows.Length))
	} else {
		bytes := geo.Chunk * int64(args.DType.Size())
		enough = p.one.Enough(int(min(max(bytes/worth, 1), int64(most))), bytes)
	}
	return cmp.Or(args.Replicas, enough), cmp.Or(args.TileBytes, p.tile)
}

// choose settles replicas and tile: as many replicas as have room, where the
// caller does not say.
func (p *oneSided) choose(c *Call, args *CallArgs, geo data.Geometry) error {
	replicas, tile := p.model(args, geo)
	everywhere, err := p.everywhere(args, geo)
	if err != nil {
		return err
	}
	c.one.All, c.asked = everywhere, tile
	for wider := 0; ; wider = replicas {
		if err := p.narrow(c, geo, replicas); err != nil && wider > 0 {
			return fmt.Errorf(
				"the GPUs have no room for %d replicas of all blocks, and there is memory for fewer bytes in %d: %w: %w",
				wider, replicas, executor.ErrNoDevice, err)
		} else if err != nil {
			return err
		}
		if args.Replicas > 0 || replicas == 1 || c.passes == 0 || p.room(c, args) {
			return nil
		}
		replicas = (replicas + 1) / 2
	}
}

func (p *oneSided) narrow(c *Call, geo data.Geometry, replicas int) (err error) {
	everywhere := c.one.All
	if c.rows != nil {
		c.one, err = p.one.RowParams(geo, c.dtype, c.redop, int(c.rows.Length), replicas, c.asked)
	} else {
		c.one, err = p.one.Params(geo, c.dtype, c.redop, replicas, c.asked)
	}
	if err != nil {
		return err
	}
	c.one.All = everywhere
	c.replicas, c.tile, c.passes = replicas, int64(c.one.Tile), int64(c.one.Passes)
	return nil
}

// sharesCTAs reports whether replicas share CTAs: in programs of several nodes that say so, on GPUs that can. In
// launches that are traced each replica has its own.
func (p *oneSided) sharesCTAs() bool {
	return p.net != nil && p.usual.Shares && p.program().Shared() > 1
}

// ctas returns how many CTAs a seat's launch of `replicas` replicas has that do something.
func (p *oneSided) ctas(s *seat, replicas int) int {
	if p.sharesCTAs() {
		return s.one.CTAs(replicas)
	}
	return replicas * len(s.one.Blocks)
}

// readied returns what a GPU is asked to make ready for a seat's launch.
func (p *oneSided) readied(s *seat, params *abi.OneParams, rows *abi.Rows, threads int) *executor.Ready {
	r := &executor.Ready{Order: p.order, One: params, Rows: rows, Threads: threads, Copies: p.one.Copies,
		Lines: p.one.Lines, Net: p.net != nil}
	if p.sharesCTAs() && params.Trace == 0 {
		r.CTAs, r.Shared = p.ctas(s, int(params.Replicas)), p.program().Shared()
	}
	if p.net != nil {
		r.Help = p.net.help
	}
	return r
}

// room reports whether all seats have room for a launch of a call.
func (p *oneSided) room(c *Call, args *CallArgs) bool {
	for _, s := range p.seats {
		if len(s.one.Blocks) == 0 {
			continue
		}
		try := c.one
		s.one.Count(&try)
		s.offer(&try)
		if args.Trace != nil {
			try.Trace = 1
		}
		launch, err := s.gpu.Ready(p.readied(s, &try, c.rows, args.Threads))
		if err != nil {
			return !errors.Is(err, executor.ErrNoDevice) // what else is wrong, ready will say
		}
		launch.Close()
	}
	return true
}

func (p *oneSided) ready(c *Call, s *seat, args *CallArgs, memory []abi.OneMemory) (*executor.Ready, error) {
	if len(s.one.Blocks) == 0 {
		return nil, nil
	}
	params := c.one
	// A GPU has its tables sooner from memory than from a launch's parameters, of which it fetches
	// piece after piece.
	s.one.Count(&params)
	params.Blocks, params.Steps, params.Operands = s.at.tables[0], s.at.tables[1], s.at.tables[2]
	params.States, params.StatusAt = s.at.states, s.at.status
	s.offer(&params)
	at, _ := p.parts()
	for r, arena := range s.reach {
		if arena != 0 {
			memory[r].Scratch, memory[r].Packets, memory[r].Flags = arena+at[0], arena+at[1], arena+at[2]
		}
	}
	if p.net != nil {
		p.offerNet(s, &params)
	}
	rows, err := p.tabled(c, s, args, &params, memory)
	if err == nil {
		err = c.record(s, &params)
	}
	if err != nil {
		return nil, err
	}
	r := p.readied(s, &params, rows, args.Threads)
	switch {
	case !p.few || p.net != nil:
	case rows == nil:
		r.Few = s.one.Few(&params, p.one.Lines)
	default:
		r.Few = s.one.FewRows(&params, rows, p.one.Lines, args.Threads)
	}
	return r, nil
}

func (p *oneSided) before(s *seat, status *abi.Status) ([]byte, error) {
	var before abi.OneState
	row := slices.IndexFunc(s.one.Blocks, func(b abi.OneBlock) bool { return b.Number == status.Block })
	if row < 0 || int(status.Replica) >= p.replicas {
		return nil, errors.New("a block that the program does not have has timed out")
	}
	at := s.at.states + uint64(row*p.replicas+int(status.Replica))*uint64(unsafe.Sizeof(before))
	err := s.gpu.Peek(bytesAt(&before), at)
	// A launch after the one that failed may have continued, if all ranks had started it.
	before.Passes = min(before.Passes, status.Tile)
	return bytesAt(&before), err
}

func (p *oneSided) explain(status *abi.Status, before []byte, replicas uint32) error {
	stop := executor.Stop{Status: *status}
	if len(before) != int(unsafe.Sizeof(stop.One)) || int(status.Block) >= len(p.one.Blocks) ||
		status.Step >= p.one.Blocks[status.Block].Steps {
		return errors.New("a step that the program does not have has timed out")
	}
	copy(bytesAt(&stop.One), before)
	return p.checked.TimeoutOne(&abi.OneParams{Replicas: replicas}, &stop)
}
