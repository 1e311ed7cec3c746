package algorithms_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mscclc"
	"mscclc/codegen"
	"mscclc/codegen/msccl"
	programfile "mscclc/codegen/program"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/ir/fifo"
	"mscclc/ir/verify"
	"mscclc/lang"

	"golang.org/x/sync/errgroup"
)

// A combination is one cell of the matrix.
type combination struct {
	params    lang.Params
	target    *codegen.Target
	protocol  ir.Protocol
	instances int
	inplace   bool
	own       bool // and not inplace: the placement that the file has
	fuse      bool
	turn      int // rotates what is run: types, reductions, sizes
}

func (c *combination) String() string {
	var params []string
	for _, name := range slices.Sorted(maps.Keys(c.params)) {
		params = append(params, fmt.Sprintf("%s=%v", name, c.params[name]))
	}
	return fmt.Sprintf("%s --target %s --protocol %v --instances %d --inplace=%v --fuse=%v (turn %d)",
		strings.Join(params, " "), c.target.Name, c.protocol, c.instances, c.inplace, c.fuse, c.turn)
}

func (c *combination) options(p *program) mscclc.Options {
	opt := mscclc.Options{Target: c.target}
	opt.Lang = lang.Options{Params: c.params, Inplace: &c.inplace, Protocol: &c.protocol, Open: p.open}
	if c.own {
		opt.Lang.Inplace = nil
	}
	opt.Passes.Instances = c.instances
	if !c.fuse {
		opt.Passes.Off = map[string]bool{"fuse": true}
	}
	return opt
}

// twoSided are the targets of two-sided programs; TestMSCCLPP is of the other.
var twoSided = slices.DeleteFunc(slices.Clone(codegen.Targets),
	func(t *codegen.Target) bool { return t.Format == codegen.FormatMSCCLPP })

// matrix returns the combinations of p, the turn-th program. Shapes that the file asserts against and placements that
// the collective does not have are no values.
func (p *program) matrix(t *testing.T, turn int) []combination {
	shapes, places := p.legal(t)
	sizes := []int{len(shapes), len(twoSided) * int(ir.NumProtocols), 4, len(places), 2}
	rows := covering.Rows(sizes, turn)
	all := make([]combination, len(rows))
	for i, r := range rows {
		all[i] = combination{
			params: shapes[r[0]], target: twoSided[r[1]%len(twoSided)], protocol: ir.Protocol(r[1] / len(twoSided)),
			instances: 1 + r[2], inplace: places[r[3]], fuse: r[4] == 0, turn: turn + i,
		}
	}
	return all
}

// legal returns the shapes and the placements that p has.
func (p *program) legal(t *testing.T) (shapes []lang.Params, places []bool) {
	for _, s := range p.shapes() {
		_, err := lang.Expand(p.tree, lang.Options{Params: s, Open: p.open})
		if err == nil {
			shapes = append(shapes, s)
		} else if codeOf(err) != diag.AssertFailed {
			t.Errorf("%s %v: %v", p.name, s, err)
		}
	}
	if len(shapes) < 4 { // the powers of two
		t.Fatalf("%s: %d legal shapes", p.name, len(shapes))
	}
	for _, inplace := range []bool{false, true} {
		_, err := lang.Expand(p.tree, lang.Options{Params: shapes[0], Open: p.open, Inplace: &inplace})
		if err == nil {
			places = append(places, inplace)
		} else if codeOf(err) != diag.NotInPlace {
			t.Errorf("%s in place %v: %v", p.name, inplace, err)
		}
	}
	return shapes, places
}

// codeOf returns the code of err where all of it has one, else nothing.
func codeOf(err error) diag.Code {
	var list diag.List
	if !errors.As(err, &list) || len(list) == 0 {
		return ""
	}
	for _, d := range list {
		if d.Code != list[0].Code {
			return ""
		}
	}
	return list[0].Code
}

// A tally is what came of one program.
type tally struct {
	ran      int
	refused  map[diag.Code]int
	accepted map[string]int // by target
}

// TestMatrix compiles, checks and runs every program over the rows of covering.Rows: with MSCCLC_TESTS=full over all
// combinations, which writes MATRIX.md.
func TestMatrix(t *testing.T) {
	all := programs(t)
	tallies := make([]tally, len(all))
	start := time.Now()
	t.Cleanup(func() { // when all are through
		if covering.Full() && !t.Failed() {
			writeMatrix(t, all, tallies, time.Since(start))
		}
	})
	for i := range all {
		t.Run(all[i].name, func(t *testing.T) {
			t.Parallel()
			tallies[i] = all[i].try(t, all[i].matrix(t, i))
		})
	}
}

