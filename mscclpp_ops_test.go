package mscclc_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mscclc"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/ir"
	"mscclc/lang"
	"mscclc/lang/syntax"
	"mscclc/passes/channels"
)

// Operations that neither the compiler nor the examples need; it means nothing.
const otherOps = `
algorithm others(ranks = 3)
collective allreduce(ranks)
scratch s[8]

for r in 0..ranks {
    let q = (r + 1) % ranks
    let next = channel(r, q)
    let last = channel(r, (r + 2) % ranks)
    let far = channel(r, q, via = port)
    channel(r, (r + 2) % ranks, via = port)
    let all = channel(r, [i for i in 0..ranks], via = switch)
    chunk(r, input, 0).copy(r, output, 0, tb = 0)
    next.get(chunk(q, input, 1), output, 1, tb = 0)
    far.put(chunk(r, s, 4), s, 5, tb = 0)
    far.flush(tb = 0)
    reduce([chunk(r, input, 0), chunk(r, input, 1)], r, output, 2, tb = [0, 1])
    reduce([chunk(r, input, 0), chunk(r, input, 1)], r, output, 2, tb = 0, to = chunk(q, s, 0))
    reduce([chunk(r, input, 0), chunk(q, input, 1)], r, output, 2, tb = 0)
    all.put(chunk(r, input, 0), output, 0, tb = 0)
}
`

const otherPackets = `
algorithm packets(ranks = 3)
collective allreduce(ranks)
protocol LL
scratch s[8]

for r in 0..ranks {
    let q = (r + 1) % ranks
    let next = channel(r, q)
    let last = channel(r, (r + 2) % ranks)
    let all = channel(r, [i for i in 0..ranks], via = switch)
    chunk(r, input, 0).copy(r, s, 0, tb = 0)
    reduce([chunk(r, input, 0), chunk(r, s, 1)], r, output, 0, tb = 0, to = chunk(r, s, 2))
    reduce([chunk(r, input, 0), chunk(r, s, 1)], r, output, 1, tb = 0, to = [chunk(r, s, 3), chunk(q, s, 4)])
    all.put(chunk(r, s, 2), s, 5, tb = 0)
}
`

// channelsOf expands a program of channels.
func channelsOf(t *testing.T, name, text string) *ir.ChannelProgram {
	t.Helper()
	f, err := syntax.Parse(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	x, err := lang.ExpandLevel(f, lang.Options{})
	if err != nil {
		t.Fatal(err)
	}
	channels.Synchronise(x.Channels)
	return x.Channels
}

// TestEveryOperation: all operations that MSCCL++'s executor has are written from .mscl files.
func TestEveryOperation(t *testing.T) {
	seen := map[string]bool{}
	var see func(ops []mscclpp.Op)
	see = func(ops []mscclpp.Op) {
		for i := range ops {
			seen[ops[i].Name] = true
			if ops[i].Loop != nil {
				see(ops[i].Loop.Ops)
			}
		}
	}
	texts := map[string]string{"others.mscl": otherOps, "packets.mscl": otherPackets}
	files, err := filepath.Glob("examples/channels/*.mscl")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
	}
	for name, text := range texts {
		f, _, err := mscclc.PlanOfChannels(channelsOf(t, name, text), mscclc.PlanOptions{Unproven: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range f.GPUs {
			for _, b := range g.Blocks {
				see(b.Ops)
			}
		}
	}
	want := strings.Fields(`barrier copy cpkt flush get glres gstore gstorepkt nop pipeline ppkt put pws pwsf re recpkt recspkt repkt res
		respkt rlxsignal rlxwait rppkt rre rres sem_acquire sem_release signal upkt wait`)
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) {
		t.Errorf("written are\n%v\nand not\n%v", got, want)
	}
}

// TestPortsPutFromScratch: what ports put is copied to scratch once, since MSCCL++'s executor does not find all of
// input and output; and the last puts are one operation with their signals and a flush, which alone waits for nothing
// there.
func TestPortsPutFromScratch(t *testing.T) {
	text, err := os.ReadFile("examples/port.mscl")
	if err != nil {
		t.Fatal(err)
	}
	target, err := codegen.TargetByName("mscclpp")
	if err != nil {
		t.Fatal(err)
	}
	p, err := mscclc.Compile("port.mscl", text,
		mscclc.Options{Target: target, Unproven: true, Lang: lang.Options{Params: lang.Params{"ranks": 17}}})
	if err != nil {
		t.Fatal(err)
	}
	f, warnings, err := mscclc.PlanMSCCLPP(p, mscclc.PlanOptions{})
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	for _, g := range f.GPUs {
		puts, copies := 0, 0
		for _, op := range g.Blocks[0].Ops {
			switch op.Name {
			case "put", "pws", "signal", "flush":
				t.Errorf("rank %d has %s", g.ID, op.Name)
			case "copy":
				if op.Dst[0].Buffer == 's' {
					copies++
				}
			case "pwsf":
				for _, src := range op.Src {
					if puts++; src.Buffer != 's' {
						t.Errorf("rank %d puts from %c", g.ID, src.Buffer)
					}
				}
			}
		}
		if puts != 16 || copies != 1 || g.Scratch != 1 {
			t.Errorf("rank %d has %d puts, %d copies to scratch, and %d chunks of that", g.ID, puts, copies, g.Scratch)
		}
	}
}
