package browser

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/lang"
	"mscclc/lang/syntax"
	"mscclc/passes/channels"
)

const leastPrograms = 80 // of the catalog

// eightRanks returns the parameters with which a program has 8 ranks.
func eightRanks(f *syntax.File) map[string]string {
	params := map[string]string{}
	for _, s := range f.Stmts {
		a, ok := s.(*syntax.Algorithm)
		if !ok {
			continue
		}
		for _, p := range a.Params {
			switch p.Name {
			case "ranks":
				params["ranks"] = "8"
			case "nodes":
				params["nodes"] = "2"
			case "gpus":
				params["gpus"] = "4"
			}
		}
	}
	return params
}

// outputs returns what ir/eval says that the outputs of a program hold in the end: by rank, and by the names that the
// table's columns may have for a chunk. In place, an input's name is one.
func outputs(name string, text []byte, params map[string]string) ([]map[string]string, error) {
	values := lang.Params{}
	for k, v := range params {
		n, err := strconv.Atoi(v)
		if err != nil {
			return nil, err
		}
		values[k] = n
	}
	var level *ir.ChannelProgram
	opt := mscclc.Options{Lang: lang.Options{Params: values, Open: algorithms.Open}, OneSided: true,
		Stage: func(value any) error {
			if p, ok := value.(*ir.ChannelProgram); ok {
				level = p
			}
			return nil
		}}
	p, err := mscclc.Compile(name, text, opt)
	if err == nil && level != nil {
		one, unrolled := channels.Unroll(level, 1)
		p, err = either.OfOneSided(one), unrolled
	}
	if err != nil {
		return nil, err
	}
	links := eval.Link(p.OneSided)
	order, _ := links.Schedule(p.OneSided).Run()
	m := eval.NewMachine(p.Coll, p.Memory())
	m.Moves(p.OneSided, links, order)
	all := make([]map[string]string, p.Coll.Ranks)
	for r := range all {
		all[r] = map[string]string{}
		for i := range p.Coll.OutChunks(r) {
			value, _ := m.At(r, ir.Output, i)
			all[r][fmt.Sprintf("output[%d]", i)] = m.Values.Describe(value)
			for j := range p.Coll.InChunks(r) {
				if m.Mem.Cell(r, ir.Input, j) == m.Mem.Cell(r, ir.Output, i) {
					all[r][fmt.Sprintf("input[%d]", j)] = m.Values.Describe(value)
				}
			}
		}
	}
	return all, nil
}

// table returns what the page's table says that chunks hold: by rank, and by the columns' names.
const table = `(() => {
  const heads = [...document.querySelectorAll(".chunks thead tr:last-child th")].slice(1).map((h) => h.ariaLabel);
  return [...document.querySelectorAll(".chunks tbody tr")].map((row) => Object.fromEntries(
    [...row.querySelectorAll("td")].map((td, i) => [heads[i], td.className === "none" ? "" : td.title])));
})()`

// differs says where the table differs from outputs, or returns "".
func differs(got, want []map[string]string) string {
	if len(got) != len(want) {
		return fmt.Sprintf("the table has %d ranks, want %d", len(got), len(want))
	}
	for r := range want {
		compared := 0
		for name, holds := range want[r] {
			if said, ok := got[r][name]; ok {
				compared++
				if said != holds {
					return fmt.Sprintf("rank %d: %s holds %q, and ir/eval says %q", r, name, said, holds)
				}
			}
		}
		if compared == 0 && len(want[r]) > 0 {
			return fmt.Sprintf("rank %d: the table has no output: %q", r, got[r])
		}
	}
	return ""
}

// toEnd steps the page to its end, and returns how many steps it took.
func (p *tab) toEnd() int {
	return evaluate[int](p, `(() => {
  const on = document.querySelector('[aria-label="Step on"]');
  const slider = document.querySelector("#step");
  document.querySelector('[aria-label="First step"]').click();
  let steps = 0;
  for (; slider.value !== slider.max && steps < 100000; steps++) { on.click(); }
  return steps;
})()`)
}

// TestCatalog steps programs of the catalog to their ends, and compares the table with what ir/eval says.
func TestCatalog(t *testing.T) {
	b := theBench(t)
	names := slices.DeleteFunc(algorithms.Names(), func(name string) bool { return strings.HasPrefix(name, "lib/") })
	if !covering.CI() {
		names = slices.DeleteFunc(names, func(name string) bool { return !covering.Takes(slices.Index(names, name), 4) })
	}
	p := b.open(t, link(t, nil, document{"mine.mscl", mine}))
	p.shown()
	tried := 0
	for _, name := range names {
		text, err := algorithms.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := syntax.Parse(name, text)
		if err != nil {
			t.Fatal(err)
		}
		if f.Info().Name == "" {
			continue // a library
		}
		params := eightRanks(f)
		want, err := outputs(name, text, params)
		if err != nil || len(want) != 8 {
			t.Errorf("%s: %d ranks, %v", name, len(want), err)
			continue
		}
		tried++
		t.Run(name, func(t *testing.T) {
			p := &tab{t: t, ctx: p.ctx}
			evaluate[any](p, "location.hash = "+quote(link(t, map[string]any{"catalog": name, "params": params})))
			p.wait(`document.body.dataset.state === "shown" && document.querySelector("#catalog").value === ` + quote(name))
			if said := p.says(); !strings.Contains(said, "Proven") {
				t.Fatalf("it says %q", said)
			}
			steps := p.toEnd()
			if wrong := differs(evaluate[[]map[string]string](p, table), want); steps == 0 || wrong != "" {
				t.Errorf("after %d steps: %s", steps, wrong)
			}
		})
	}
	if covering.CI() && tried < leastPrograms {
		t.Errorf("%d programs were tried", tried)
	}
}
