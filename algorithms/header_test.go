package algorithms_test

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/algorithms/choose"
	"mscclc/ir"
	"mscclc/ir/bitwise"
	"mscclc/ir/diag"
	"mscclc/lang"
	"mscclc/lang/syntax"
)

// headerFields are what the comment at the head of a file of the catalog may say after its first paragraphs, a line or
// more each, in this order. Rounds, Volume (of what the rank that sends or receives most does, in buffers as nccl-tests
// counts a call's bytes) and Between nodes are formulas in the algorithm's parameters, after which a remark may
// follow: Rounds: 2 * (ranks - 1); a remark. "at most" before one says that it is a bound, which some number of ranks
// reaches.
var headerFields = []string{"Source", "Ranks", "Rounds", "Volume", "Between nodes", "Sizes", "Fabrics", "Bits"}

var fieldLine = regexp.MustCompile(`^(` + strings.Join(headerFields, "|") + `): (.*)$`)

// header reads the fields of a file's first comment.
func header(text string) (what string, fields map[string]string, order []string) {
	fields = map[string]string{}
	last := ""
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !ok {
			break
		}
		comment = strings.TrimSpace(comment)
		if m := fieldLine.FindStringSubmatch(comment); m != nil {
			last = m[1]
			fields[last] = m[2]
			order = append(order, last)
		} else if last != "" {
			fields[last] += " " + comment
		} else {
			what += comment + "\n"
		}
	}
	return strings.TrimSpace(what), fields, order
}

// TestHeaders holds every file of the catalog to what its first comment says of it: what it is, from where, in how many
// rounds, with which volume, and for which sizes and fabrics. Rounds and volumes are compared with those of the
// operations, at all numbers of ranks from 2 to 17 that the file is for; what it refuses, it refuses as its header
// says.
func TestHeaders(t *testing.T) {
	for _, p := range programs(t) {
		if strings.HasPrefix(p.name, "examples/") {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			for _, wrong := range judgeHeader(&p, p.headerShapes()) {
				t.Error(wrong)
			}
		})
	}
}

// headerShapes returns the parameters for 2 to 17 ranks that are judged.
func (p *program) headerShapes() (all []lang.Params) {
	for n := 2; n <= 17; n++ {
		all = append(all, p.counts(n)...)
	}
	return all
}

// judgeHeader says what is wrong with p's header.
func judgeHeader(p *program, shapes []lang.Params) (wrong []error) {
	fault := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	what, fields, order := header(string(p.text))
	if !strings.HasSuffix(what, ".") {
		fault("the first comment does not say what the file is")
	}
	nodes := slices.Contains(p.params, "nodes")
	for _, name := range headerFields {
		needed := name != "Ranks" && (name != "Between nodes" || nodes) &&
			(name != "Bits" || strings.HasPrefix(p.name, "allreduce/"))
		if needed && strings.TrimSpace(fields[name]) == "" {
			fault("the first comment has no line %s:", name)
		}
	}
	if !slices.IsSortedFunc(order,
		func(a, b string) int { return slices.Index(headerFields, a) - slices.Index(headerFields, b) }) {
		fault("the fields are in the order %v, and should be in that of %v", order, headerFields)
	}
	known := []string{"", "powers of two", "even numbers"}
	if which, _, _ := strings.Cut(fields["Ranks"], ";"); !slices.Contains(known, which) {
		fault("Ranks: %s does not say which ranks: one of %q, and after a semicolon what takes others", which, known[1:])
	}
	if m := regexp.MustCompile(`(?m)^sizes (\w+)\.\.(\w+)`).FindSubmatch(p.text); m != nil &&
		!strings.HasPrefix(fields["Sizes"], string(m[1])+" to "+string(m[2])) {
		fault("the file is for sizes %s, and its header for %s", m[0], fields["Sizes"])
	}
	if len(wrong) == 0 {
		wrong = judgeFormulas(p, fields, shapes)
	}
	return wrong
}

