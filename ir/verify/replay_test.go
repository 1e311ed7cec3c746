//go:build cgo

package verify_test

import (
	"context"
	"math/rand"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mscclc/executor/cpu"
	"mscclc/executor/replay"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
	"mscclc/ir/verify/explore"
)

// replayAll judges a program and replays all that the verdict has a counterexample
// for. It counts them by code.
func replayAll(t *testing.T, p *either.Program, opt verify.Options, counts map[string]int) {
	t.Helper()
	report, list := verify.Check(p, opt)
	for _, w := range report.Counterexamples {
		got, err := replay.Run(context.Background(), p, w, cpu.Device())
		if err != nil {
			t.Errorf("%s: %v: %v", p.Name, w.Problem, err)
		} else if !got.Shown || len(got.Lines) == 0 {
			t.Errorf("%s: %v\nis not shown:\n%s\n%s", p.Name, w.Problem, strings.Join(got.Lines, "\n"), irtest.Text(list))
		}
		kind := string(w.Problem.Code)
		if strings.Contains(strings.Join(got.Lines, "\n"), "messages keep this order in every run") {
			kind += " by packets"
		}
		counts[kind]++
	}
}

// Every fault of the table that has a counterexample shows on the CPU.
func TestReplayFaults(t *testing.T) {
	counts := map[string]int{}
	for _, x := range faults {
		replayAll(t, withFault(t, x.name, x.edit), verify.Options{}, counts)
	}
	t.Log(counts)
}

// Programs that are rejected show why: the repository's own, and those of other compilers.
func TestReplayOthersPrograms(t *testing.T) {
	irtest.Each(t, irtest.XML, func(t *testing.T, dir string) {
		counts := map[string]int{}
		for _, f := range irtest.Table(t, dir) {
			p, err := readXML(filepath.Join(dir, f.File))
			if err != nil {
				t.Fatal(err)
			}
			replayAll(t, p, verify.Options{}, counts)
		}
		t.Log(counts)
		for _, code := range []diag.Code{diag.Deadlock, diag.Race, diag.WrongResult, diag.Uninitialized} {
			if counts[string(code)] == 0 {
				t.Errorf("no %s was replayed", code)
			}
		}
	})
}

// Messages of packets that go round by another rank keep two accesses in order
// in every run; what the verdict misses is only that the later one sees what the
// earlier one wrote. Where a step takes several messages, the racing ones are
// what is held.
func TestReplayRacesOfMessages(t *testing.T) {
	for _, x := range []struct{ name, program, want string }{
		{"packets", `program packets
collective opaque ranks=2 chunks=2 inplace in=2 out=2
protocol LL
scratch 3
block 0.0 send 1 ch 0
  0 cpy input[0] => scratch[2]
  1 s input[0]*2
block 0.1 recv 1 ch 0
  0 r scratch[0]*2
  1 cpy scratch[2] => scratch[0]
block 1.0 send 0 recv 0 ch 0
  0 rcs scratch[0]*2
`, "messages keep this order in every run"},
		{"two messages", `program two
collective opaque ranks=2 chunks=3 inplace in=3 out=3
protocol Simple
scratch 2
block 0.0 send 1 ch 0
  0 s input[0]*2
block 0.1 recv 1 ch 0
  0 r input[1]*2
block 1.0 send 0 recv 0 ch 0
  0 rcs scratch[0]*2
`, "rank 0 block 1 step 0 (r) message 1 of 2 wrote input[1] at 6: 0x5e41ab087439611e, which is in[0][0]"},
	} {
		p := irtest.Program(t, x.program)
		p.Even = true
		report, list := verify.Check(p, verify.Options{MessageChunks: 1})
		if len(report.Counterexamples) != 1 {
			t.Fatalf("%s: %d counterexamples; %s", x.name, len(report.Counterexamples), irtest.Text(list))
		}
		got, err := replay.Run(context.Background(), p, report.Counterexamples[0], cpu.Device())
		if text := strings.Join(got.Lines, "\n"); err != nil || !got.Shown || !strings.Contains(text, x.want) {
			t.Errorf("%s: %v\n%s", x.name, err, text)
		}
	}
}

// A counterexample of what is not so is not shown.
func TestReplayOfGoodProgram(t *testing.T) {
	p := irtest.Program(t, irtest.TwoRanksProgram)
	claim := func(code diag.Code) verify.Counterexample {
		return verify.Counterexample{Problem: diag.New(code, diag.Span{}, ""), Step: 2, With: 1, Buf: ir.Scratch, Slots: 1,
			MessageChunks: 1}
	}
	stuck, slot, wrong, unwritten := claim(diag.Deadlock), claim(diag.Deadlock), claim(diag.WrongResult),
		claim(diag.WrongResult)
	stuck.Waits = []ir.Wait{{Step: 2, On: 1, At: 1}}
	slot.Waits = []ir.Wait{{Step: 0, Cause: ir.ForSlot, On: 4, At: 4}}
	wrong.Buf = ir.Output
	unwritten.Buf, unwritten.Step = ir.Output, -1
	for _, w := range []verify.Counterexample{stuck, slot, wrong, unwritten, claim(diag.Race), claim(diag.Uninitialized)} {
		got, err := replay.Run(context.Background(), p, w, cpu.Device())
		if err != nil || got.Shown || len(got.Lines) == 0 {
			t.Errorf("%s is shown: %v\n%s", w.Problem.Code, err, strings.Join(got.Lines, "\n"))
		}
	}
	if _, err := replay.Run(context.Background(), p, claim(diag.Unmatched), cpu.Device()); err == nil {
		t.Error("what has no counterexample is replayed")
	}
}

