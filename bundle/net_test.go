package bundle

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"mscclc"
	"mscclc/algorithms/choose"
	"mscclc/codegen"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/selection"
)

// overNodes are rules for 4 ranks on one node, and on several in three ways.
const overNodes = `{"version": 1, "device": "d", "rules": [
  {"collective":"allreduce","ranks":4,"when":"eager","program":"allreduce/allpairs","protocol":"LL"},
  {"collective":"allreduce","ranks":4,"nodes":"2","when":"eager","up_to":4096,"program":"allreduce/allpairs","protocol":"LL","replicas":2},
  {"collective":"allreduce","ranks":4,"nodes":"2","when":"eager","program":"allreduce/hierarchical","protocol":"Simple","tile":4096},
  {"collective":"allreduce","ranks":4,"nodes":"2,2","when":"captured","program":"nccl"},
  {"collective":"broadcast","ranks":4,"nodes":"2","when":"captured","program":"broadcast/direct","protocol":"Simple"},
  {"collective":"allgather","ranks":4,"nodes":"3,1","when":"eager","program":"allgather/ring","protocol":"LL128"},
  {"collective":"alltoall","ranks":4,"nodes":"4","when":"captured","program":"alltoall/one_step","protocol":"LL"}]}`

func overNodesSpec(t testing.TB) Spec {
	t.Helper()
	m, err := ReadRules("nodes.rules", strings.NewReader(overNodes))
	if err != nil {
		t.Fatal(err)
	}
	list, _ := RulesFor(4, DefaultCTAs, []*Measured{m}, false)
	for i := range list {
		if list[i].Nodes != "" {
			t.Errorf("rule %d for one node is for %q", i, list[i].Nodes)
		}
	}
	list = append(list, RulesOver(4, []*Measured{m})...)
	return Spec{Device: "d", Ranks: []int{4}, DTypes: []data.DType{data.F16}, Rules: list}
}