// judgeFormulas compares the rounds and volumes of a header with those of the operations.
func judgeFormulas(p *program, fields map[string]string, shapes []lang.Params) (wrong []error) {
	names := slices.DeleteFunc([]string{"Rounds", "Volume", "Between nodes"},
		func(n string) bool { return fields[n] == "" })
	bounds, reached := make([]*bound, len(names)), make([]bool, len(names))
	for i, name := range names {
		var err error
		if bounds[i], err = boundOf(fields[name]); err != nil {
			return append(wrong, fmt.Errorf("%s: %v", name, err))
		}
	}
	for _, params := range shapes {
		d, err := p.expand(params)
		if n, _ := params["ranks"].(int); !isFor(fields["Ranks"], n) {
			if codeOf(err) != diag.AssertFailed {
				wrong = append(wrong, fmt.Errorf("%v: it is for %s, and is not refused by an assert: %v", params,
					fields["Ranks"], err))
			}
			continue
		}
		if err != nil {
			return append(wrong, fmt.Errorf("%v: its header does not say that it is not for that: %v", params, err))
		}
		shape := choose.ShapeOf(d)
		is := map[string]float64{"Rounds": float64(shape.Rounds), "Volume": shape.Volume, "Between nodes": crossing(d)}
		for i, b := range bounds {
			v, err := b.value(numbers(params))
			near := math.Abs(v-is[names[i]]) < 1e-9
			reached[i] = reached[i] || near
			if err != nil || !near && (!b.atMost || is[names[i]] > v) {
				wrong = append(wrong, fmt.Errorf("%v: %s is %v, and %s says %v %v", params, names[i], is[names[i]], b.text, v, err))
			}
		}
	}
	for i, b := range bounds {
		if !reached[i] {
			wrong = append(wrong, fmt.Errorf("%s: %s is never reached", names[i], b.text))
		}
	}
	return wrong
}

// isFor reports whether a file is for n ranks whose header says of them what field does.
func isFor(field string, n int) bool {
	switch what, _, _ := strings.Cut(field, ";"); what {
	case "powers of two":
		return n&(n-1) == 0
	case "even numbers":
		return n%2 == 0
	}
	return true
}

// numbers returns the parameters that are numbers.
func numbers(params lang.Params) map[string]float64 {
	n := map[string]float64{}
	for name, value := range params {
		if v, err := strconv.ParseFloat(fmt.Sprint(value), 64); err == nil {
			n[name] = v
		}
	}
	return n
}

func (p *program) expand(params lang.Params) (*ir.ChunkDAG, error) {
	return lang.Expand(p.tree, lang.Options{Params: params, Open: p.open})
}

// crossing returns what the rank that does most of that sends to other nodes, or receives from them, of a call's bytes.
func crossing(d *ir.ChunkDAG) float64 {
	sent, received := make([]int, d.Coll.Ranks), make([]int, d.Coll.Ranks)
	per := int32(d.RanksPerNode)
	for k := range d.Ops {
		op := &d.Ops[k]
		for _, src := range d.Sources(op) {
			if src.Rank/per != op.Dst.Rank/per {
				sent[src.Rank] += int(op.Count)
				received[op.Dst.Rank] += int(op.Count)
			}
		}
	}
	return float64(max(slices.Max(sent), slices.Max(received))) / float64(max(d.Coll.Divisor(), 1))
}

