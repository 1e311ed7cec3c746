package runtime_test

import (
	"bytes"
	"encoding/binary"
	"math/rand"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"structs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mscclc/bundle"
	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/executor/gpu"
	"mscclc/internal/covering"
	"mscclc/ir"
)

// A request is struct Request of testdata/layout.cc, and an answer is struct Answer.
type request struct {
	_                                       structs.HostLayout
	Program, Rank, DType, RedOp, Replicas   uint32
	Length, Threads, Pad                    uint32 // of rows and of blocks, where the program has an epilogue
	Elems, Tile                             uint64
	Blocks, Steps, Operands, States, Status uint64
	Memory                                  [abi.OneRanks]abi.OneMemory
}
type answer struct {
	_           structs.HostLayout
	Cannot, Few uint32
	Entry       [40]byte
	Launch      abi.FewLaunch
	Rows        abi.Rows
}

// TestLayout has the library and executor/abi lay out the same calls of all programs of bundles: at random, aligned and
// not, in place and not.
func TestLayout(t *testing.T) {
	file := program(t, "layout", engineObjects)
	calls := covering.Share(200)
	for _, ranks := range []int{2, 4, 8} {
		t.Run(strconv.Itoa(ranks), func(t *testing.T) {
			types := []data.DType{data.F32, data.BF16, data.I8, data.F64, data.E4M3}
			b := makeBundle(t, types, bundle.DefaultCTAs, ranks)
			compareLayouts(t, file, b, ranks, calls)
		})
	}
}

// TestLayoutDirect is TestLayout for direct programs, whose launches have the buffers of all ranks.
func TestLayoutDirect(t *testing.T) {
	file := program(t, "layout", engineObjects)
	for _, ranks := range []int{2, 4, 8} {
		b := makeDirect(t, []data.DType{data.F32, data.I8}, bundle.DefaultCTAs, ranks)
		compareLayouts(t, file, b, ranks, covering.Share(200))
	}
}

// TestLayoutLanes is TestLayout for programs in several lanes.
func TestLayoutLanes(t *testing.T) {
	file := program(t, "layout", engineObjects)
	for _, ranks := range []int{2, 3, 8} {
		for _, direct := range []bool{false, true} {
			b := makeLaned(t, []data.DType{data.F32, data.I8, data.BF16}, bundle.DefaultCTAs, ranks, direct)
			compareLayouts(t, file, b, ranks, covering.Share(200))
		}
	}
}

// TestLayoutCatalog is TestLayout for all programs of the catalog that bundles take.
func TestLayoutCatalog(t *testing.T) {
	file := program(t, "layout", engineObjects)
	for _, ranks := range []int{3, 4} {
		compareLayouts(t, file, makeCatalog(t, ranks), ranks, covering.Share(200))
	}
}

// TestLayoutRows is TestLayout for programs with an epilogue.
func TestLayoutRows(t *testing.T) {
	file := program(t, "layout", engineObjects)
	for _, ranks := range []int{2, 4} {
		for _, packets := range []ir.Protocol{ir.LL, ir.LL128} {
			b, err := bundle.Build(rowSpec(t, ranks, packets))
			if err != nil {
				t.Fatal(err)
			}
			compareLayouts(t, file, b, ranks, covering.Share(100))
		}
	}
}

