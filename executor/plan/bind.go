package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir"
)

// Bind makes a call ready. All processes bind the same call; where the program's
// steps touch inputs or outputs of other ranks, their addresses are exchanged. No
// memory is made, so that calls may be bound while others run, but for scratch of a two-sided program
// where a call is larger than all before and than PlanOptions.PieceBytes.
func (p *Plan) Bind(ctx context.Context, args CallArgs) (*Call, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("executor: a call of a closed plan")
	}
	c := &Call{plan: p, dtype: args.DType, redop: args.RedOp, prepared: map[executor.GPU]executor.PreparedLaunch{},
		tables: map[*seat]int{},
		leave:  map[*seat][][]byte{}, trace: args.Trace, records: map[*seat]*seatTrace{},
		elsewhere: map[*seat][]abi.RowMemory{}}
	err := c.check(&args)
	geo := c.geo
	var buffers []abi.OneMemory
	if err == nil {
		c.title = c.named(&args)
		buffers, err = c.buffers(&args, geo)
	}
	if err == nil {
		err = c.rowMemory(&args, geo)
	}
	if err == nil {
		err = p.kind.choose(c, &args, geo)
	}
	if err := c.same(ctx, &args, err); err != nil {
		return nil, err
	}
	tables, err := c.exchange(ctx, &args, geo, buffers)
	defer func() {
		for _, handles := range c.offers {
			p.unshare(handles)
		}
	}()
	if err == nil && c.passes > 0 {
		err = errors.Join(c.ready(&args, tables), c.listen(mostNotes))
	}
	if _, err := p.agree(ctx, nil, err); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// named says what a call is, for errors. Its type and size are checked before.
func (c *Call) named(args *CallArgs) *string {
	prog, elems := c.plan.program(), args.Elems
	if args.Rows != nil {
		elems *= int64(args.Rows.Length)
	}
	title := fmt.Sprintf("%v of %d bytes of %v by %s", prog.Coll.Kind, data.CallBytes(prog.Coll, elems, args.DType),
		args.DType, prog.Name)
	return &title
}

// buffers checks the addresses of a call, and says where each rank of this process
// has its input and output.
func (c *Call) buffers(args *CallArgs, geo data.Geometry) ([]abi.OneMemory, error) {
	p := c.plan
	n, size := len(p.ranks), int64(args.DType.Size())
	inSize, outSize := c.sizes()
	if len(args.Input) != n || len(args.Output) != n && !(geo.Coll.Inplace && args.Output == nil) {
		return nil, fmt.Errorf("buffers are of %d and %d ranks, of %d", len(args.Input), len(args.Output), n)
	}
	check := func(what string, rank int, address uint64, bytes, align int64) error {
		if address%uint64(align) != 0 {
			return fmt.Errorf("%s of rank %d is not aligned to its elements", what, rank)
		}
		if err := p.of[rank].gpu.Owns(address, bytes); err != nil {
			return fmt.Errorf("%s of rank %d: %w", what, rank, err)
		}
		return nil
	}
	list := make([]abi.OneMemory, n)
	for i, r := range p.ranks {
		in, out, inAt, outAt, all := geo.Buffers(r)
		if geo.Coll.Inplace {
			if err := check("memory", r, args.Input[i], all*size, size); err != nil {
				return nil, err
			}
			list[i] = abi.OneMemory{Input: args.Input[i] + uint64(inAt*size), Output: args.Input[i] + uint64(outAt*size)}
			continue
		}
		align := size
		if c.rows != nil {
			align = int64(c.rows.OutputSize)
		}
		if err := errors.Join(check("input", r, args.Input[i], in*inSize, size),
			check("output", r, args.Output[i], out*outSize, align)); err != nil {
			return nil, err
		}
		list[i] = abi.OneMemory{Input: args.Input[i], Output: args.Output[i]}
	}
	return list, nil
}

// A wish is what all processes must ask of a call alike.
type wish struct {
	DType          data.DType
	RedOp          data.RedOp
	Elems, Tile    int64
	Replicas, Most int // asked for, and what has room
	Switch         bool
	Row            int // elements of a row
}