// TestHeadersThatAreWrong: a file whose header lacks a field, or has a wrong formula, is reported.
func TestHeadersThatAreWrong(t *testing.T) {
	text, err := algorithms.Open("allreduce/ring")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"# Source:", "# Origin:", "no line Source:"},
		{"# Rounds: 2 * (ranks - 1)", "# Rounds: 2 * ranks", "Rounds is 2, and 2 * ranks says 4"},
		{"# Rounds: 2 * (ranks - 1)", "# Rounds: at most 2 * ranks", "never reached"},
		{"# Rounds: 2 * (ranks - 1)", "# Rounds: few", "no parameter few"},
		{"# Volume: 2 * (ranks - 1) / ranks", "# Volume: (ranks - 1) / ranks", "Volume is 1, and"},
		{"# Sizes:", "# For:", "no line Sizes:"},
		{"# Fabrics: any", "# Fabrics:", "no line Fabrics:"},
		{"# Bits:", "# Sums:", "no line Bits:"},
		{"# Rounds:", "# Ranks: powers of two; more.\n# Rounds:", "is not refused"},
		{"# Rounds:", "# Ranks: even numbers; more.\n# Rounds:", "is not refused"},
		{"# Rounds:", "# Ranks: a few.\n# Rounds:", "does not say which ranks"},
		{"\nparallelize", "\nassert(ranks != 3, \"not 3\")\nparallelize", "does not say that it is not for that"},
		{"\nparallelize", "\nsizes 1K..1M\nparallelize", "the file is for sizes"},
	} {
		p := program{name: "allreduce/ring", file: "ring.mscl", text: []byte(strings.Replace(string(text), c.old, c.new, 1)),
			open: algorithms.Open, params: []string{"ranks", "channels"}}
		if c.old == "# Fabrics: any" {
			p.text = regexp.MustCompile(`(?m)^# Fabrics: .*$`).ReplaceAll(text, []byte("# Fabrics:"))
		}
		if p.tree, err = syntax.Parse(p.file, p.text); err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(judgeHeader(&p, p.headerShapes()))
		if c.want == "" && got != "[]" || !strings.Contains(got, c.want) {
			t.Errorf("%q instead of %q: %s, want %q", c.new, c.old, got, c.want)
		}
	}
}

// TestBits: every AllReduce gives all ranks the same bits, whatever is summed, in both forms, or its header says that
// it does not, and then it does not.
func TestBits(t *testing.T) {
	for _, p := range programs(t) {
		_, fields, _ := header(string(p.text))
		if !strings.HasPrefix(p.name, "allreduce/") {
			continue
		}
		alike, differ := strings.HasPrefix(fields["Bits"], "the same on all ranks"),
			strings.HasPrefix(fields["Bits"], "not the same on all ranks from three on, since ")
		if !alike && !differ {
			t.Errorf("%s: its header says of bits %q", p.name, fields["Bits"])
		}
		shapes := []lang.Params{{"ranks": "3"}, {"ranks": "4"}, {"ranks": "7"}, {"ranks": "8"}}
		if slices.Contains(p.params, "nodes") {
			shapes = []lang.Params{{"nodes": "2", "gpus": "2"}, {"nodes": "3", "gpus": "2"}, {"nodes": "2", "gpus": "3"},
				{"nodes": "3", "gpus": "3"}}
		}
		for _, params := range shapes {
			for _, oneSided := range []bool{false, true} {
				p.sameBits(t, params, oneSided, alike)
				if slices.Contains(p.params, "ordered") {
					ordered := maps.Clone(params)
					ordered["ordered"] = "true"
					p.sameBits(t, ordered, oneSided, true)
				}
			}
		}
	}
}

// sameBits tests whether p gives all ranks the same bits.
func (p *program) sameBits(t *testing.T, params lang.Params, oneSided, want bool) {
	t.Helper()
	made, err := mscclc.CompileFile(p.tree,
		mscclc.Options{OneSided: oneSided, Lang: lang.Options{Params: params, Open: p.open}})
	if codeOf(err) == diag.AssertFailed {
		return
	} else if err != nil {
		t.Errorf("%s %v: %v", p.name, params, err)
		return
	}
	order := bitwise.OrderOf(made)
	if order.Same() != want || order.Sums != made.Coll.Chunks {
		t.Errorf("%s %v one-sided %v: the same bits on all ranks: %v, of %d sums; want %v, of %d", p.name, params,
			oneSided, order.Same(), order.Sums, want, made.Coll.Chunks)
	}
}