// compareLayouts compares a number of calls of each program.
func compareLayouts(t *testing.T, file string, b *bundle.Bundle, ranks, calls int) {
	rnd := rand.New(rand.NewSource(int64(ranks)))
	var asked []request
	var input bytes.Buffer
	for i := range b.Programs {
		for range calls {
			q := randomRequest(rnd, b.Programs[i], i, ranks)
			asked = append(asked, q)
			binary.Write(&input, binary.LittleEndian, &q)
		}
	}
	cmd := exec.Command(file, write(t, bundle.Encode(b)), strconv.Itoa(ranks), device)
	cmd.Stdin, cmd.Stderr = &input, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	reader, shorts := bytes.NewReader(out), 0
	for _, q := range asked {
		var got answer
		if err := binary.Read(reader, binary.LittleEndian, &got); err != nil {
			t.Fatal(err)
		}
		p := b.Programs[q.Program]
		want := layout(p, &q)
		shorts += int(want.Few)
		if (got.Cannot == 0) != (want.Cannot == 0) || got.Cannot == 0 && got != want {
			t.Fatalf("%s: %+v:\n%s", p.Title(), q, cmp.Diff(want, got, cmp.AllowUnexported(answer{}, abi.FewLaunch{},
				abi.FewParams{}, abi.OneParams{}, abi.FewStep{}, abi.OneMemory{}, abi.OneSwitch{}, abi.Rows{}, abi.RowStage{},
				abi.RowMemory{}, structs.HostLayout{})))
		}
	}
	t.Logf("%d calls, %d of them short", len(asked), shorts)
	few := slices.ContainsFunc(b.Programs, func(p *bundle.Program) bool {
		return p.BlocksOf() == 1 && p.Packets > 0 && p.Flags == 0
	})
	if shorts > 0 != few {
		t.Errorf("%d calls are short, and it is %v that a program has one block, packets and no flags", shorts, few)
	}
}

// randomRequest returns a call of a program with addresses that are never used.
func randomRequest(rnd *rand.Rand, p *bundle.Program, number, ranks int) request {
	dtype := data.DType(rnd.Intn(int(data.NumDTypes)))
	size := uint64(dtype.Size())
	q := request{Program: uint32(number), Rank: uint32(rnd.Intn(ranks)), DType: uint32(dtype),
		RedOp: uint32(rnd.Intn(int(data.NumRedOps))), Replicas: uint32(1 + rnd.Intn(int(p.Replicas))),
		Elems: uint64(rnd.Int63n(1 << rnd.Intn(28))), Tile: uint64(1 + rnd.Int63n(1<<18)),
		Blocks: 1 << 40, Steps: 2 << 40, Operands: 3 << 40, States: 4 << 40, Status: 5 << 40}
	if rnd.Intn(3) > 0 { // as calls usually are
		unit := 16 * uint64(p.Chunks)
		q.Elems, q.RedOp = (1+uint64(rnd.Int63n(1<<rnd.Intn(12))))*unit/size, 0
		q.Elems = (q.Elems + unit - 1) / unit * unit
	}
	if p.Stages > 0 {
		q.DType, q.RedOp = uint32(rnd.Intn(int(data.F32)+1)), uint32(data.Sum)
		q.Length, q.Elems = uint32(1+rnd.Intn(1<<rnd.Intn(14))), uint64(rnd.Int63n(1<<rnd.Intn(16)))
		q.Threads = 64 << rnd.Intn(4)
		if rnd.Intn(3) > 0 { // as calls usually are
			q.Length = (q.Length + 127) / 128 * 128
			q.Elems = uint64(1+rnd.Int63n(64)) * uint64(p.Chunks)
		}
	}
	for r := range ranks {
		at := uint64(100+r) << 32
		q.Memory[r] = abi.OneMemory{Scratch: at + p.ScratchAt, Packets: at + p.PacketsAt, Flags: at + p.FlagsAt}
	}
	placeBuffers(rnd, p, &q)
	return q
}

