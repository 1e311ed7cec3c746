//go:build cgo

package cpu

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	ironesided "mscclc/ir/onesided"
	"mscclc/ir/verify"
	"mscclc/ir/verify/explore/onesided"
	"mscclc/passes/core"
)

// A stressed is a driver that runs one-sided programs in unlikely orders.
type stressed struct {
	bin     string
	threads int // of a block, at most
	checked int64
}

// stresser compiles testdata/stress.cc.
func stresser(t *testing.T, threads int, flags ...string) *stressed {
	t.Helper()
	return &stressed{bin: compile(t, "testdata/stress.cc",
		append(flags, "-fno-strict-aliasing", "-Wno-unknown-pragmas")...), threads: threads}
}

// stressCalls makes n calls of a program, of sizes, replicas and tiles that differ.
func stressCalls(p *either.Program, rnd *rand.Rand, even bool, n int) (buffers []*data.Buffers, list []executor.Args) {
	for range n {
		elems := int64(1 + rnd.Intn(60*p.Coll.Chunks))
		switch rnd.Intn(4) {
		case 0:
			elems = int64(1 + rnd.Intn(2*p.Coll.Chunks)) // with chunks of nothing
		case 1:
			elems = int64(16 * p.Coll.Chunks * (1 + rnd.Intn(6))) // as lanes have it quick
		}
		if even {
			elems = (elems + int64(p.Coll.Chunks) - 1) / int64(p.Coll.Chunks) * int64(p.Coll.Chunks)
		}
		d := data.New(data.NewGeometry(p.Coll, elems, 4), data.I32, data.Sum, uint64(rnd.Int63()))
		args := executor.DataArgs(d)
		args.Replicas, args.TileBytes, args.Wait = 1+rnd.Intn(3), int64(16<<rnd.Intn(5)), 30*time.Second
		buffers, list = append(buffers, d), append(list, args)
	}
	return buffers, list
}

// run runs calls of p one after the other, and compares what each leaves.
func (s *stressed) run(t *testing.T, p *either.Program, rnd *rand.Rand, n int) error {
	t.Helper()
	rec := &recorder{}
	tile := int64(256)
	if p.OneSided.OnePass {
		tile = 16 << 10
	}
	l, err := executor.Load(p, executor.Options{Device: rec, Replicas: 3, TileBytes: tile})
	if err != nil {
		return err
	}
	defer l.Close()
	buffers, list := stressCalls(p, rnd, l.Even(), n)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "dump"), rec.calls(t, l, list), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.bin, filepath.Join(dir, "dump"), filepath.Join(dir, "result"),
		strconv.Itoa(s.threads), strconv.Itoa(rnd.Int()))
	cmd.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0", "TSAN_OPTIONS=halt_on_error=1")
	if said, err := cmd.CombinedOutput(); err != nil || len(said) > 0 {
		return fmt.Errorf("%v\n%s", err, said)
	}
	result, err := os.ReadFile(filepath.Join(dir, "result"))
	if err != nil {
		t.Fatal(err)
	}
	for i, args := range list {
		for r := range args.Input {
			result = result[copy(args.Input[r], result):]
			if !p.Coll.Inplace {
				result = result[copy(args.Output[r], result):]
			}
		}
		rep := buffers[i].Check()
		s.checked += rep.Checked
		if p.ModifiesInput() {
			rep.Changed = nil
		}
		if err := rep.Err(); err != nil {
			return fmt.Errorf("call %d, %d elements in %d replicas and tiles of %d bytes: %w", i, args.Elems, args.Replicas,
				args.TileBytes, err)
		}
	}
	return nil
}

