//go:build cgo

package cpu

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/internal/covering"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	irfifo "mscclc/ir/fifo"
	"mscclc/ir/irtest"
	"mscclc/ir/irtest/parse"
	"mscclc/ir/text"
	"mscclc/ir/verify"
	"mscclc/ir/verify/explore"
	"mscclc/passes/fifo"
)

// TestSanitizersOnRandomPrograms runs random programs that verify accepts, with
// real threads, under the sanitizers: compiled ones, with random settings of the
// passes, tiny ones that messages order more than flags do, and what is accepted
// of either with a fault. MSCCLC_RANDOM=N asks for N programs with and N without;
// thousands were run so.
func TestSanitizersOnRandomPrograms(t *testing.T) {
	n := irtest.Count(t, covering.Share(8))
	for _, flag := range sanitizers() {
		t.Run(flag[11:], func(t *testing.T) {
			s := &sanitizer{T: t, bin: build(t, flag), rnd: rand.New(rand.NewSource(1))}
			if flag == "-fsanitize=thread" {
				s.lenient = build(t, flag, "-DKERNEL_PACKETS_ORDER")
			}
			programs, faulty := 0, 0
			for seed := int64(1); programs < n || faulty < n; seed++ {
				p, opt := randomProgram(t, rand.New(rand.NewSource(seed)))
				if programs < n && s.accepts(p, opt) {
					programs++
				}
				for range 4 {
					if q, o := explore.Broken(s.rnd, p.Fifo, opt); faulty < n && s.accepts(either.OfFifo(q), o) {
						faulty++
					}
				}
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
			t.Logf("%d programs and %d with a fault; %d elements compared; of %d programs packets order a write after a read",
				programs, faulty, s.checked, s.packets)
		})
	}
}

// randomProgram makes a program, and what to judge it with.
func randomProgram(t *testing.T, rnd *rand.Rand) (*either.Program, explore.Options) {
	t.Helper()
	for rnd.Intn(2) == 0 {
		opt := explore.Options{Slots: 1 + rnd.Intn(4), MessageChunks: 1 + rnd.Intn(3)}
		if p := compiledRandom(t, rnd, opt.Slots); p != nil {
			return p, opt
		}
	}
	p, opt := explore.Random(rnd)
	return either.OfFifo(p), opt
}

// compiledRandom compiles a random legal program, or returns nil where that has
// nothing to do or is beyond a limit.
func compiledRandom(t *testing.T, rnd *rand.Rand, slots int) *either.Program {
	t.Helper()
	c := irtest.Random(rnd, irtest.Config{Ops: 6 + rnd.Intn(20)})
	opt := fifo.Options{Instances: 1 + rnd.Intn(2), Off: map[string]bool{}, Level0: rnd.Intn(12) == 0, Slots: slots}
	for _, p := range fifo.Table {
		if !p.Required && rnd.Intn(5) == 0 {
			opt.Off[p.Name] = true
		}
	}
	opt.Limits = codegen.Targets[rnd.Intn(len(codegen.Targets))].Limits
	d, err := fifo.Lower(c, opt)
	if err == nil {
		err = fifo.Run(d, opt)
	}
	var p *irfifo.Program
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
	return either.OfFifo(p)
}

// A sanitizer runs programs under one of them.
type sanitizer struct {
	*testing.T
	rnd     *rand.Rand
	bin     string
	lenient string // has packets that order what is before them, or ""
	checked int64
	packets int // programs that need the lenient one
}

// accepts runs p if verify accepts it for the slots, messages and tiles that it
// is run with, all of them small.
func (s *sanitizer) accepts(p *either.Program, opt explore.Options) bool {
	s.Helper()
	check := verify.Options{Slots: max(opt.Slots, 1), MessageChunks: max(opt.MessageChunks, 1)}
	if _, found := verify.Check(p, check); len(found) > 0 || len(p.Blocks) == 0 {
		return false
	}
	elems := int64(s.rnd.Intn(40 * p.Coll.Chunks))
	if p.Even {
		elems -= elems % int64(p.Coll.Chunks)
	}
	geo := data.NewGeometry(p.Coll, elems, 4)
	d := data.New(geo, data.I32, data.Sum, uint64(s.rnd.Int63()))
	args := executor.DataArgs(d)
	args.Slots, args.Wait = check.Slots, time.Minute
	args.SlotBytes = max(16, geo.Chunk*4*int64(check.MessageChunks))
	args.TileBytes = int64(16 << s.rnd.Intn(4))
	load, threads := executor.Options{Check: check}, min(1+s.rnd.Intn(3), 1+24/len(p.Blocks))
	said, err := sanitize(s.T, s.bin, p, load, d, args, threads)
	if s.lenient != "" && !p.Protocol.Releases() && writesAfterRead(said) {
		s.packets++
		said, err = sanitize(s.T, s.lenient, p, load, d, args, threads)
	}
	if err != nil || said != "" {
		s.Errorf("%+v, elems %d, tiles of %d bytes, %d threads a block: %v\n%s\n%s", check, geo.Elems, args.TileBytes,
			threads, err, said, keep(p))
	}
	s.checked += d.Check().Checked
	return true
}

// writesAfterRead reports whether the thread sanitizer has found a write that
// nothing it knows orders after a read. That packets do is nothing to it.
func writesAfterRead(said string) bool {
	_, race, _ := strings.Cut(said, "WARNING: ThreadSanitizer: data race")
	now, before, _ := strings.Cut(race, "Previous ")
	return strings.Contains(now, "Write of size") && strings.HasPrefix(before, "read of size")
}

// keep writes p to a file, and says where.
func keep(p *either.Program) string {
	file := filepath.Join(os.TempDir(), "mscclc-sanitizer.prog")
	f, err := os.Create(file)
	if err == nil {
		err = errors.Join(text.WriteProgram(f, p), f.Close())
	}
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("the program is in %s", file)
}

// TestThreadSanitizerOnPackets runs two programs that only packets order, round
// by another rank: a write after a read, which verify accepts and the thread
// sanitizer needs packets that order for, and a read after a write, which both
// refuse.
func TestThreadSanitizerOnPackets(t *testing.T) {
	const round = `program round
collective opaque ranks=2 chunks=1 inplace in=1 out=1
protocol LL
scratch 3
even
block 0.0 send 1 ch 0
  0 %s
  1 s input[0]
block 0.1 recv 1 ch 0
  0 r scratch[0]
  1 %s
block 1.0 send 0 recv 0 ch 0
  0 rcs scratch[0]
`
	strict, lenient := build(t, "-fsanitize=thread"), build(t, "-fsanitize=thread", "-DKERNEL_PACKETS_ORDER")
	for _, x := range []struct {
		name, first, second string
		good                bool
	}{
		{"a write after a read", "cpy input[0] => scratch[1]", "cpy scratch[0] => input[0]", true},
		{"a read after a write", "cpy input[0] => scratch[1]", "cpy scratch[1] => scratch[2]", false},
	} {
		p, err := parse.Program("round", fmt.Appendf(nil, round, x.first, x.second))
		if err != nil {
			t.Fatal(err)
		}
		if _, found := verify.Check(p, verify.Options{}); x.good != (len(found) == 0) {
			t.Errorf("%s: verify says %v", x.name, found)
		}
		for _, bin := range []string{strict, lenient} {
			d := data.New(data.NewGeometry(p.Coll, 100, 4), data.I32, data.Sum, 1)
			said, _ := sanitize(t, bin, p, executor.Options{Unproven: true}, d, executor.DataArgs(d), 2)
			if bin == lenient && said != "" || bin == strict &&
				(!strings.Contains(said, "data race") || writesAfterRead(said) != x.good) {
				t.Errorf("%s: %v, lenient %v\n%s", x.name, bin, bin == lenient, said)
			}
		}
	}
}
