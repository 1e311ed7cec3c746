package fifo

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/irtest/parse"
	"mscclc/ir/property"
	"mscclc/ir/text"
	"mscclc/ir/verify"
	"mscclc/passes/passestest"

	"github.com/google/go-cmp/cmp"
)

// TestPasses runs each pass on the cases of testdata/PASS.txtar. A case has the
// sections
//
//	NAME/options    optional: words and numbers, such as slots 1 or count 4
//	NAME/in         the text of an InstDAG without its first line
//	NAME/out        what the pass makes of it, in source order and without the
//	                header; or the error
//
// Mates may be left out where match is the pass; dependences are derived, and
// what the pass needs and `in` lacks, required passes before it make. The
// properties are checked before and after, and what is ordered is proven as the
// program that it would become. Every order of the slice of instructions must
// give the same.
func TestPasses(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".txtar"); find(name) == nil && name != "lower" {
			t.Errorf("%s is about no pass", file)
		}
	}
	for i := range Table {
		p := &Table[i]
		t.Run(p.Name, func(t *testing.T) {
			passestest.Cases(t, "testdata/"+p.Name+".txtar", func(t *testing.T, in string, o []passestest.Option) string {
				return runCase(t, p, in, caseOptions(t, o))
			})
		})
	}
}

func caseOptions(t *testing.T, list []passestest.Option) Options {
	var o Options
	for _, x := range list {
		field := map[string]*int{"slots": &o.Slots, "instances": &o.Instances, "steps": &o.Limits.Steps,
			"blocks": &o.Limits.Blocks, "channels": &o.Limits.Channels, "count": &o.Limits.Count, "index": &o.Limits.Index,
			"peers": &o.Limits.Peers, "depblock": &o.Limits.DepBlock, "nodes": &o.Limits.Nodes}[x.Name]
		switch {
		case x.Name == "fused":
			o.Limits.Target, o.Limits.ReceiveFused = "test", x.Value != 0
		case x.Name == "dense":
			o.Dense = x.Value != 0
		case field == nil:
			t.Fatalf("%s is no option", x.Name)
		default:
			*field = x.Value
		}
	}
	if o.Limits != (ir.Limits{}) && o.Limits.Target == "" {
		o.Limits.Target, o.Limits.ReceiveFused = "test", true
	}
	return o
}

// runCase returns what p makes of in, for several orders of instructions.
func runCase(t *testing.T, p *Pass, in string, o Options) string {
	result := ""
	for seed := range int64(4) {
		d, err := parse.Insts("in", []byte("insts "+p.Name+"\n"+in))
		if err != nil {
			t.Fatalf("%s", described(err))
		}
		s := newState(d, o)
		have, opt := prepare(t, s, p), property.Options{Slots: s.slots, Limits: o.Limits}
		if seed > 0 && p.Name != "fit" { // whose messages name instructions by their places
			d.Shuffle(rand.New(rand.NewSource(seed)))
		}
		_, err = p.Run(s)
		got := ""
		if err != nil {
			got = described(err)
		} else {
			if err := property.Check(d, have|p.Gives, opt); err != nil {
				t.Errorf("after the pass: %s", described(err))
			} else if have |= p.Gives; have&property.Ordered != 0 {
				if err := proved(d, have, verify.Options{Slots: s.slots, MessageChunks: int(s.group)}); err != nil {
					t.Errorf("what it would become is not proven: %s", described(err))
				}
			}
			got = bodyOf(t, d)
		}
		if seed > 0 && got != result {
			t.Fatalf("another order of the slice gives (-first +this):\n%s", cmp.Diff(result, got))
		}
		result = got
	}
	return result
}

// prepare gives s what p needs, and says which properties it has then.
func prepare(t *testing.T, s *state, p *Pass) (have property.Property) {
	d := s.InstDAG
	if p.Name == "match" {
		return property.Meaning
	}
	have = property.Meaning | property.Matched | property.Acyclic
	depend(d)
	steps := []struct {
		gives property.Property // what is made where it is needed
		has   bool
		pass  string
	}{
		{property.Placed, len(d.Blocks) > 0, "place"},
		{property.Ordered | property.Live, d.Insts[0].Step >= 0, "order"},
		{property.Synced, len(d.Waits.Start) > 0, "sync"},
	}
	for _, step := range steps {
		if p.Needs < step.gives&^property.Live { // properties are in the order of the passes that give them
			break
		}
		if have |= step.gives; !step.has {
			if _, err := find(step.pass).Run(s); err != nil {
				t.Fatalf("%s: %s", step.pass, described(err))
			}
		}
	}
	if missing := p.Needs &^ have; missing != 0 {
		t.Fatalf("the case lacks %v", missing)
	}
	if err := property.Check(d, have, property.Options{Slots: s.slots}); err != nil {
		t.Fatalf("before the pass: %s", described(err))
	}
	return have
}

// described returns an error with its notes and hints.
func described(err error) string {
	var list diag.List
	if !errors.As(err, &list) {
		return fmt.Sprintf("fault: %v\n", err)
	}
	var b strings.Builder
	for _, d := range list {
		fmt.Fprintf(&b, "error: %s [%s]", d.Text, d.Code)
		if d.Span.Line > 0 {
			fmt.Fprintf(&b, " at %d:%d", d.Span.Line, d.Span.Column)
		}
		for _, n := range d.Notes {
			fmt.Fprintf(&b, "\nnote: %s at %d:%d", n.Text, n.Span.Line, n.Span.Column)
		}
		if d.Hint != "" {
			fmt.Fprintf(&b, "\nhint: %s", d.Hint)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// bodyOf returns the text of d in source order, from the first line after the header.
func bodyOf(t *testing.T, d *ir.InstDAG) string {
	d.Permute(inverse(d.BySeq()))
	var b bytes.Buffer
	if err := text.WriteInsts(&b, d); err != nil {
		t.Fatal(err)
	}
	var body strings.Builder
	for line := range strings.Lines(b.String()) {
		switch word, _, _ := strings.Cut(line, " "); word {
		case "insts", "collective", "require", "sizes", "protocol", "hint", "span":
		default:
			body.WriteString(line)
		}
	}
	return body.String()
}
