package gputest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"mscclc/algorithms"
	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
	"mscclc/lang"
)

func must(t testing.TB, name string, ranks int, inplace bool) *either.Program {
	t.Helper()
	p, err := ranked(name, ranks, ir.Simple, inplace).twoSided()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// numbers returns the GPUs that MSCCLC_GPUS names, as in 0,1; nothing means all.
func numbers() []int {
	var list []int
	for _, s := range strings.FieldsFunc(os.Getenv("MSCCLC_GPUS"), func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(s)
		if err != nil {
			panic(err)
		}
		list = append(list, n)
	}
	return list
}

func (d Device) load(t testing.TB, p *either.Program) *executor.Loaded {
	t.Helper()
	l, err := executor.Load(p, executor.Options{Device: d.Open(numbers()...), Unproven: true}) // Compile has proven it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// check runs a program on random data and compares every element.
func check(l *executor.Loaded, c *ir.Collective, dt data.DType, op data.RedOp, elems int64,
	set func(*executor.Args)) error {
	d := data.New(data.NewGeometry(c, elems, dt.Size()), dt, op, uint64(elems)*31+uint64(dt)*7+uint64(op))
	args := executor.DataArgs(d)
	args.Wait = 10 * time.Second
	if set != nil {
		set(&args)
	}
	if _, err := l.Run(context.Background(), args); err != nil {
		return err
	}
	rep := d.Check()
	if err := rep.Err(); err != nil {
		return fmt.Errorf("%v %v, %d elements: %w", dt, op, elems, err)
	}
	if elems > 0 && rep.Checked == 0 {
		return errors.New("nothing was compared")
	}
	return nil
}

// shapes returns the parameters that a program of the catalog is tried with.
func shapes(name string, quick bool) []lang.Params {
	text, err := algorithms.Open(name)
	if err != nil {
		panic(err)
	}
	var list []lang.Params
	if quick {
		if strings.Contains(string(text), "nodes") {
			list = append(list, lang.Params{"nodes": 2, "gpus": 2})
		}
		return append(list, lang.Params{"ranks": 2}, lang.Params{"ranks": 4})
	}
	if strings.Contains(string(text), "nodes") {
		for _, s := range [][2]int{{1, 2}, {2, 2}, {2, 4}, {4, 4}, {2, 8}} {
			list = append(list, lang.Params{"nodes": s[0], "gpus": s[1]})
		}
	}
	for _, n := range []int{2, 3, 4, 8, 16} {
		list = append(list, lang.Params{"ranks": n})
	}
	return list
}

// testCatalog runs every program of the catalog with several numbers of ranks, in
// place and out of place, with every protocol, at odd sizes.
func testCatalog(t *testing.T, d Device) {
	for first, name := range algorithms.Names() {
		if text, err := algorithms.Open(name); err != nil || !strings.Contains(string(text), "\nalgorithm ") {
			continue // it is for other files to import
		} else if strings.Contains(string(text), ".then(") {
			continue // testRows runs it
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all []shape
			var programs []*either.Program
			for _, params := range shapes(name, d.StandIn()) {
				for i := range 2 * int(ir.NumProtocols) {
					s := shape{name, params, i%2 == 1, ir.Protocol(i / 2), true, 0}
					if p, err := s.twoSided(); err == nil { // else the program does not have the shape
						all, programs = append(all, s), append(programs, p)
					}
				}
			}
			if len(all) < int(ir.NumProtocols) {
				t.Fatalf("it has %d combinations", len(all))
			}
			ran := 0
			for i, p := range programs {
				last := i == len(all)-1 && ran == 0 && !d.smoke() // each program runs once at least
				if !d.takes(first+i) && !last {
					continue
				}
				if err := d.several(p, i+1); err != nil {
					t.Errorf("%v: %v", all[i], err)
				}
				ran++
			}
			t.Logf("%d combinations ran", ran)
		})
	}
}

// several runs a program with several types and sizes.
func (d Device) several(p *either.Program, turn int) error {
	l, err := executor.Load(p, executor.Options{Device: d.Open(numbers()...), Unproven: true})
	if err != nil {
		return err
	}
	defer l.Close()
	chunks := int64(p.Coll.Chunks)
	sizes := []int64{1, 5, 1000}
	if d.StandIn() {
		sizes = []int64{5, 1003}
	} else if turn%5 == 0 { // a shape has eight combinations, so that each of them comes to it with some shape
		sizes = append(sizes, 65536, 100003)
	}
	for i, elems := range sizes {
		if elems *= 1 + int64(turn%2); l.Even() {
			elems *= chunks
		}
		dt := data.DType((turn + i) % int(data.NumDTypes))
		if i == 3 {
			dt = data.F32
		}
		op := data.RedOp((turn + i) % int(data.Avg))
		if err := check(l, p.Coll, dt, op, elems, nil); err != nil {
			return err
		}
	}
	return nil
}

// testTwoSidedTypes runs every type with every reduction and protocol.
func testTwoSidedTypes(t *testing.T, d Device) {
	for _, p := range []*either.Program{must(t, "allreduce/ring", 5, true), must(t, "allreduce/allpairs", 4, false)} {
		l := d.load(t, p)
		for dt := range data.NumDTypes {
			t.Run(p.Name+"-"+dt.String(), func(t *testing.T) {
				for op := range data.NumRedOps {
					for proto := range ir.NumProtocols {
						if !d.takes((int(dt)*int(data.NumRedOps)+int(op))*int(ir.NumProtocols) + int(proto)) {
							continue
						}
						if err := check(l, p.Coll, dt, op, int64(d.times(1003, 10007)),
							func(a *executor.Args) { a.Protocol = &proto }); err != nil {
							t.Errorf("%v %v: %v", op, proto, err)
						}
					}
				}
			})
		}
	}
}

// testSizes runs sizes that divide by nothing, with small slots and tiles, and
// blocks of few and of many threads.
func testSizes(t *testing.T, d Device) {
	for _, p := range []*either.Program{must(t, "allreduce/ring", 3, false), must(t, "allreduce/allpairs", 5, true),
		must(t, "allgather/ring", 4, false)} {
		l, turn := d.load(t, p), 0
		for proto := range ir.NumProtocols {
			for _, elems := range []int64{0, 1, 2, 3, 17, 1000, int64(d.times(4001, 40009))} {
				for i, slot := range []int64{16, 1 << 10, 0} {
					if slot == 16 && elems > 1000 {
						continue
					}
					for _, dt := range []data.DType{data.I32, data.U8} {
						if turn++; !d.takes(turn - 1) {
							continue
						}
						if err := check(l, p.Coll, dt, data.Sum, elems, func(a *executor.Args) {
							a.Protocol, a.SlotBytes, a.TileBytes, a.PerBlock = &proto, slot, slot/2, []int{64, 0, 256}[i]
						}); err != nil {
							t.Fatalf("%s %v slot %d: %v", p.Name, proto, slot, err)
						}
					}
				}
			}
		}
	}
}

// testRepeated runs one loaded program again and again, over changes of size,
// protocol and slots.
func testRepeated(t *testing.T, d Device) {
	p := must(t, "allreduce/allpairs", 3, true)
	l := d.load(t, p)
	for i := range d.times(60, 300) {
		proto := ir.Protocol(i / 7 % int(ir.NumProtocols))
		if err := check(l, p.Coll, data.I64, data.Sum, int64(i*i%331), func(a *executor.Args) {
			a.Protocol, a.Slots, a.SlotBytes = &proto, 2+i/5%3, int64(16<<(i/11%5))
		}); err != nil {
			t.Fatalf("run %d, %v: %v", i, proto, err)
		}
	}
}

// stuck returns a program whose rank 1 waits for what rank 0 never sends.
func stuck(proto ir.Protocol) *either.Program {
	c := &ir.Collective{Kind: ir.SendRecv, Ranks: 2, Chunks: 1, Peer: []int32{1, 0}}
	step := ir.Step{Op: ir.Recv, SrcBuf: ir.NoBuf, DstBuf: ir.Output, Count: 1, DepBlock: -1, DepStep: -1}
	return either.OfFifo(&fifo.Program{Program: ir.Program{
		Header: ir.Header{Name: "stuck", Coll: c, RanksPerNode: 2, Protocol: proto,
			Spans: []diag.Span{{Pos: diag.Pos{Filename: "stuck.mscl", Line: 1, Column: 1}}}},
		Steps: []ir.Step{step}, Scratch: make([]int32, 2),
		Blocks: []ir.TB{{Block: ir.Block{Rank: 0, SendPeer: 1, RecvPeer: 1}},
			{Block: ir.Block{Rank: 1, SendPeer: 0, RecvPeer: 0}, Steps: ir.Range{First: 0, End: 1}}},
		Rank: []ir.Range{{First: 0, End: 1}, {First: 1, End: 2}}}, Channels: 1})
}

// testTimeout names the step that waits for ever, within its time, and again.
func testTimeout(t *testing.T, d Device) {
	for proto := range ir.NumProtocols {
		l := d.load(t, stuck(proto))
		for range 2 {
			d := data.New(data.NewGeometry(&ir.Collective{Kind: ir.SendRecv, Ranks: 2, Chunks: 1, Peer: []int32{1, 0}}, 400, 4),
				data.F32, data.Sum, 1)
			args := executor.DataArgs(d)
			args.Wait = 50 * time.Millisecond
			begin := time.Now()
			_, err := l.Run(context.Background(), args)
			took := time.Since(begin)
			var list diag.List
			if !errors.As(err, &list) || list[0].Code != diag.Timeout ||
				!strings.Contains(err.Error(), "rank 1 block 0 step 0 (r): waited") {
				t.Fatalf("%v: %v", proto, err)
			}
			if took > 5*time.Second {
				t.Errorf("%v: it took %v", proto, took)
			}
		}
	}
}

// testCancel ends a run that waits for ever by its context.
func testCancel(t *testing.T, d Device) {
	l := d.load(t, stuck(ir.Simple))
	buffers := data.New(data.NewGeometry(&ir.Collective{Kind: ir.SendRecv, Ranks: 2, Chunks: 1, Peer: []int32{1, 0}},
		4, 4), data.F32, data.Sum, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	args := executor.DataArgs(buffers)
	args.Wait = 20 * time.Second
	if _, err := l.Run(ctx, args); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// testTooLarge says how many blocks a GPU has room for.
func testTooLarge(t *testing.T, d Device) {
	p := must(t, "allreduce/allpairs", 64, true)
	err := check(d.load(t, p), p.Coll, data.F32, data.Sum, 64, func(a *executor.Args) { a.PerBlock = 512 })
	if !errors.Is(err, executor.ErrNoDevice) || !strings.Contains(err.Error(), "has room for") {
		t.Errorf("got %v", err)
	}
}
