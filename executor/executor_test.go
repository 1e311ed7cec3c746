package executor

import (
	"context"
	"errors"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
	"mscclc/ir/irtest"
)

// A nullDevice runs nothing, and keeps the last launch.
type nullDevice struct{ launch *Launch }

func (*nullDevice) Name() string                        { return "null" }
func (d *nullDevice) Open(*abi.Image) (Instance, error) { return d, nil }
func (d *nullDevice) Close() error                      { return nil }
func (d *nullDevice) Launch(_ context.Context, l *Launch) (Stop, error) {
	d.launch = l
	return Stop{}, nil
}

// sendrecv returns one of two ranks, of three chunks each.
func sendrecv() *either.Program {
	p := either.OfFifo(&fifo.Program{Program: ir.Program{
		Header: ir.Header{Name: "exchange", Coll: &ir.Collective{Kind: ir.SendRecv, Ranks: 2, Chunks: 3,
			Peer: []int32{1, 0}}}, Scratch: []int32{1, 1}}, Channels: 1})
	for r := range int32(2) {
		at := int32(len(p.Steps))
		p.Steps = append(p.Steps, ir.Step{Op: ir.Send, Count: 3, DstBuf: ir.NoBuf, DepBlock: -1, DepStep: -1, Pos: -1},
			ir.Step{Op: ir.Recv, DstBuf: ir.Output, Count: 3, SrcBuf: ir.NoBuf, DepBlock: -1, DepStep: -1, Pos: -1})
		p.Blocks = append(p.Blocks, ir.TB{Block: ir.Block{Rank: r, SendPeer: 1 - r, RecvPeer: 1 - r},
			Steps: ir.Range{First: at, End: at + 2}})
		p.Rank = append(p.Rank, ir.Range{First: r, End: r + 1})
	}
	p.Sizes.Max = 1 << 10
	return p
}

func TestLoadRejects(t *testing.T) {
	if _, err := Load(sendrecv(), Options{Device: &nullDevice{}}); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name  string
		spoil func(p *either.Program)
		code  diag.Code
	}{
		{"no collective", func(p *either.Program) { p.Coll = nil }, diag.Malformed},
		{"no chunks", func(p *either.Program) { p.Coll.Chunks = 0 }, diag.Malformed},
		{"ranks", func(p *either.Program) { p.Coll.Ranks = 3 }, diag.Malformed},
		{"scratch", func(p *either.Program) { p.Scratch = []int32{1} }, diag.Malformed},
		{"protocol", func(p *either.Program) { p.Protocol = 9 }, diag.Malformed},
		{"blocks", func(p *either.Program) { p.Rank[1].End = 7 }, diag.Malformed},
		{"backward blocks", func(p *either.Program) { p.Rank[0].End = -1 }, diag.Malformed},
		{"steps", func(p *either.Program) { p.Blocks[1].Steps.End = 5 }, diag.Malformed},
		{"shared steps", func(p *either.Program) { p.Blocks[1].Steps.First = 1 }, diag.Malformed},
		{"operation", func(p *either.Program) { p.Steps[0].Op = 77 }, diag.Malformed},
		{"count", func(p *either.Program) { p.Steps[0].Count = -1 }, diag.Malformed},
		{"class", func(p *either.Program) { p.Steps[0].Class = 3 }, diag.Malformed},
		{"peer", func(p *either.Program) { p.Blocks[0].SendPeer = 2 }, diag.OutOfBounds},
		{"itself", func(p *either.Program) { p.Blocks[0].SendPeer = 0 }, diag.Malformed},
		{"no peer", func(p *either.Program) { p.Blocks[0].RecvPeer = -1 }, diag.Malformed},
		{"channel", func(p *either.Program) { p.Blocks[0].Channel = -1 }, diag.OutOfBounds},
		{"source", func(p *either.Program) { p.Steps[0].Src = 1 }, diag.OutOfBounds},
		{"negative source", func(p *either.Program) { p.Steps[0].Src = -1 }, diag.OutOfBounds},
		{"destination", func(p *either.Program) { p.Steps[1].DstBuf = ir.Scratch }, diag.OutOfBounds},
		{"buffer", func(p *either.Program) { p.Steps[0].SrcBuf = 5 }, diag.Malformed},
		{"flag's block", func(p *either.Program) { p.Steps[0].DepBlock = 1 }, diag.OutOfBounds},
		{"flag's step", func(p *either.Program) { p.Steps[0].DepBlock, p.Steps[0].DepStep = 0, 2 }, diag.OutOfBounds},
		{"negative step", func(p *either.Program) { p.Steps[0].DepBlock, p.Steps[0].DepStep = 0, -2 }, diag.OutOfBounds},
		{"overlap", func(p *either.Program) {
			p.Steps[0] = ir.Step{Op: ir.Copy, SrcBuf: ir.Output, DstBuf: ir.Output, Dst: 1, Count: 2, DepBlock: -1,
				DepStep: -1, Pos: -1}
		}, diag.Overlap},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := sendrecv()
			c.spoil(p)
			_, err := Load(p, Options{Device: &nullDevice{}, Unproven: true})
			var list diag.List
			if !errors.As(err, &list) || len(list) == 0 || list[0].Code != c.code {
				t.Fatalf("got %v, want %s", err, c.code)
			}
			if _, err := Load(p, Options{Device: &nullDevice{}}); err == nil {
				t.Error("verify takes it")
			}
		})
	}
	p := sendrecv()
	p.Blocks[1] = p.Blocks[0]
	p.Rank = []ir.Range{{First: 0, End: 2}, {First: 2, End: 2}}
	p.Blocks[1].Steps = ir.Range{First: 2, End: 4}
	if _, err := Load(p, Options{Device: &nullDevice{}, Unproven: true}); err == nil ||
		!strings.Contains(err.Error(), "on channel 0, as block 0 does") {
		t.Errorf("two blocks at one end: %v", err)
	}
}

