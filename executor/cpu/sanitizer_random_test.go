//go:build cgo

package cpu

import (
	"errors"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
	"mscclc/passes"
)

// TestSanitizersOnRandomPrograms runs random programs that verify accepts with
// real threads under the sanitizers: compiled ones, with random settings of the
// passes, and what is accepted of their mutants. MSCCLC_RANDOM=N asks for N of
// each; thousands were run so.
func TestSanitizersOnRandomPrograms(t *testing.T) {
	n := 20
	if s := os.Getenv("MSCCLC_RANDOM"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	for _, flag := range []string{"-fsanitize=thread", "-fsanitize=address,undefined"} {
		t.Run(flag[11:], func(t *testing.T) {
			bin := build(t, flag)
			rnd := rand.New(rand.NewSource(1))
			compiled, mutants := 0, 0
			for seed := int64(1); compiled < n || mutants < n; seed++ {
				p := compiledRandom(t, rand.New(rand.NewSource(seed)))
				if p == nil {
					continue
				}
				if compiled < n {
					compiled++
					accepted(t, bin, p, rnd)
				}
				for range 4 {
					if m := spoiled(p, rnd); mutants < n && accepted(t, bin, m, rnd) {
						mutants++
					}
				}
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
			t.Logf("%d compiled programs and %d mutants", compiled, mutants)
		})
	}
}

// compiledRandom compiles a random legal program, or returns nil where that has
// nothing to do or is beyond a limit.
func compiledRandom(t *testing.T, rnd *rand.Rand) *ir.Program {
	t.Helper()
	c := irtest.Random(rnd, irtest.Config{Ops: 6 + rnd.Intn(20)})
	opt := passes.Options{Instances: 1 + rnd.Intn(2), Off: map[string]bool{}, Level0: rnd.Intn(12) == 0, Slots: rnd.Intn(3)}
	for _, p := range passes.Table {
		if !p.Required && rnd.Intn(5) == 0 {
			opt.Off[p.Name] = true
		}
	}
	opt.Limits = codegen.Targets[rnd.Intn(len(codegen.Targets))].Limits
	d, err := passes.Lower(c, opt)
	if err == nil {
		err = passes.Run(d, opt)
	}
	var p *ir.Program
	if err == nil {
		p, err = codegen.Assemble(d)
	}
	if l := (diag.List{}); errors.As(err, &l) && l[0].Code == diag.Limit {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Blocks) == 0 {
		return nil
	}
	return p
}

// spoiled makes a small change to a copy of p, which may be as good.
func spoiled(p *ir.Program, rnd *rand.Rand) *ir.Program {
	m := *p
	m.Steps = slices.Clone(p.Steps)
	i := rnd.Intn(len(m.Steps))
	s := &m.Steps[i]
	switch rnd.Intn(5) {
	case 0:
		s.DepBlock, s.DepStep = -1, -1
	case 1:
		s.DepStep += int32(rnd.Intn(3) - 1)
	case 2:
		s.Flags ^= ir.HasDep
	case 3:
		s.Dst, s.DstBuf = int32(rnd.Intn(4)), ir.Buf(rnd.Intn(3))
	case 4:
		if i+1 < len(m.Steps) {
			m.Steps[i], m.Steps[i+1] = m.Steps[i+1], m.Steps[i]
		}
	}
	return &m
}

// accepted runs p if verify accepts it for the slots, messages and tiles that
// it is run with, all of them small.
func accepted(t *testing.T, bin string, p *ir.Program, rnd *rand.Rand) bool {
	t.Helper()
	opt := verify.Options{Slots: 1 + rnd.Intn(4), MessageChunks: 1 + rnd.Intn(3)}
	if _, found := verify.Check(p, opt); len(found) > 0 {
		return false
	}
	geo := executor.NewGeometry(p.Coll, int64(p.Coll.Chunks)*int64(1+rnd.Intn(40)), 4)
	d := executor.NewData(geo, executor.I32, executor.Sum, uint64(rnd.Int63()))
	args := d.Args()
	args.Slots, args.Wait = opt.Slots, time.Minute
	args.SlotBytes = max(16, geo.Chunk*4*int64(opt.MessageChunks))
	args.TileBytes = int64(16 << rnd.Intn(4))
	said, err := sanitize(t, bin, p, executor.Options{Check: opt}, d, args, 2)
	if err != nil || said != "" {
		file := filepath.Join(os.TempDir(), "mscclc-sanitizer.prog")
		if f, cannot := os.Create(file); cannot == nil {
			_ = ir.WriteProgram(f, p)
			f.Close()
		}
		t.Errorf("%+v, elems %d, tiles of %d bytes: %v\n%s\nthe program is in %s", opt, geo.Elems, args.TileBytes, err, said, file)
	}
	return true
}
