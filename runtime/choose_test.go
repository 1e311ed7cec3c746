package runtime_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mscclc/bundle"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/selection"
)

// chosen is a call, as testdata/engine_end.h writes it, and the rule that runs it, or -1.
type chosen struct {
	kind                     ir.Kind
	dtype                    data.DType
	redop                    data.RedOp
	root                     int
	count                    int64
	group, windows, captured int
	rule                     int
}

// choosingCTAs is how many CTAs the communicator has.
const choosingCTAs = 8

// bytes counts those of a call between two ranks, as rules do.
func (c *chosen) bytes() int64 {
	bytes := c.count * int64(c.dtype.Size())
	if c.kind != ir.AllReduce && c.kind != ir.Broadcast && c.kind != ir.ReduceTo && c.kind != ir.SendRecv {
		bytes *= 2
	}
	return bytes
}

// gapOf returns the reason of the one gap that a call is in, or "".
func gapOf(gaps []bundle.Gap, c *chosen) (why string) {
	has := func(list []string, value string) bool { return list == nil || slices.Contains(list, value) }
	for _, g := range gaps {
		grouped := g.Calls == nil || slices.ContainsFunc(g.Calls, func(text string) bool {
			least, most, _ := strings.Cut(text, "-")
			a, _ := strconv.Atoi(least)
			b, err := strconv.Atoi(most)
			return c.group >= a && (err != nil || c.group <= b)
		})
		if g.Collective == c.kind.String() && (c.captured == 0 && g.Eager || c.captured != 0 && g.Captured) && grouped &&
			(g.Windows == "" || g.Windows == "yes" == (c.windows != 0)) && has(g.DTypes, c.dtype.String()) &&
			has(g.RedOps, c.redop.String()) && has(g.Roots, strconv.Itoa(c.root)) &&
			(g.Above == 0 || uint64(c.bytes()) > g.Above) && (g.UpTo == 0 || uint64(c.bytes()) <= g.UpTo) {
			if why != "" {
				return "two gaps"
			}
			why = g.Reason
		}
	}
	return why
}

// choosingRules are rules of all kinds of conditions, for 2 ranks.
func choosingRules() []bundle.Rule {
	rule := func(kind ir.Kind, change func(r *bundle.Rule)) bundle.Rule {
		r := bundle.Forward(kind, 2)
		r.Program, r.Protocol, r.Replicas, r.Tile, r.UpTo = kind.String()+"/allpairs", ir.LL, 2, 4096, 1<<20
		change(&r)
		return r
	}
	return []bundle.Rule{
		rule(ir.AllReduce, func(r *bundle.Rule) { r.When, r.UpTo = bundle.WhenCaptured, 8 }),
		rule(ir.AllReduce, func(r *bundle.Rule) { r.When, r.UpTo, r.RedOp = bundle.WhenEager, 4000, uint8(data.Max) }),
		rule(ir.AllReduce, func(r *bundle.Rule) { r.DType, r.Calls = uint8(data.U8), 2 }),
		rule(ir.AllReduce, func(r *bundle.Rule) { r.Placement, r.When = selection.Direct, r.When|bundle.WhenWindows }),
		rule(ir.AllReduce, func(r *bundle.Rule) { r.Program, r.UpTo = "", 4000 }),
		rule(ir.AllReduce, func(r *bundle.Rule) {}),
		rule(ir.AllGather, func(r *bundle.Rule) { r.UpTo = 4000 }),
		rule(ir.AllGather, func(r *bundle.Rule) { r.Replicas = 32 }), // more CTAs than there are
		rule(ir.AllGather, func(r *bundle.Rule) { // 10 CTAs
			r.Protocol, r.Replicas, r.InLanes = ir.Simple, 5, selection.InLanes{Lanes: 2}
		}),
		rule(ir.AllGather, func(r *bundle.Rule) { r.UpTo = 10000 }),
		rule(ir.Broadcast, func(r *bundle.Rule) { r.Program, r.Root = "broadcast/direct", 1 }),
		rule(ir.ReduceScatter, func(r *bundle.Rule) {
			r.Protocol, r.InLanes = ir.Simple, selection.InLanes{Lanes: 4, Copies: 5}
		}),
	}
}

// TestChoose compares what the library chooses for many calls with the first rule that fits.
func TestChoose(t *testing.T) {
	b, err := bundle.Build(bundle.Spec{Device: device, Ranks: []int{2}, DTypes: engineTypes, Rules: choosingRules()})
	if err != nil {
		t.Fatal(err)
	}
	out, err := tryEngine(t, engineProgram(t), write(t, bundle.Encode(b)), "processes", 2, []string{"choices"})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	gaps := b.Gaps(&b.Sets[0], choosingCTAs, false)
	seen := map[string]int{}
	for line := range strings.Lines(out) {
		var c chosen
		if _, err := fmt.Sscan(line, &c.kind, &c.dtype, &c.redop, &c.root, &c.count, &c.group, &c.windows, &c.captured,
			&c.rule); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if want := firstRule(b, &c); c.rule != want {
			t.Fatalf("rule %d, want %d: %s", c.rule, want, line)
		}
		_, why, _ := strings.Cut(strings.TrimSpace(line), " -1 ")
		if want := gapOf(gaps, &c); why != want && slices.Contains(bundle.Kinds, c.kind) {
			t.Errorf("Gaps says %q: %s", want, line)
		}
		seen[fmt.Sprint(c.rule, why)]++
	}
	if len(seen) != len(choosingRules())-3+4 { // three rules run nothing, for two of the four reasons
		t.Errorf("choices are %v", seen)
	}
}

// firstRule returns the rule of a call, or -1.
func firstRule(b *bundle.Bundle, c *chosen) int {
	set := &b.Sets[0]
	bytes := c.bytes()
	for i, r := range set.Rules {
		when := uint8(bundle.WhenEager)
		if c.captured != 0 {
			when = bundle.WhenCaptured
		}
		either := func(of uint8, value int) bool { return of == bundle.Any || int(of) == value }
		if r.Kind != uint8(c.kind) || r.When&when == 0 || uint64(bytes) > r.UpTo || r.Calls > 0 && c.group > int(r.Calls) ||
			!either(r.DType, int(c.dtype)) || !either(r.RedOp, int(c.redop)) || !either(r.Root, c.root) ||
			r.When&bundle.WhenWindows != 0 && c.windows == 0 {
			continue
		}
		if r.Program == bundle.NCCLRow {
			return -1
		}
		p := b.Programs[r.Program]
		if p.BlocksOf()*int(r.Replicas) > choosingCTAs {
			continue
		}
		image := set.Image[c.dtype]
		if p.Copies != 0 {
			image = set.Copier[c.dtype]
		}
		if image == 1<<32-1 {
			return -1
		}
		return i
	}
	return -1
}