// TestLoadOfNonsense loads programs with numbers at random: whatever they are,
// they are taken or refused.
func TestLoadOfNonsense(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	number := func() int32 {
		return [...]int32{-1, 0, 1, 2, 3, 4, 1<<31 - 1, -1 << 31, int32(rnd.Uint32())}[rnd.Intn(9)]
	}
	taken := 0
	for range 20000 {
		p := sendrecv()
		for range 1 + rnd.Intn(3) {
			s := &p.Steps[rnd.Intn(len(p.Steps))]
			b := &p.Blocks[rnd.Intn(2)]
			fields := []*int32{&s.Src, &s.Dst, &s.Count, &s.Class, &s.DepBlock, &s.DepStep, &s.Pos, &b.SendPeer, &b.RecvPeer,
				&b.Channel, &b.Steps.First, &b.Steps.End, &p.Rank[0].First, &p.Rank[1].End, &p.Scratch[0]}
			*fields[rnd.Intn(len(fields))] = number()
			if rnd.Intn(2) == 0 {
				s.Op, s.SrcBuf, s.DstBuf = ir.Op(rnd.Intn(11)), ir.Buf(rnd.Intn(5)), ir.Buf(rnd.Intn(5))
			}
		}
		if _, err := Load(p, Options{Device: &nullDevice{}, Unproven: true}); err == nil {
			taken++
		}
	}
	if taken == 0 || taken == 20000 {
		t.Errorf("%d of 20000 were taken", taken)
	}
}

