package choose

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/simulate"
)

// shown returns a form in the width that suits it, simulated alone.
func shown(t *testing.T, s *Selector, f Form, bytes int64) (figures, simulate.Result) {
	t.Helper()
	is, err := s.figures(f, bytes)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.form(f)
	if err != nil {
		t.Fatal(err)
	}
	q := p.Copy()
	q.Protocol = f.Protocol
	call := simulate.Call{Bytes: bytes, DType: s.DType, Width: launch.Width{Replicas: is.Replicas, Tile: is.Tile}}
	r, err := simulate.Run(q, s.Topology, s.Costs, call)
	if err != nil {
		t.Fatal(err)
	}
	return is, *r
}

// claims are what reasons say, and what must be true of two results then; n are the numbers in what is said.
var claims = []struct {
	text  string
	holds func(a, b *figures, ra, rb *simulate.Result, n []float64) bool
}{
	{`^sends (\S+)x of the buffer instead of (\S+)x$`, func(a, b *figures, _, _ *simulate.Result, n []float64) bool {
		return n[0] < n[1] && near3(n[0], b.Volume) && near3(n[1], a.Volume)
	}},
	{`^its busiest link is occupied for (\S+) us instead of (\S+)$`,
		func(_, _ *figures, ra, rb *simulate.Result, n []float64) bool {
			return n[0] < n[1] && rb.Occupied*rb.Micros < ra.Occupied*ra.Micros
		}},
	{`^(LL|LL16|LL128|Simple) instead of (LL|LL16|LL128|Simple)(: no flags among the data|: more of each packet is data)?$`, func(a, b *figures, _, _ *simulate.Result, _ []float64) bool {
		return a.Protocol != b.Protocol
	}},
	{`^for (\d+) rounds instead of (\d+)$`, func(a, b *figures, _, _ *simulate.Result, n []float64) bool {
		return n[0] > n[1] && n[0] == float64(b.Rounds) && n[1] == float64(a.Rounds)
	}},
	{`^(\d+) lanes? instead of (\d+)$`, func(a, b *figures, _, _ *simulate.Result, n []float64) bool {
		return a.Lanes != b.Lanes && n[0] == float64(max(b.Lanes, 1)) && n[1] == float64(max(a.Lanes, 1))
	}},
	{`^rounds: (\d+) instead of (\d+)$`, func(a, b *figures, _, _ *simulate.Result, n []float64) bool {
		return n[0] < n[1] && b.Rounds < a.Rounds
	}},
	{`^moves of a rank: (\d+) instead of (\d+)$`, func(a, b *figures, _, _ *simulate.Result, n []float64) bool {
		return n[0] < n[1] && n[0] == float64(b.moves) && n[1] == float64(a.moves)
	}},
	{`^signals of a tile iteration: (\d+) instead of (\d+)$`,
		func(a, b *figures, _, _ *simulate.Result, n []float64) bool {
			return n[0] < n[1] && n[0] == float64(b.signals) && n[1] == float64(a.signals)
		}},
	{`^(\d+) instances instead of (\d+)$`, func(a, b *figures, _, _ *simulate.Result, n []float64) bool { return b.Instances > a.Instances }},
	{`^no scratch$`, func(a, b *figures, _, _ *simulate.Result, _ []float64) bool { return b.Scratch == 0 && a.Scratch > 0 }},
	{`^scratch of (\S+)x the buffer instead of (\S+)$`, func(a, b *figures, _, _ *simulate.Result, n []float64) bool {
		return n[0] < n[1] && b.Scratch < a.Scratch
	}},
	{`^reads others' memory$`, func(a, b *figures, _, _ *simulate.Result, _ []float64) bool { return pulls(b) && !pulls(a) }},
	{`^only writes others' memory$`, func(a, b *figures, _, _ *simulate.Result, _ []float64) bool { return pulls(a) && !pulls(b) }},
	{`^moves data before it waits for others$`, func(a, b *figures, _, _ *simulate.Result, _ []float64) bool { return pulls(a) && !pulls(b) }},
	{`^of no single cause$`, nil},
}

