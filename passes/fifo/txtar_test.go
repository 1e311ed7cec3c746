package fifo

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/irtest"
	"mscclc/ir/property"
	"mscclc/ir/text"
	"mscclc/ir/verify"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
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
			runCases(t, "testdata/"+p.Name+".txtar",
				func(t *testing.T, in string, o Options) string { return runCase(t, p, in, o) })
		})
	}
}

// runCases runs the cases of file, and compares or rewrites what comes out.
func runCases(t *testing.T, file string, run func(t *testing.T, in string, o Options) string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var options, in string
	seen := map[string]bool{}
	for i := range archive.Files {
		f := &archive.Files[i]
		name, section, _ := strings.Cut(f.Name, "/")
		switch section {
		case "options":
			options = string(f.Data)
		case "in":
			in = string(f.Data)
		case "out":
			if in == "" || seen[name] {
				t.Fatalf("%s: %s has no input of its own", file, f.Name)
			}
			seen[name] = true
			t.Run(name, func(t *testing.T) {
				got := run(t, in, caseOptions(t, options))
				if os.Getenv("MSCCLC_UPDATE") != "" {
					f.Data = []byte(got)
				} else if diff := cmp.Diff(string(f.Data), got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
			options, in = "", ""
		default:
			t.Errorf("%s: %s is no section of a case", file, f.Name)
		}
	}
	if in != "" || len(seen) < 2 {
		t.Errorf("%s: a case lacks its output, or there are hardly any", file)
	}
	if os.Getenv("MSCCLC_UPDATE") != "" {
		if err := os.WriteFile(file, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func caseOptions(t *testing.T, text string) Options {
	var o Options
	words := strings.Fields(text)
	if len(words)%2 != 0 {
		t.Fatalf("options %q are no pairs", text)
	}
	for ; len(words) > 0; words = words[2:] {
		n, err := strconv.Atoi(words[1])
		if err != nil {
			t.Fatal(err)
		}
		field := map[string]*int{"slots": &o.Slots, "instances": &o.Instances, "steps": &o.Limits.Steps,
			"blocks": &o.Limits.Blocks, "channels": &o.Limits.Channels, "count": &o.Limits.Count, "index": &o.Limits.Index,
			"peers": &o.Limits.Peers, "depblock": &o.Limits.DepBlock, "nodes": &o.Limits.Nodes}[words[0]]
		switch {
		case words[0] == "fused":
			o.Limits.Target, o.Limits.ReceiveFused = "test", n != 0
		case words[0] == "dense":
			o.Dense = n != 0
		case field == nil:
			t.Fatalf("%s is no option", words[0])
		default:
			*field = n
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
		d, err := irtest.ParseInsts("in", []byte("insts "+p.Name+"\n"+in))
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

// described is an error with its notes and hints.
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

// bodyOf is the text of d in source order, from the first line after the header.
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