// try runs combinations of p on all processors.
func (p *program) try(t *testing.T, combinations []combination) tally {
	sum := tally{refused: map[diag.Code]int{}, accepted: map[string]int{}}
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range combinations {
		g.Go(func() error {
			c := &combinations[i]
			err := p.tryOne(c)
			mu.Lock()
			defer mu.Unlock()
			switch code := codeOf(err); {
			case err == nil:
				sum.ran++
				sum.accepted[c.target.Name]++
			case code == diag.Limit || code == diag.Unsupported:
				sum.refused[code]++
			default:
				t.Errorf("%s %v: %v", p.name, c, err)
			}
			return nil
		})
	}
	g.Wait()
	if sum.ran == 0 || sum.accepted["program"] == 0 {
		t.Errorf("%s: %d combinations ran, %d of target program", p.name, sum.ran, sum.accepted["program"])
	}
	return sum
}

// tryOne compiles one combination, writes it, reads that back, checks it, and
// runs it. A refusal of the target is its diagnostics.
func (p *program) tryOne(c *combination) error {
	compiled, err := mscclc.CompileFile(p.tree, c.options(p))
	if err != nil {
		return err
	}
	var file bytes.Buffer
	var read *either.Program
	if c.target.Format == codegen.FormatProgram {
		if err := programfile.Write(&file, compiled); err != nil {
			return err
		}
		read, err = programfile.Read(p.file, &file, codegen.ReadOptions{})
	} else {
		if err := msccl.Write(&file, compiled, c.target); err != nil {
			return err
		}
		var two *fifo.Program
		two, err = msccl.Read(p.file, &file, codegen.ReadOptions{Target: c.target})
		read = either.OfFifo(two)
	}
	if err != nil {
		return fmt.Errorf("what was written cannot be read: %v", err)
	}
	if read.Coll.Kind == ir.Opaque { // XML does not say what a custom collective requires
		read.Coll = compiled.Coll
		if err := errors.Join(eval.Classify(read.Fifo), eval.MarkFinal(read)); err != nil {
			return err
		}
	}
	if _, found := verify.Check(read, verify.Options{}); len(found) > 0 {
		return fmt.Errorf("what was written is wrong: %v", found)
	}
	return run(read, c.turn)
}

// run runs p once on the CPU: turn picks a type, a reduction and a size, and how
// finely data is cut.
func run(p *either.Program, turn int) error {
	loaded, err := executor.Load(p, executor.Options{Device: cpu.Device(), Unproven: true}) // the caller has checked it
	if err != nil {
		return fmt.Errorf("load: %v", err)
	}
	defer loaded.Close()
	op := data.RedOp(turn % int(data.NumRedOps))
	if op == data.Avg && p.Coll.Kind == ir.Custom {
		op = data.Sum
	}
	err = runOp(loaded, p, turn, op)
	if unscaled(op, err) {
		err = runOp(loaded, p, turn, data.Sum)
	}
	return err
}

// unscaled reports whether avg of floats was refused since a step of the program adds inputs and partial sums by one
// operand. TestNumerics knows which programs of the catalog have such steps.
func unscaled(op data.RedOp, err error) bool {
	return op == data.Avg && errors.Is(err, executor.ErrNotSupported) &&
		strings.Contains(err.Error(), "adds inputs and partial sums by one operand")
}

func runOp(loaded *executor.Loaded, p *either.Program, turn int, op data.RedOp) error {
	t := data.DType(turn % int(data.NumDTypes))
	chunks := int64(max(p.Coll.Chunks, 1))
	elems := chunks * []int64{1, 7, 40, 333}[turn%4]
	if !loaded.Even() {
		elems += int64(turn) % (chunks + 3)
	}
	buffers := data.New(data.NewGeometry(p.Coll, elems, t.Size()), t, op, uint64(turn))
	args := executor.DataArgs(buffers)
	args.Threads, args.Wait = 1, time.Minute
	if turn%3 == 0 {
		args.TileBytes = 256
	}
	if turn%5 == 0 { // messages of one chunk, where p is made for that
		if _, found := verify.Check(p, verify.Options{MessageChunks: 1}); len(found) == 0 {
			args.SlotBytes = 512
		}
	}
	if _, err := loaded.Run(context.Background(), args); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	found := buffers.Check()
	if err := found.Err(); err != nil {
		return fmt.Errorf("%v %v, %d elements: %v", t, op, elems, err)
	}
	if found.Checked == 0 {
		return fmt.Errorf("%d elements, and nothing was compared", elems)
	}
	return nil
}
