//go:build cgo

package verify_test

import (
	"bytes"
	"context"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mscclc"
	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
	"mscclc/lang"
)

// replayAll judges a program and replays all that the verdict has a witness
// for. It counts them by code.
func replayAll(t *testing.T, p *ir.Program, opt verify.Options, counts map[string]int) {
	t.Helper()
	report, list := verify.Check(p, opt)
	for _, w := range report.Witnesses {
		got, err := executor.Replay(context.Background(), p, w, cpu.Device())
		if err != nil {
			t.Errorf("%s: %v: %v", p.Name, w.Problem, err)
		} else if !got.Shown || len(got.Lines) == 0 {
			t.Errorf("%s: %v\nis not shown:\n%s\n%s", p.Name, w.Problem, strings.Join(got.Lines, "\n"), full(list))
		}
		counts[string(w.Problem.Code)]++
		if testing.Verbose() {
			t.Logf("%s: %v\n%s", p.Name, w.Problem.Text, strings.Join(got.Lines, "\n"))
		}
	}
}

// Every fault of the table that has a witness shows on the CPU.
func TestReplayFaults(t *testing.T) {
	counts := map[string]int{}
	for _, x := range faults {
		replayAll(t, edited(t, x.name, x.edit), verify.Options{}, counts)
	}
	t.Log(counts)
}

// Programs of other compilers that are rejected show why.
func TestReplayOthersPrograms(t *testing.T) {
	counts := map[string]int{}
	dir := dataFolder(t)
	if dir == "" {
		return
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.xml"))
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := codegen.ReadMSCCL(filepath.Base(file), bytes.NewReader(src), codegen.ReadOptions{})
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
		p := program(t, x.program)
		p.Even = true
		report, list := verify.Check(p, verify.Options{MessageChunks: 1})
		if len(report.Witnesses) != 1 {
			t.Fatalf("%s: %d witnesses; %s", x.name, len(report.Witnesses), full(list))
		}
		got, err := executor.Replay(context.Background(), p, report.Witnesses[0], cpu.Device())
		if text := strings.Join(got.Lines, "\n"); err != nil || !got.Shown || !strings.Contains(text, x.want) {
			t.Errorf("%s: %v\n%s", x.name, err, text)
		}
	}
}

// spoil makes one small change to a copy of p, of those that a verdict has a
// witness for.
func spoil(p *ir.Program, rnd *rand.Rand) *ir.Program {
	m := *p
	m.Steps, m.Blocks = slices.Clone(p.Steps), slices.Clone(p.Blocks)
	s := &m.Steps[rnd.Intn(len(m.Steps))]
	delta := int32(1 - 2*rnd.Intn(2))
	switch rnd.Intn(8) {
	case 0:
		s.Src += delta
	case 1:
		s.Dst += delta
	case 2:
		s.DepBlock, s.DepStep = -1, -1
	case 3:
		s.DepStep += delta
	case 4:
		s.Flags ^= ir.HasDep
	case 5:
		s.DstBuf = ir.Buf(rnd.Intn(3))
	case 6:
		s.SrcBuf = ir.Buf(rnd.Intn(3))
	case 7:
		if b := &m.Blocks[rnd.Intn(len(m.Blocks))]; b.Steps.End-b.Steps.First > 1 {
			i := b.Steps.First + rnd.Int31n(b.Steps.End-b.Steps.First-1)
			m.Steps[i], m.Steps[i+1] = m.Steps[i+1], m.Steps[i]
		}
	}
	return &m
}

// Mutants of programs of the catalog show what they are rejected for, with
// every protocol, and with messages of one chunk and of more.
func TestReplayMutants(t *testing.T) {
	counts := map[string]int{}
	rnd := rand.New(rand.NewSource(11))
	for _, x := range []struct{ name, ranks, nodes, gpus string }{
		{name: "allreduce/ring", ranks: "4"}, {name: "allreduce/allpairs", ranks: "4"}, {name: "allgather/recursive_doubling", ranks: "4"},
		{name: "alltoall/two_step", nodes: "2", gpus: "2"}, {name: "allreduce/hierarchical", nodes: "2", gpus: "2"},
	} {
		params := map[string]string{}
		for name, value := range map[string]string{"ranks": x.ranks, "nodes": x.nodes, "gpus": x.gpus} {
			if value != "" {
				params[name] = value
			}
		}
		file := filepath.Join("..", "..", "algorithms", x.name+".mscl")
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, protocol := range []ir.Protocol{ir.Simple, ir.LL} {
			p, err := mscclc.Compile(file, src, mscclc.Options{Lang: lang.Options{Params: params, Protocol: &protocol, Open: os.ReadFile}})
			if err != nil {
				t.Fatal(err)
			}
			for range mutants {
				replayAll(t, spoil(p, rnd), verify.Options{Slots: rnd.Intn(3), MessageChunks: rnd.Intn(3)}, counts)
			}
		}
	}
	t.Log(counts)
	for _, code := range []diag.Code{diag.Deadlock, diag.Race, diag.WrongResult, diag.Uninitialized} {
		if counts[string(code)] < mutants/4 {
			t.Errorf("%d replays of %s are too few", counts[string(code)], code)
		}
	}
}

// mutants is how many are tried of each program and protocol.
const mutants = 100
