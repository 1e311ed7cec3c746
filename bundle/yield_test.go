package bundle

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
)

// fits builds a bundle of rules, beside those that are built in for their device, and proves it.
func fits(t *testing.T, name, text string) (b *Bundle, seen []string, err error) {
	t.Helper()
	m, err := ReadRules(name, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	spec := Spec{Device: m.Device, DTypes: DefaultDTypes, Notify: func(text string) { seen = append(seen, text) }}
	tables := append([]*Measured{m}, BuiltIn()...)
	for _, n := range m.Ranks(nil) {
		rules, _ := RulesFor(n, DefaultCTAs, tables, false)
		spec.Ranks, spec.Rules = append(spec.Ranks, n), append(append(spec.Rules, rules...), RulesOver(n, tables)...)
	}
	if b, err = Build(spec); err != nil {
		return nil, seen, err
	}
	_, _, err = Verify(name, Encode(b))
	return b, seen, err
}

// TestExamples: bundles of the rules in docs/bundle.md can be made as they are printed.
func TestExamples(t *testing.T) {
	page, err := os.ReadFile("../docs/bundle.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```json\n")[1:]
	for i, block := range blocks {
		text, _, _ := strings.Cut(block, "```")
		if _, _, err := fits(t, fmt.Sprintf("example%d.rules", i), text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	if len(blocks) < 4 {
		t.Errorf("the page has %d examples", len(blocks))
	}
}

// TestYield: rules of the user's have their memory, however much, and keep their tiles. Built-in programs give way, and
// each that does is seen of. What nobody needs to give is not given.
func TestYield(t *testing.T) {
	for _, c := range []struct {
		tile  int
		seen  int // programs that give way, at least
		nccl  bool
		fails bool
	}{{4 << 10, 0, false, false}, {2 << 20, 1, false, false}, {11 << 18, 3, true, false}, {3 << 20, 9, true, false},
		{4 << 20, 0, false, true}} {
		b, seen, err := fits(t, "own.rules", fmt.Sprintf(`{"version": 1, "device": "NVIDIA H200", "rules": [`+
			`{"collective":"allreduce","ranks":2,"when":"captured","program":"allreduce/allpairs","protocol":"Simple",`+
			`"lanes":4,"copies":5,"replicas":8,"tile":%d}]}`, c.tile))
		if (err != nil) != c.fails || len(seen) < c.seen || c.seen == 0 && len(seen) > 0 {
			t.Errorf("tiles of %d: %v, seen of %d programs", c.tile, err, len(seen))
		}
		if c.fails {
			if err != nil && (!strings.Contains(err.Error(), "own.rules:1:") || strings.Contains(err.Error(), "h200.rules")) {
				t.Errorf("tiles of %d: %v", c.tile, err)
			}
			continue
		}
		if slices.ContainsFunc(seen, func(s string) bool { return strings.HasPrefix(s, "NCCL runs") }) != c.nccl {
			t.Errorf("tiles of %d: seen %v", c.tile, seen)
		}
		s := &b.Sets[0]
		own := slices.IndexFunc(s.Rules, func(r RuleRow) bool {
			return r.Kind == uint8(ir.AllReduce) && r.When == WhenCaptured && r.Program != NCCLRow &&
				strings.Contains(b.Programs[r.Program].Title(), "5 copies")
		})
		if own < 0 || s.Rules[own].Tile != uint64(c.tile) || b.Programs[s.Rules[own].Program].Tile != uint64(c.tile) {
			t.Errorf("tiles of %d: the rule is not in the bundle as it was written", c.tile)
		}
	}
}

// TestWideBuiltIn: built-in rules with more CTAs than the bundle's launches may have are left out, and rules of the
// user's are errors.
func TestWideBuiltIn(t *testing.T) {
	spec, ok := BuiltInFor(BuiltIn()[0].Device)
	if !ok {
		t.Fatal("no rules are built in")
	}
	spec.CTAs = 4
	var seen []string
	spec.Notify = func(text string) { seen = append(seen, text) }
	b, err := Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Sets {
		if s := &b.Sets[i]; s.CTAs > 4 || len(s.Rules) == 0 {
			t.Errorf("%s: %d rules of up to %d CTAs", s.Title(), len(s.Rules), s.CTAs)
		}
	}
	const says = "that are built in are left out: their launches have up to 32 CTAs"
	if len(seen) != len(b.Sets) || !strings.Contains(seen[0], says) {
		t.Errorf("seen %q", seen)
	}
	for i := range spec.Rules {
		spec.Rules[i].BuiltIn = false
	}
	if _, err := Build(spec); err == nil || !strings.Contains(err.Error(), "CTAs, and rules have 4") {
		t.Errorf("%v", err)
	}
}
