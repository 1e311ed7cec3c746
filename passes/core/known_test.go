package core

import (
	"fmt"
	"strings"
	"testing"

	"mscclc/algorithms"
	"mscclc/ir"
	"mscclc/ir/irtest"
	"mscclc/lang"
	"mscclc/lang/syntax"
)

// expandFor expands a text for some ranks.
func expandFor(t *testing.T, text string, ranks int, protocol ir.Protocol) *ir.ChunkDAG {
	t.Helper()
	f, err := syntax.Parse("test.mscl", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c, err := lang.Expand(f, lang.Options{Params: lang.Params{"ranks": ranks}, Protocol: &protocol, Open: algorithms.Open})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// known expands a program of the catalog.
func known(t *testing.T, name string, ranks int, protocol ir.Protocol) *ir.ChunkDAG {
	t.Helper()
	src, err := algorithms.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return expandFor(t, string(src), ranks, protocol)
}

// stepsOf returns the steps of a rank as the text form has them, without positions.
func stepsOf(t *testing.T, c *ir.ChunkDAG, rank int) string {
	t.Helper()
	text, err := stepsAs(c, rank, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// stepsAs returns the steps of a rank, lowered with options.
func stepsAs(c *ir.ChunkDAG, rank int, opt Options) (string, error) {
	p, err := lowered(c, opt)
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(programText(p), fmt.Sprintf("block %d.0\n", rank))
	steps, _, _ := strings.Cut(rest, "block")
	var b strings.Builder
	for line := range strings.Lines(steps) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " pos ")
		_, line, _ = strings.Cut(line, " ")
		b.WriteString(line + "\n")
	}
	return b.String(), nil
}

// TestOneSidedKnown compares known algorithms with what an expert would write.
func TestOneSidedKnown(t *testing.T) {
	for _, k := range []struct {
		name     string
		protocol ir.Protocol
		rank     int
		want     string
	}{
		{"allreduce/allpairs", ir.LL, 1, `
mv input[2] -> 2:packets[1]
mv input[3] -> 3:packets[1] joint
mv input[0] -> 0:packets[0] joint
mv input[1] + packets[0] + packets[1] + packets[2] -> input[1] 2:packets[4] 3:packets[4] 0:packets[3] final joint
mv packets[4] -> input[2] joint
mv packets[5] -> input[3] joint
mv packets[3] -> input[0] joint
`},
		{"allreduce/allpairs", ir.Simple, 1, `
mv input[2] -> 2:scratch[1]
mv input[3] -> 3:scratch[1] joint
mv input[0] -> 0:scratch[0] joint
signal 2:flags[2] 3:flags[2] 0:flags[2]
wait flags[2] x1 flags[3] x1 flags[0] x1
mv input[1] + scratch[0] + scratch[1] + scratch[2] -> input[1] 2:input[1] 3:input[1] 0:input[1] final
signal 2:flags[3] 3:flags[3] 0:flags[3] leave
wait flags[1] x1 flags[4] x1 flags[5] x1 leave
`},
		{"allreduce/onephase", ir.LL16, 2, `
mv input[0] -> 3:packets[2] 0:packets[1] 1:packets[1]
mv packets[0] + packets[1] + input[0] + packets[2] -> output[0] final
`},
		{"allreduce/ring", ir.LL, 0, `
mv input[0] -> 1:packets[0]
mv input[3] + packets[0] -> 1:packets[1] joint
mv input[2] + packets[1] -> 1:packets[2] joint
mv input[1] + packets[2] -> input[1] 1:packets[3] final joint
mv packets[3] -> input[0] 1:packets[4]
mv packets[4] -> input[3] 1:packets[5] joint
mv packets[5] -> input[2] joint
`},
		{"allgather/allpairs", ir.Simple, 3, `
signal 0:flags[2] 1:flags[2] 2:flags[2] enter
wait flags[0] x1 flags[1] x1 flags[2] x1 enter
mv input[0] -> output[3] 0:output[3] 1:output[3] 2:output[3]
signal 0:flags[2] 1:flags[2] 2:flags[2] leave
wait flags[0] x2 flags[1] x2 flags[2] x2 leave
`},
		{"allgather/allpairs", ir.LL, 3, `
mv input[0] -> output[3] 0:packets[2] 1:packets[2] 2:packets[2]
mv packets[0] -> output[0] joint
mv packets[1] -> output[1] joint
mv packets[2] -> output[2] joint
`},
		{"broadcast/direct", ir.LL, 0, `
wait flags[0] x-1 flags[1] x-1 flags[2] x-1
mv output[0] -> 1:packets[0] 2:packets[0] 3:packets[0]
`},
		{"broadcast/direct", ir.LL, 2, `
mv packets[0] -> output[0]
signal 0:flags[1]
`},
	} {
		if got := "\n" + stepsOf(t, known(t, k.name, 4, k.protocol), k.rank); got != k.want {
			t.Errorf("%s, %v, rank %d:%swant%s", k.name, k.protocol, k.rank, got, k.want)
		}
	}
}

// TestOneSidedHints follows hints, and refuses what cannot be followed.
func TestOneSidedHints(t *testing.T) {
	const head = "algorithm a(ranks = 2)\ncollective "
	for _, k := range []struct {
		body, want string
	}{
		{"allgather(ranks)\nfor r in 0..ranks, p in 0..ranks { chunk(p, input, 0).copy(r, output, p, pull = true) }", `
signal 1:flags[0] enter
wait flags[0] x1 enter
mv 1:input[0] -> output[1]
mv input[0] -> output[0] joint
signal 1:flags[0] leave
wait flags[0] x2 leave
`},
		{"allgather(ranks)\nfor r in 0..ranks, p in 0..ranks { chunk(p, input, 0).copy(r, output, p, via = port) }", `
signal 1:flags[0] enter
wait flags[0] x1 enter
mv input[0] -> 1:output[0]@port
mv input[0] -> output[0] joint
signal 1:flags[0] leave
wait flags[0] x2 leave
`},
		{"allreduce(ranks)\nfor r in 0..ranks { reduce([chunk(p, input, r) for p in 0..ranks], r, output, r, via = switch).copy([0, 1], output, r, via = switch) }", `
signal 1:flags[0] enter
wait flags[0] x1 enter
mv all:input[0]@switch -> all:output[0]@switch final
signal 1:flags[0] leave
wait flags[0] x2 leave
`},
		{"reduce(ranks, 0, chunks = 1)\nreduce([chunk(0, input, 0), chunk(1, input, 0)], 0, output, 0, pull = true)", `
wait flags[0] x1 enter
mv input[0] + 1:input[0] -> output[0] final
signal 1:flags[0] leave
`},
		{"reduce(ranks, 0, chunks = 1)\nreduce([chunk(0, input, 0), chunk(1, input, 0)], 0, output, 0, via = port)", "test.mscl:3:1: error: a port copies, and cannot reduce [hint]"},
		{"allgather(ranks)\nfor r in 0..ranks, p in 0..ranks { chunk(p, input, 0).copy(r, output, p, via = switch) }", "test.mscl:3:36: error: the switch reaches all ranks, and rank 1 is not among these [hint]"},
	} {
		c := expandFor(t, head+k.body, 2, ir.Simple)
		if _, err := Lower(c, Options{}); err != nil {
			if got := err.Error(); got != k.want {
				t.Errorf("%s: %v, want %s", k.body, got, k.want)
			}
			continue
		}
		if got := "\n" + stepsOf(t, c, 0); got != k.want {
			t.Errorf("%s:%swant%s", k.body, got, k.want)
		}
	}
}

// TestOneSidedMinimal counts what known algorithms need: signals, and packets.
func TestOneSidedMinimal(t *testing.T) {
	for _, k := range []struct {
		name             string
		protocol         ir.Protocol
		ranks            int
		signals, packets int
		steps            int
	}{
		{"allreduce/allpairs", ir.LL, 8, 0, 8 * 2 * 7, 8 * 15},
		{"allreduce/allpairs", ir.Simple, 8, 8 * 2 * 7, 0, 8 * (7 + 5)},
		{"allreduce/onephase", ir.LL, 8, 0, 8 * 7, 8 * 2},
		{"allreduce/onephase", ir.Simple, 8, 8 * 7, 0, 8 * 4},
		{"allreduce/ring", ir.Simple, 8, 8 * 14, 0, 8 * (3*13 + 1 + 2)},
		{"alltoall/one_step", ir.LL, 8, 0, 8 * 7, 8 * 15},
		{"alltoall/one_step", ir.Simple, 8, 2 * 8 * 7, 0, 8 * 12},
		{"reducescatter/allpairs", ir.LL, 8, 0, 8 * 7, 8 * 8},
		{"reduce/binomial", ir.LL, 8, 7, 7, 2*8 - 1 + 4},
	} {
		p, err := lowered(known(t, k.name, k.ranks, k.protocol), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n := p.Traffic(); n.Signals != k.signals || n.Packets != k.packets || len(p.Steps) != k.steps {
			t.Errorf("%s, %v: %d signals, %d packets, %d steps, want %d, %d, %d\n%s", k.name, k.protocol,
				n.Signals, n.Packets, len(p.Steps), k.signals, k.packets, k.steps, programText(p))
		}
	}
}

// TestOneSidedScale lowers the ring of 64 ranks and of 128, whose steps are four
// times as many; clocks of all ranks make it eight times the work.
func TestOneSidedScale(t *testing.T) {
	for _, protocol := range []ir.Protocol{ir.Simple, ir.LL} {
		var took [2]float64
		for k, ranks := range []int{64, 128} {
			c := known(t, "allreduce/ring", ranks, protocol)
			start := irtest.CPUTime()
			if _, err := Lower(c, Options{}); err != nil {
				t.Fatal(err)
			}
			took[k] = (irtest.CPUTime() - start).Seconds()
		}
		if took[1] > 24*took[0] || took[1] > 5 {
			t.Errorf("%v: %.3f s for 64 ranks, %.3f s for 128", protocol, took[0], took[1])
		}
	}
}

// TestOneSidedSeen has the switch or a port write what packets go round: that who
// overwrites it has acquired that its readers are over does not say that it is seen.
func TestOneSidedSeen(t *testing.T) {
	const head, tail = "algorithm g()\ncollective custom(2, input = 4, output = 3) {\n}\n", `
chunk(0, output, 0, 2).reduce(chunk(1, output, 1, 2), pull = true)
chunk(0, output, 1, 1).copy(0, output, 2)
chunk(0, output, 2, 1).copy(1, output, 2)`
	for _, writes := range []string{
		"chunk(0, input, 1, 3).copy([1, 0], output, 0, via = switch)",
		"chunk(0, input, 1, 3).copy(0, output, 0)\nchunk(0, input, 1, 3).copy(1, output, 0, via = port)",
	} {
		f, err := syntax.Parse("test.mscl", []byte(head+writes+tail))
		if err != nil {
			t.Fatal(err)
		}
		for p := range ir.NumProtocols {
			c, err := lang.Expand(f, lang.Options{Protocol: &p})
			if err != nil {
				t.Fatal(err)
			}
			if p, err := lowered(c, Options{}); err != nil {
				t.Errorf("%v\n%s", err, programText(p))
			}
		}
	}
}