func TestRunRejects(t *testing.T) {
	p := sendrecv()
	l, err := Load(p, Options{Device: &nullDevice{}})
	if err != nil {
		t.Fatal(err)
	}
	good := func() Args { return DataArgs(data.New(data.NewGeometry(p.Coll, 10, 4), data.F32, data.Sum, 1)) }
	if _, err := l.Run(context.Background(), good()); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(a *Args){
		"type":       func(a *Args) { a.DType = data.NumDTypes },
		"reduction":  func(a *Args) { a.RedOp = data.NumRedOps },
		"elements":   func(a *Args) { a.Elems = -1 },
		"too many":   func(a *Args) { a.Elems = 1 << 60 },
		"ranks":      func(a *Args) { a.Input = a.Input[:1] },
		"no outputs": func(a *Args) { a.Output = nil },
		"short":      func(a *Args) { a.Input[0] = a.Input[0][:36] },
		"long":       func(a *Args) { a.Output[1] = make([]byte, 44) },
		"unaligned":  func(a *Args) { a.Output[1] = make([]byte, 41)[1:] },
		"protocol":   func(a *Args) { p := ir.NumProtocols; a.Protocol = &p },
		"slots":      func(a *Args) { a.Slots = -1 },
		"slot":       func(a *Args) { a.SlotBytes = 1 },
		"tile":       func(a *Args) { a.TileBytes = -1 },
		"wait":       func(a *Args) { a.Wait = -1 },
		"threads":    func(a *Args) { a.Threads = -1 },
	} {
		a := good()
		spoil(&a)
		if _, err := l.Run(context.Background(), a); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Run(context.Background(), good()); err == nil {
		t.Error("a closed program ran")
	}
}

// TestEven holds a program whose operands differ in class to sizes that divide.
func TestEven(t *testing.T) {
	p := sendrecv()
	for i := range p.Steps {
		p.Steps[i].Class = 1
	}
	l, err := Load(p, Options{Device: &nullDevice{}, Unproven: true})
	if err != nil {
		t.Fatal(err)
	}
	var list diag.List
	if _, err := l.Run(context.Background(), DataArgs(data.New(data.NewGeometry(p.Coll, 10, 4), data.F32, data.Sum,
		1))); !errors.As(err, &list) || list[0].Code != diag.Uneven {
		t.Errorf("10 elements in 3 chunks: %v", err)
	}
	if _, err := l.Run(context.Background(),
		DataArgs(data.New(data.NewGeometry(p.Coll, 12, 4), data.F32, data.Sum, 1))); err != nil {
		t.Error(err)
	}
}

// TestAvgNeedsFinal refuses to average integers where nothing would divide.
func TestAvgNeedsFinal(t *testing.T) {
	p := sendrecv()
	p.Coll = &ir.Collective{Kind: ir.AllReduce, Ranks: 2, Chunks: 3}
	for final, flag := range map[bool]ir.StepFlags{false: 0, true: ir.Final} {
		for i := range p.Steps {
			p.Steps[i].Flags = flag
		}
		l, err := Load(p, Options{Device: &nullDevice{}, Unproven: true})
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.Run(context.Background(), DataArgs(data.New(data.NewGeometry(p.Coll, 12, 4), data.I32, data.Avg, 1)))
		if final != (err == nil) || !final && !errors.Is(err, ErrNotSupported) {
			t.Errorf("final %v: %v", final, err)
		}
	}
}

// TestAvgNeedsFresh refuses to average floats where one operand has inputs and partial sums. Integers are averaged.
func TestAvgNeedsFresh(t *testing.T) {
	p := irtest.Program(t, `program mixed
collective reduce ranks=3 chunks=2 root=2
scratch 0,0,2
block 0.0 send 2 ch 0
  0 s input[0]*2
block 1.0 send 2 ch 0
  0 s input[0]*2
block 2.0 recv 0 ch 0
  0 r scratch[0]*2 hasdep
block 2.1 recv 1 ch 0
  0 r output[0]*2
  1 re scratch[0] => output[0] dep 0.0
  2 re input[0] => output[0]*2 final
  3 re scratch[1] => output[1] final
`)
	l, err := Load(p, Options{Device: &nullDevice{}, Unproven: true})
	if err != nil {
		t.Fatal(err)
	}
	for dt, refused := range map[data.DType]bool{data.F32: true, data.F16: true, data.I32: false} {
		_, err := l.Run(context.Background(), DataArgs(data.New(data.NewGeometry(p.Coll, 12, dt.Size()), dt, data.Avg, 1)))
		if errors.Is(err, ErrNotSupported) != refused || refused && !strings.Contains(err.Error(), "scale the inputs") {
			t.Errorf("%v: %v", dt, err)
		}
	}
}

// TestChains looks at which steps are done at once.
func TestChains(t *testing.T) {
	re := func(src, dst int32, flags ir.StepFlags, dep int32) ir.Step {
		return ir.Step{Op: ir.Reduce, SrcBuf: ir.Scratch, DstBuf: ir.Output, Src: src, Dst: dst, Count: 1, Class: dst,
			Flags: flags, DepBlock: dep, DepStep: dep, Pos: -1}
	}
	p := either.OfFifo(&fifo.Program{Program: ir.Program{
		Header: ir.Header{Coll: &ir.Collective{Kind: ir.AllReduce, Ranks: 1, Chunks: 3}}, Scratch: []int32{9},
		Rank:   []ir.Range{{First: 0, End: 1}},
		Blocks: []ir.TB{{Block: ir.Block{SendPeer: -1, RecvPeer: -1}, Steps: ir.Range{First: 0, End: 9}}}}, Channels: 1})
	other := re(4, 1, 0, -1)
	other.SrcBuf = ir.Input
	other.Src = 1
	p.Steps = []ir.Step{
		re(0, 0, 0, -1), re(1, 0, 0, -1), re(2, 0, 0, -1), // three at once
		re(3, 1, 0, -1),         // another dst
		re(4, 1, 0, 0),          // waits
		re(5, 1, ir.HasDep, -1), // is waited for, and ends the chain
		re(6, 1, ir.Final, -1),  // so does a complete sum
		other, re(7, 1, 0, -1),  // another source buffer, and back
	}
	img, err := abi.NewImage(p)
	if err != nil {
		t.Fatal(err)
	}
	want := []uint32{3, 1, 1, 1, 2, 1, 1, 1, 1}
	for i := range img.Steps {
		if img.Steps[i].Chain != want[i] {
			t.Errorf("step %d begins a chain of %d, not %d", i, img.Steps[i].Chain, want[i])
		}
	}
}

// ArgsOf finds the length of a piece from the lengths of the slices, whichever ranks have some.
func TestArgsOfNumbers(t *testing.T) {
	var seen []*ir.Collective
	for kind := range ir.Custom {
		for _, inplace := range []bool{false, true} {
			seen = append(seen, &ir.Collective{Kind: kind, Ranks: 3, Chunks: 2, Root: 2, Peer: []int32{1, 2, 0},
				Inplace: inplace})
		}
	}
	seen = append(seen, &ir.Collective{Kind: ir.Custom, Ranks: 2, Chunks: 3, In: 3, Out: 2},
		&ir.Collective{Kind: ir.Custom, Ranks: 2, Chunks: 3, PerRank: [][2]int32{{3, 0}, {0, 2}}})
	for _, c := range seen {
		for _, elems := range []int64{0, 1, 4, 1023} {
			geo := data.NewGeometry(c, elems, 4)
			var input, output [][]int32
			for r := range c.Ranks {
				in, out, _, _, mem := geo.Buffers(r)
				if input = append(input, make([]int32, max(in, mem))); !c.Inplace {
					output = append(output, make([]int32, out))
				}
			}
			args := ArgsOf(c, input, output)
			if args.Elems != elems || args.DType != data.I32 || args.RedOp != data.Sum {
				t.Errorf("%v of %d: %d elements of %v, %v", c, elems, args.Elems, args.DType, args.RedOp)
			}
			if _, err := memory(geo, &args, args.DType.Size()); err != nil {
				t.Errorf("%v of %d: %v", c, elems, err)
			}
		}
	}
	got := []data.DType{data.DTypeOf[float32](), data.DTypeOf[float64](), data.DTypeOf[int8](), data.DTypeOf[uint8](),
		data.DTypeOf[int32](), data.DTypeOf[uint32](), data.DTypeOf[int64](), data.DTypeOf[uint64]()}
	if want := []data.DType{data.F32, data.F64, data.I8, data.U8, data.I32, data.U32, data.I64,
		data.U64}; !slices.Equal(got, want) {
		t.Errorf("Go's types are %v, want %v", got, want)
	}
}