// same compares the call with those of other processes; replicas that nobody asked
// for are the fewest of all.
func (c *Call) same(ctx context.Context, args *CallArgs, err error) error {
	mine := wish{args.DType, args.RedOp, args.Elems, c.tile, args.Replicas, c.replicas, c.one.All != abi.OneSwitch{}, 0}
	if c.rows != nil {
		mine.Row = int(c.rows.Length)
	}
	all, err := c.plan.agree(ctx, mine, err)
	if err != nil {
		return err
	}
	for i, text := range all {
		var other wish
		if err := json.Unmarshal(text, &other); err != nil {
			return fmt.Errorf("process %d: %w", i, err)
		}
		c.replicas = min(c.replicas, other.Most)
		if other.Most = mine.Most; other != mine {
			return fmt.Errorf("process %d binds another call than this one: %+v and %+v", i, other, mine)
		}
	}
	if c.replicas != mine.Most {
		err = c.plan.kind.narrow(c, c.geo, c.replicas)
	}
	return err
}

// A common is memory of a call that ranks reach of each other: where steps reach a rank's buffer, that of the rank.
type common struct {
	buf   ir.Buf
	bytes func(rank int) int64
	at    func(rank int) uint64 // of a rank of this process
	tell  func(s *seat, rank int, address uint64)
}

// exchange gives the memory of all ranks as each seat has it.
func (c *Call) exchange(ctx context.Context, args *CallArgs, geo data.Geometry,
	buffers []abi.OneMemory) (map[*seat][]abi.OneMemory, error) {
	p := c.plan
	own := func(rank int) *abi.OneMemory { return &buffers[slices.Index(p.ranks, rank)] }
	tables := map[*seat][]abi.OneMemory{}
	for _, s := range p.seats {
		tables[s] = make([]abi.OneMemory, p.program().Coll.Ranks)
		for _, r := range s.ranks {
			tables[s][r].Input, tables[s][r].Output = own(r).Input, own(r).Output
		}
	}
	inSize, outSize := c.sizes()
	var list []common
	for _, buf := range p.kind.shares() {
		field := func(m *abi.OneMemory) *uint64 {
			if buf == ir.Input {
				return &m.Input
			}
			return &m.Output
		}
		list = append(list, common{buf, func(rank int) int64 {
			in, out, _, _, _ := geo.Buffers(rank)
			if buf == ir.Output {
				return out * outSize
			}
			return in * inSize
		}, func(rank int) uint64 { return *field(own(rank)) },
			func(s *seat, rank int, address uint64) { *field(&tables[s][rank]) = address }})
	}
	var err error
	for _, x := range append(list, c.companions(args, geo)...) {
		failed, lost := c.swap(ctx, &x, err)
		if lost != nil {
			return nil, lost
		}
		err = errors.Join(err, failed) // which the others receive at the next word
	}
	return tables, err
}

// swap tells all seats where memory is that other ranks have of a call. err is what has failed so far. No process goes
// on if it is lost.
func (c *Call) swap(ctx context.Context, x *common, err error) (failed, lost error) {
	p := c.plan
	extents := func(s *seat, i int) extent { return extent{x.at(s.ranks[i]), x.bytes(s.ranks[i])} }
	var handles map[int][]byte
	if err == nil {
		handles, err = p.share(extents, false)
	}
	c.offers = append(c.offers, handles)
	all, lost := p.swap(ctx, handles, err)
	if lost != nil {
		return nil, lost
	}
	for _, s := range p.seats {
		for r, touched := range touches(s.one, p.program().Coll.Ranks, s.ranks)[x.buf] {
			if !touched || x.bytes(r) == 0 {
				continue
			}
			before := len(s.leave)
			a, err := p.address(s, r, all[r], extents, false)
			c.leave[s], s.leave = append(c.leave[s], s.leave[before:]...), s.leave[:before]
			failed = errors.Join(failed, err)
			x.tell(s, r, a)
		}
	}
	return failed, nil
}

// ready makes the launches of all seats.
func (c *Call) ready(args *CallArgs, tables map[*seat][]abi.OneMemory) error {
	for _, s := range c.plan.seats {
		r, err := c.plan.kind.ready(c, s, args, tables[s])
		if err != nil {
			return err
		}
		if r == nil {
			continue
		}
		if c.prepared[s.gpu], err = s.gpu.Ready(r); err != nil {
			delete(c.prepared, s.gpu)
			return err
		}
	}
	return nil
}

// table puts a call's table into the memory that a seat has for that.
func (c *Call) table(s *seat, rows []byte) (uint64, error) {
	if len(s.free) == 0 {
		return 0, errors.New("the plan has as many calls as it has room for: close some")
	}
	i := s.free[len(s.free)-1]
	s.free, c.tables[s] = s.free[:len(s.free)-1], i
	address := s.at.calls + uint64(i)*uint64(len(rows))
	return address, s.gpu.Poke(address, rows)
}