// placeBuffers chooses where a call's buffers lie: those of all ranks for a direct program, and else the own rank's.
// They are aligned and not, and all of them are in place, or none is.
func placeBuffers(rnd *rand.Rand, p *bundle.Program, q *request) {
	size := uint64(data.DType(q.DType).Size())
	var input, output uint64
	inplace := rnd.Intn(4) == 0
	if !inplace && rnd.Intn(3) == 0 {
		input, output = size*uint64(rnd.Intn(16)), size*uint64(rnd.Intn(16))
	}
	coll := &ir.Collective{Kind: ir.Kind(p.Kind), Ranks: int(p.Ranks), Chunks: int(p.Chunks), Root: int(p.Root),
		Inplace: inplace}
	geo := data.NewGeometry(coll, int64(q.Elems), int(size))
	for r := range p.Ranks {
		if m := &q.Memory[r]; r == q.Rank || p.Direct != 0 {
			m.Input, m.Output = 6<<40+uint64(r)<<36+input, 7<<40+uint64(r)<<36+output
			if inplace {
				_, _, inAt, outAt, _ := geo.Buffers(int(r))
				m.Input, m.Output = 6<<40+uint64(r)<<36+uint64(inAt)*size, 6<<40+uint64(r)<<36+uint64(outAt)*size
			}
		}
	}
}

// layout returns the answer of executor/abi.
func layout(p *bundle.Program, q *request) (a answer) {
	coll := &ir.Collective{Kind: ir.Kind(p.Kind), Ranks: int(p.Ranks), Chunks: int(p.Chunks), Root: int(p.Root)}
	one := &abi.OneImage{Depth: int(p.Depth), OnePass: p.OnePass != 0, Scratch: int(p.Scratch), Packets: int(p.Packets),
		Flags: int(p.Flags), Copies: p.Copies != 0, Lines: p.Lines != 0, Blocks: make([]abi.OneBlock, p.Blocks)}
	dtype, redop := data.DType(q.DType), data.RedOp(q.RedOp)
	geo := data.NewGeometry(coll, int64(q.Elems), dtype.Size()*max(1, int(q.Length)))
	err := one.Reserve(int(p.Replicas), int64(p.Tile))
	var params abi.OneParams
	if err == nil {
		params, err = one.Params(geo, dtype, redop, int(q.Replicas), int64(q.Tile))
	}
	var rows *abi.Rows
	if err == nil && p.Stages > 0 {
		params, err = one.RowParams(geo, dtype, redop, int(q.Length), int(q.Replicas), int64(q.Tile))
		rows = new(rowsOf(p, q))
	}
	if err != nil || p.Even != 0 && q.Elems%uint64(p.Chunks) != 0 ||
		redop == data.Avg && p.Copies == 0 && !p.Averages(dtype) {
		a.Cannot = 1
		return a
	}
	part := &p.Parts[q.Rank]
	part.Count(&params)
	params.Blocks, params.Steps, params.Operands = q.Blocks, q.Steps, q.Operands
	params.States, params.StatusAt = q.States, q.Status
	copy(params.Rank[:], q.Memory[:p.Ranks])
	ready := &executor.Ready{One: &params, Copies: one.Copies, Lines: one.Lines, Rows: rows}
	if rows != nil {
		a.Rows = *rows
		if params.Passes > 0 {
			ready.Few = part.FewRows(&params, rows, one.Lines, int(q.Threads))
		}
	} else if params.Passes > 0 {
		ready.Few = part.Few(&params, one.Lines)
	}
	a.Launch.One = params
	if ready.Few != nil {
		a.Few, a.Launch.Few = 1, *ready.Few
	}
	copy(a.Entry[:], gpu.OneEntry(ready, one.Copies, false))
	return a
}

// rowsOf returns what executor/abi makes of the epilogue of a call.
func rowsOf(p *bundle.Program, q *request) abi.Rows {
	var values []float64
	var memory abi.RowMemory
	for i, s := range p.Then() {
		value := 0.0
		if s.Row().Value != "" {
			value = 0.5 * float64(i+1)
		}
		values = append(values, value)
		memory.First[i], memory.Second[i] = 8<<40+uint64(i)*256, 9<<40+uint64(i)*256
	}
	rows, err := abi.NewRows(p.Then(), data.DType(q.DType), int(q.Length), values)
	if err != nil {
		panic(err)
	}
	rows.Rank, rows.FirstRank = memory, q.Rank
	return rows
}