// calls dumps calls as testdata/stress.cc reads them.
func (r *recorder) calls(t *testing.T, l *executor.Loaded, list []executor.Args) []byte {
	t.Helper()
	var out bytes.Buffer
	for i, args := range list {
		if _, err := l.Run(context.Background(), args); err != nil {
			t.Fatal(err)
		}
		one, params := r.img.One, *r.launch.One
		part := one.Part(func(int) bool { return true })
		part.Into(&params)
		params.Inlined = 0
		if i == 0 {
			layout, err := one.Layout()
			if err != nil {
				t.Fatal(err)
			}
			copies, lines := uint64(0), uint64(0)
			if one.Copies {
				copies = 1
			}
			if one.Lines {
				lines = 1
			}
			out.Write(raw(uint64(r.launch.Wait), layout.Scratch, layout.Packets, layout.FlagMem,
				uint64(len(one.Blocks)*one.Replicas), uint64(len(list)), copies, lines))
			out.Write(raw(params))
			out.Write(raw(part.Blocks...))
			out.Write(raw(part.Steps...))
			out.Write(raw(part.Operands...))
		}
		out.Write(raw(params))
		for _, m := range r.launch.Memory {
			out.Write(raw(uint64(len(m.Input)), uint64(len(m.Output)), uint64(m.InAt), uint64(m.OutAt)))
			out.Write(m.Input)
			out.Write(m.Output)
		}
	}
	return out.Bytes()
}

// ring has each rank pass on what came from the one before it, in Moves that are joint.
func ring(ranks int, proto ir.Protocol) *either.Program {
	b := newOne(fmt.Sprintf("ring%d", ranks), &ir.Collective{Kind: ir.AllGather, Ranks: ranks, Chunks: 1}, proto,
		2, 0, ranks, 0)
	for r := range ranks {
		next := (r + 1) % ranks
		b.move(r, 1, 0, ops(at(r, ir.Input, 0)), ops(at(r, ir.Output, r), at(next, ir.Packets, 0)), 0)
		for k := 1; k < ranks; k++ {
			to := ops(at(r, ir.Output, (r-k+ranks)%ranks))
			if k < ranks-1 {
				to = append(to, at(next, ir.Packets, k))
			}
			b.move(r, 1, 0, ops(at(r, ir.Packets, k-1)), to, joint(k > 1))
		}
	}
	return b.program()
}

// twice has rank 0 send its chunk to two others as packets, of whom the first overwrites it as they come: what the
// second gets is what was read before.
func twice() *either.Program {
	c := &ir.Collective{Kind: ir.Custom, Ranks: 3, In: 1, Out: 1, Chunks: 1, Inplace: true, Require: map[ir.Part][]ir.Part{
		{Rank: 0, Index: 0}: {{Rank: 0, Index: 0}, {Rank: 1, Index: 0}}, {Rank: 2, Index: 0}: {{Rank: 0, Index: 0}}}}
	b := newOne("twice", c, ir.LL, 2, 0, 2, 2)
	b.add(0, ir.Signal, nil, ops(at(1, ir.Flags, 0)), ir.Enter)
	b.move(0, 1, 0, ops(at(0, ir.Input, 0)), ops(at(1, ir.Packets, 0), at(2, ir.Packets, 0)), 0)
	b.add(0, ir.Await, ops(nth(at(0, ir.Flags, 0), 1), nth(at(0, ir.Flags, 1), 1)), nil, 0)
	b.add(1, ir.Await, ops(nth(at(1, ir.Flags, 0), 1)), nil, ir.Enter)
	b.move(1, 1, 0, ops(at(1, ir.Packets, 0), at(1, ir.Input, 0)), ops(at(0, ir.Input, 0)), 0)
	b.add(1, ir.Signal, nil, ops(at(0, ir.Flags, 0)), 0)
	b.move(2, 1, 0, ops(at(2, ir.Packets, 0)), ops(at(2, ir.Input, 0)), 0)
	b.add(2, ir.Signal, nil, ops(at(0, ir.Flags, 1)), 0)
	return b.program()
}

func nth(x ironesided.Operand, n int) ironesided.Operand {
	x.Nth = int32(n)
	return x
}