// TestOverNodes makes a set for each way in which ranks lie on nodes, whose programs say what they send. It is read and
// proven, and equal input gives equal bytes.
func TestOverNodes(t *testing.T) {
	b, err := Build(overNodesSpec(t))
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for i := range b.Sets {
		s := &b.Sets[i]
		titles = append(titles, s.Title())
		for _, n := range s.Programs {
			p := b.Programs[n]
			if (p.Net != nil) != (i > 0) || i > 0 && (len(p.Net.Messages) == 0 || p.pinned() == 0) {
				t.Errorf("%s of %s: %+v", p.Title(), s.Title(), p.Net)
			}
		}
		if i > 0 != strings.HasPrefix(b.Images[s.Image[data.F16]].Name, severalNodes) {
			t.Errorf("%s have image %d", s.Title(), s.Image[data.F16])
		}
	}
	want := []string{"4 ranks", "4 ranks on nodes of 1,1,1,1", "4 ranks on nodes of 2,2", "4 ranks on nodes of 3,1"}
	if !slices.Equal(titles, want) {
		t.Errorf("sets are %q", titles)
	}
	if n := len(b.Sets[2].Rules); n != 4+3 { // broadcast has a rule for each root
		t.Errorf("%d rules: %v", n, b.Sets[2].Rules)
	}
	if b.Programs[b.Sets[3].Programs[0]].Title() != "allgather/ring LL128 on nodes of 3,1" {
		t.Errorf("a program is %s", b.Programs[b.Sets[3].Programs[0]].Title())
	}
	text := Encode(b)
	got, _, err := Verify("x.bundle", text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Build(overNodesSpec(t))
	if err != nil || !bytes.Equal(Encode(again), text) || !bytes.Equal(Encode(got), text) {
		t.Errorf("equal input gives other bytes: %v", err)
	}
}

// TestOverNodesFaults holds that Verify finds single faults in what programs send, and in how ranks lie.
func TestOverNodesFaults(t *testing.T) {
	made, err := Build(overNodesSpec(t))
	if err != nil {
		t.Fatal(err)
	}
	good := Encode(made)
	for _, f := range []struct {
		name, want string
		spoil      func(b *Bundle, p *Program) // the first program of two nodes
	}{
		{"a message less", "segments are of no message", func(_ *Bundle, p *Program) {
			p.Net.Messages = p.Net.Messages[:len(p.Net.Messages)-1]
		}},
		{"a message's rank", "its tables are not", func(_ *Bundle, p *Program) { p.Net.Messages[0].Rank ^= 1 }},
		{"no such rank", "message 0 is of a block", func(_ *Bundle, p *Program) { p.Net.Messages[0].Rank = 4 }},
		{"no such operand", "message 0 is of a block", func(_ *Bundle, p *Program) { p.Net.Messages[0].Operand = 99 }},
		{"order of messages", "message 1 is", func(_ *Bundle, p *Program) { p.Net.Messages[1] = p.Net.Messages[0] }},
		{"chunks of a segment", "segment 0 is of chunks", func(_ *Bundle, p *Program) { p.Net.Segments[0].Count += 99 }},
		{"class of a segment", "its tables are not", func(_ *Bundle, p *Program) {
			s := &p.Net.Segments[0]
			s.FirstClass = (s.FirstClass + 1) % p.Chunks
		}},
		{"large inbox", "has more than scratch", func(_ *Bundle, p *Program) { p.Net.Inbox = int(p.Scratch) + 1 }},
		{"an operand in an inbox", "is of another node", func(_ *Bundle, p *Program) {
			for r := range p.Parts {
				for i := range p.Parts[r].Operands {
					if o := &p.Parts[r].Operands[i]; o.Buf == 5 {
						o.Buf = uint8(ir.Scratch)
						return
					}
				}
			}
		}},
		{"an inbox within one node", "and buffer 5", func(b *Bundle, _ *Program) {
			b.Programs[0].Parts[0].Operands[0].Buf = 5
		}},
		{"no word of what is sent", "does not say what it sends", func(_ *Bundle, p *Program) { p.Net = nil }},
		{"nodes of a program", "3 nodes", func(_ *Bundle, p *Program) { p.Nodes = 3 }},
		{"nodes of a set", "rank", func(b *Bundle, _ *Program) { b.Sets[2].Node = []int32{0, 1, 1, 1} }},
		{"order of nodes", "no ranks lie on nodes", func(b *Bundle, _ *Program) { b.Sets[2].Node = []int32{0, 1, 0, 1} }},
		{"order of sets", "not in order", func(b *Bundle, _ *Program) { b.Sets[1].Node = []int32{0, 0, 0, 1} }},
		{"windows", "ranks of several nodes have none", func(b *Bundle, _ *Program) {
			b.Sets[2].Rules[0].When |= WhenWindows
		}},
		{"image", "do not reduce and move f16", func(b *Bundle, _ *Program) { b.Sets[2].Image[data.F16] = 0 }},
	} {
		b, err := Decode("x", bytes.Clone(good))
		if err != nil {
			t.Fatal(err)
		}
		f.spoil(b, b.Programs[b.Sets[2].Programs[0]])
		_, _, err = Verify("x.bundle", Encode(b))
		if err == nil || !strings.Contains(err.Error(), f.want) {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}

// TestAcrossNodesRefused has Build refuse a program in which a third rank signals data of another node to a rank, and
// Verify a bundle that was made of it.
func TestAcrossNodesRefused(t *testing.T) {
	text, err := os.ReadFile("../ir/diag/examples/across-nodes.json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := mscclc.ReadProgram(codegen.KindProgramJSON, "third.json", bytes.NewReader(text), codegen.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rule := Rule{Kind: ir.Broadcast, Ranks: 4, Nodes: "2", DType: Any, RedOp: Any, When: WhenEager,
		Choice: selection.Choice{Program: "third.json"}}
	own := choose.UserPrograms{{Name: "third.json", File: "third.json", Compiled: [2]*either.Program{p, nil}}}
	spec := Spec{Device: "d", Ranks: []int{4}, DTypes: []data.DType{data.F16}, Rules: []Rule{rule}, Own: own}
	_, err = Build(spec)
	var list diag.List
	if !errors.As(err, &list) || list[0].Code != diag.AcrossNodes {
		t.Errorf("Build: %v", err)
	}
	spec.Rules[0].Nodes = ""
	b, err := Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	// The program is right on one node, and nobody may say that it is for two.
	b.Sets = append(b.Sets, b.Sets[0])
	b.Sets[0].Rules, b.Sets[0].Programs, b.Sets[0].Arena, b.Sets[0].CTAs = nil, nil, 0, 0
	b.Sets[1].Node = []int32{0, 0, 1, 1}
	several, err := imagesFor(spec.DTypes, severalNodes)
	if err != nil {
		t.Fatal(err)
	}
	b.Images = append(b.Images, several...)
	for t := range data.NumDTypes {
		b.Sets[1].Image[t], b.Sets[1].Copier[t] = imageOf(b.Images, severalNodes, t)
	}
	q := b.Programs[0]
	q.Nodes, q.Net = 2, &Net{Inbox: int(q.Scratch)}
	for r, part := range q.Parts {
		for i, o := range part.Operands {
			if ir.Buf(o.Buf) == ir.Scratch && int(o.Rank)/2 != r/2 {
				part.Operands[i].Buf = abi.InboxBuf
			}
		}
	}
	_, _, err = Verify("x.bundle", Encode(b))
	if !errors.As(err, &list) || list[0].Code != diag.AcrossNodes {
		t.Errorf("Verify: %v", err)
	}
}

// TestNodesOfRules refuses rules whose ranks do not lie on nodes as they say, or whose programs ask for other nodes.
func TestNodesOfRules(t *testing.T) {
	for _, c := range []struct{ more, want string }{
		{`"nodes":"3"`, `has nodes "3" of 4 ranks`},
		{`"nodes":"2,1"`, `has nodes "2,1" of 4 ranks`},
		{`"nodes":"two"`, `has nodes "two" of 4 ranks`},
		{`"nodes":""`, "has one node"},
		{`"nodes":"1"`, "has one node"},
		{`"nodes":"2","windows":true`, "is for windows, which are memory of one node"},
	} {
		_, err := ReadRules("x.rules", strings.NewReader(`{"version": 1, "device": "d", "rules": [{"collective":"allreduce",`+
			`"ranks":4,"when":"eager","program":"x","protocol":"LL",`+c.more+`}]}`))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.more, err)
		}
	}
	rule := Forward(ir.AllReduce, 4)
	rule.Program, rule.Nodes = "allreduce/hierarchical", "3,1"
	spec := Spec{Device: "d", Ranks: []int{4}, DTypes: []data.DType{data.F16}, Rules: []Rule{rule}}
	_, err := Build(spec)
	var list diag.List
	if !errors.As(err, &list) || list[0].Code != diag.AcrossNodes ||
		!strings.Contains(list[0].Text, "asks for nodes with equally many GPUs, and its ranks lie on nodes of 3,1") {
		t.Errorf("%v", err)
	}
	large := Forward(ir.AllToAll, 4)
	large.Nodes, large.Program, large.Replicas, large.Tile = "4", "alltoall/one_step", 12, 1<<20
	spec.Rules = []Rule{large}
	if _, err = Build(spec); err == nil || !strings.Contains(err.Error(), "of a rank's memory on the host, and a bundle has at most 256 MiB") {
		t.Errorf("%v", err)
	}
	for _, change := range []func(*Rule){func(r *Rule) { r.Nodes = "5" }, func(r *Rule) { r.When |= WhenWindows }} {
		bad := rule
		change(&bad)
		spec.Rules = []Rule{bad}
		if _, err := Build(spec); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// TestPutNodes: rules for several nodes stay where others are measured for one.
func TestPutNodes(t *testing.T) {
	one := MeasuredRule{Calls: Calls{Collective: "allreduce", Ranks: 4, When: Eager},
		Rule: selection.Rule{Choice: selection.Choice{Program: NCCL}}}
	two := one
	two.Nodes = "2"
	m := &Measured{}
	m.Put([]MeasuredRule{two})
	m.Put([]MeasuredRule{one})
	m.Put([]MeasuredRule{one})
	if len(m.Rules) != 2 || m.Rules[0].Nodes != "" || m.Rules[1].Nodes != "2" {
		t.Errorf("rules are %v", m.Rules)
	}
	if r, ok := m.Rule("allreduce", 4, "", Eager, false, 1); !ok || r.Nodes != "" {
		t.Errorf("the rule of one node is %v", r)
	}
}