func pulls(f *figures) bool { return strings.Contains(f.Program, "_pull") }

func near3(said, is float64) bool { return fmt.Sprintf("%.3g", said) == fmt.Sprintf("%.3g", is) }

var fasterText = regexp.MustCompile(`^simulated (\S+) % faster(?: with no link less busy: |: |, )`)

// TestReasons holds every reason for a boundary, on several machines, against what is simulated of the two programs
// there.
func TestReasons(t *testing.T) {
	n := 0
	for _, c := range []struct {
		spec, target string
		kinds        []ir.Kind
	}{
		{"h200:gpus=1", "program", []ir.Kind{ir.AllReduce}},
		{"h200:gpus=2", "program", []ir.Kind{ir.AllReduce, ir.ReduceScatter}},
		{"h200:gpus=4", "program", []ir.Kind{ir.AllReduce, ir.AllGather, ir.Broadcast}},
		{"mi300x", "program", []ir.Kind{ir.AllReduce, ir.ReduceScatter}},
		{"cpu", "program", []ir.Kind{ir.AllReduce, ir.AllGather}},
		{"ndv4", "rccl", []ir.Kind{ir.AllReduce}},
	} {
		for _, kind := range c.kinds {
			s := selector(t, c.spec, c.target)
			s.Call.Kind = kind
			var sizes []int64
			for bytes := int64(1 << 10); bytes <= 1<<28; bytes *= 4 {
				sizes = append(sizes, bytes)
			}
			list, err := s.Sizes(sizes)
			if err != nil {
				t.Fatal(err)
			}
			for i := 1; i < len(list); i++ {
				n++
				if err := s.judge(t, &list[i-1], &list[i]); err != nil {
					t.Errorf("%s: %v from %d on: %v follows %v, as it says %q: %v", c.spec, kind, list[i].From, list[i].Form,
						list[i-1].Form, list[i].Reason, err)
				}
			}
		}
	}
	if n < 20 {
		t.Errorf("%d boundaries", n)
	}
}

// judge says what is not so of the reason for which b follows a.
func (s *Selector) judge(t *testing.T, before, after *Stretch) error {
	a, ra := shown(t, s, before.Form, after.At)
	b, rb := shown(t, s, after.Form, after.At)
	reason, _, _ := strings.Cut(after.Reason, "; ")
	lessBusy := rb.Occupied*rb.Micros < less*ra.Occupied*ra.Micros
	faster := fasterText.FindStringSubmatch(reason)
	if lessBusy != (faster == nil) || rb.Micros >= ra.Micros {
		return fmt.Errorf("links are occupied for %.3f us after %.3f, of %.3f after %.3f", rb.Occupied*rb.Micros,
			ra.Occupied*ra.Micros, rb.Micros, ra.Micros)
	}
	if faster != nil {
		if percent := fmt.Sprintf("%.1f", 100*(ra.Micros/rb.Micros-1)); percent != faster[1] {
			return fmt.Errorf("it is %s %%", percent)
		}
		reason = reason[len(faster[0]):]
	}
said:
	for _, said := range strings.Split(reason, ", ") {
		for _, c := range claims {
			match := regexp.MustCompile(c.text).FindStringSubmatch(said)
			if match == nil {
				continue
			}
			var n []float64
			for _, m := range match[1:] {
				x, _ := strconv.ParseFloat(strings.TrimSuffix(m, "x"), 64)
				n = append(n, x)
			}
			if c.holds != nil && !c.holds(&a, &b, &ra, &rb, n) {
				return fmt.Errorf("%q is not so", said)
			}
			continue said
		}
		return fmt.Errorf("%q is no claim that is known", said)
	}
	return nil
}