// In a program that is accepted, no run turns two conflicting accesses round:
// a counterexample that claims so for any two is not shown.
func TestReplayShowsNoRaceOfGoodPrograms(t *testing.T) {
	pairs, rnd := 0, rand.New(rand.NewSource(3))
	for range irtest.Count(t, 300) {
		p, opt := tiny(rnd)
		if rnd.Intn(2) == 0 {
			p, opt = spoiled(rnd, p, opt)
		}
		m := max(opt.MessageChunks, 1)
		if _, list := verify.Check(p, verify.Options{Slots: opt.Slots, MessageChunks: m, MostChunks: m}); len(list) > 0 {
			continue
		}
		for _, w := range conflicts(p, int32(m)) {
			pairs++
			got, err := replay.Run(context.Background(), p, w, cpu.Device())
			if err != nil || got.Shown {
				t.Fatalf("%+v of %s: %v\n%s", w, explain(p, opt, err), err, strings.Join(got.Lines, "\n"))
			}
		}
	}
	t.Logf("%d pairs", pairs)
	if pairs < 500 {
		t.Error("too few to say anything")
	}
}

// conflicts claims a race of any two steps of different blocks that touch one
// chunk, at the first such chunk that one of them writes.
func conflicts(p *either.Program, m int32) (list []verify.Counterexample) {
	type access struct{ step, group, cell, rank int32 }
	mem, w := p.Memory(), eval.Wire(p.Fifo)
	var reads, writes []access
	for i := range p.Steps {
		s := &p.Steps[i]
		info, rank := s.Op.Info(), p.Blocks[w.Block[i]].Rank
		for k := range s.Count {
			a := access{step: int32(i), rank: rank}
			if info.Sends || info.Receives {
				a.group = k / m
			}
			if info.ReadsSrc {
				a.cell = int32(mem.Cell(int(rank), s.SrcBuf, int(s.Src+k)))
				reads = append(reads, a)
			}
			if info.Writes {
				a.cell = int32(mem.Cell(int(rank), s.DstBuf, int(s.Dst+k)))
				writes = append(writes, a)
			}
		}
	}
	seen := map[[2]int32]bool{}
	for _, a := range writes {
		for _, b := range slices.Concat(reads, writes) {
			if pair := [2]int32{a.step, b.step}; a.cell == b.cell && w.Block[a.step] != w.Block[b.step] && !seen[pair] {
				seen[pair] = true
				buf, index := mem.Chunk(int(a.rank), int(a.cell))
				x := verify.Counterexample{Problem: diag.New(diag.Race, diag.Span{}, ""), Rank: int(a.rank), Buf: buf, Index: index,
					MessageChunks: int(m)}
				x.With, x.WithGroup, x.Step, x.Group = a.step, a.group, b.step, b.group
				list = append(list, x)
				x.With, x.WithGroup, x.Step, x.Group = b.step, b.group, a.step, a.group
				list = append(list, x)
			}
		}
	}
	return list
}

// Programs of the catalog with a fault, and tiny ones that messages order more
// than flags do, show what they are rejected for, with every protocol, few
// slots, and messages of one chunk and of more. MSCCLC_RANDOM=N asks for N tiny
// ones, and as many others, shared equally by algorithms and kinds of fault.
func TestReplayFaultyPrograms(t *testing.T) {
	counts, rnd := map[string]int{}, rand.New(rand.NewSource(11))
	n := irtest.Count(t, 2000)
	for range n {
		p, opt := tiny(rnd)
		p, opt = spoiled(rnd, p, opt)
		replayAll(t, p, verify.Options{Slots: opt.Slots, MessageChunks: opt.MessageChunks, MostChunks: opt.MessageChunks},
			counts)
	}
	all := catalog(t)
	for _, o := range all {
		for k := range explore.Mutations {
			for range 1 + n/len(all)/len(explore.Mutations) {
				p := o.p.Copy()
				p.Protocol = ir.Protocol(rnd.Intn(int(ir.NumProtocols)))
				q, opt, _ := explore.Mutations[k].Break(rnd, p.Fifo, explore.Options{Slots: rnd.Intn(4),
					MessageChunks: rnd.Intn(3)})
				replayAll(t, either.OfFifo(q), verify.Options{Slots: opt.Slots, MessageChunks: opt.MessageChunks,
					MostChunks: opt.MessageChunks},
					counts)
			}
		}
	}
	t.Log(counts)
	for _, kind := range []string{"deadlock", "race", "race by packets", "wrong-result", "uninitialized"} {
		if counts[kind] < 3 {
			t.Errorf("%d replays of %s are too few", counts[kind], kind)
		}
	}
}