// again has rank 0 signal one flag in two steps that nothing stands between, as other operands, each of another thread.
func again() *either.Program {
	c := &ir.Collective{Kind: ir.Custom, Ranks: 3, In: 1, Out: 1, Chunks: 1, Require: map[ir.Part][]ir.Part{
		{Rank: 1, Index: 0}: {{Rank: 1, Index: 0}}}}
	b := newOne("again", c, ir.Simple, 2, 0, 0, 2)
	b.add(0, ir.Signal, nil, ops(at(2, ir.Flags, 0), at(1, ir.Flags, 0)), 0)
	b.add(0, ir.Signal, nil, ops(at(1, ir.Flags, 0)), 0)
	b.add(1, ir.Await, ops(nth(at(1, ir.Flags, 0), 2)), nil, 0)
	b.move(1, 1, 0, ops(at(1, ir.Input, 0)), ops(at(1, ir.Output, 0)), 0)
	b.add(2, ir.Await, ops(nth(at(2, ir.Flags, 0), 1)), nil, 0)
	return b.program()
}

// stressKinds are the ways in which programs are stressed: as hosts and as GPUs move data, with and without the thread
// sanitizer. That knows no order by packets, so that they have one there that they do not have. Those under sanitizers
// take longer to compile than to run, and are for CI.
var stressKinds = []struct {
	name  string
	flags []string
}{
	{"host", nil},
	{"lanes", []string{"-DLANES_CPU"}},
	{"host, thread sanitizer", []string{"-fsanitize=thread", "-DKERNEL_PACKETS_ORDER"}},
	{"lanes, thread sanitizer", []string{"-DLANES_CPU", "-fsanitize=thread", "-DKERNEL_PACKETS_ORDER"}},
	{"lanes, address sanitizer", []string{"-DLANES_CPU", "-fsanitize=address,undefined"}},
}

// TestStressed runs one-sided programs in unlikely orders: those made by hand here, compiled random ones, and tiny ones
// that ask for every bit of order that verify says they have. MSCCLC_RANDOM=N asks for N of each of these.
func TestStressed(t *testing.T) {
	n := irtest.Count(t, covering.Share(12))
	kinds := stressKinds
	if !covering.CI() {
		kinds = kinds[:2]
	}
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			s, rnd := stresser(t, 16, kind.flags...), rand.New(rand.NewSource(1))
			run := func(what string, p *either.Program) {
				t.Helper()
				if err := s.run(t, p, rnd, 6); err != nil {
					t.Fatalf("%s %v: %v\n%s", what, p.Protocol, err, keep(p))
				}
			}
			for _, p := range []*either.Program{
				twice(), again(), ring(4, ir.LL), ring(5, ir.LL128), onePhase(3, 1, ir.LL, 2, true),
				onePhase(3, 2, ir.LL128, 2, false), onePhase(3, 2, ir.Simple, 1, false), twoPhases(3, 1, true), push(3, false),
				pull(3, ir.ViaMemory), gather(3, 2, true), throughSwitch(3, false), exchange(3, ir.LL), exchange(3, ir.LL128)} {
				run(p.Name, p)
			}
			for seed := range n {
				run(fmt.Sprintf("lowered %d", seed), loweredRandom(t, rand.New(rand.NewSource(int64(seed)))))
				run(fmt.Sprintf("tight %d", seed), tight(rand.New(rand.NewSource(int64(seed)))))
			}
			t.Logf("%d elements compared", s.checked)
		})
	}
}

// loweredRandom returns a random legal program.
func loweredRandom(t *testing.T, rnd *rand.Rand) *either.Program {
	t.Helper()
	for {
		c := irtest.Random(rnd, irtest.Config{Ops: 4 + rnd.Intn(20)})
		if rnd.Intn(4) > 0 {
			c.Protocol = ir.LL
		}
		p, err := core.Lower(c, core.Options{Lanes: 1 + rnd.Intn(5)})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Steps) > 0 {
			return either.OfOneSided(p)
		}
	}
}

// tight returns a tiny random program from which single things were taken away, or made joint, as long as verify
// accepted it.
func tight(rnd *rand.Rand) *either.Program {
	p := onesided.Random(rnd)
	for range 60 {
		k := &onesided.Mutations[rnd.Intn(len(onesided.Mutations))]
		if q, ok := k.Change(rnd, p); ok && len(q.Steps) > 0 {
			if _, found := verify.Check(either.OfOneSided(q), verify.Options{}); len(found) == 0 {
				p = q
			}
		}
	}
	return either.OfOneSided(p)
}
