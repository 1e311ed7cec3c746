package lang

import (
	"slices"
	"sort"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// This file has what editors show of a run of a file.

// Facts are what one run of a file saw. Spans are those of names and of operands, with what they are called with.
type Facts struct {
	Values map[diag.Span]*Values
	Rounds map[diag.Span]int64 // of iterators: how often their blocks ran
	looks  int

	// Made are the operations on chunks that the run made, also of a file with errors; nil where its header is wrong.
	Made *ir.ChunkDAG
}

// Values are those that an operand had: the first that differ, as text.
type Values struct {
	Texts []string
	More  bool // there were others
}

// Bounds of what facts keep: values of one operand, and how often a run looks.
const (
	factValues = 8
	factLooks  = 200_000
)

// NewFacts returns facts that Options.Facts may have a run fill.
func NewFacts() *Facts {
	return &Facts{Values: map[diag.Span]*Values{}, Rounds: map[diag.Span]int64{}}
}

// made notes the operations that were made.
func (m *machine) made(h *header) {
	p := &m.prog
	if m.facts == nil || m.facts.Made != nil || h == nil || p.coll == nil || p.channels != nil {
		return
	}
	d := *h.dag
	d.Ops, d.Srcs, d.Hints, d.Spans, d.Declaration = p.ops, p.srcs, p.hints, p.spans, p.declaration
	m.facts.Made = &d
}

// Where says of operations of Facts.Made in which calls and loops they were made, by running f again as it was run.
func Where(f *syntax.File, opt Options, ops []int32) [][]diag.Note {
	m := &machine{lim: opt.Limits.WithDefaults(), looking: true, where: map[int32][]diag.Note{}}
	for _, op := range ops {
		m.where[op+1] = nil
	}
	m.run(f, opt, nil)
	found := make([][]diag.Note, len(ops))
	for i, op := range ops {
		found[i] = m.where[op+1]
	}
	return found
}

// saw notes a value of the operand at span.
func (m *machine) saw(span diag.Span, v *value) {
	f := m.facts
	if f.looks++; f.looks > factLooks || m.bad || v.kind == kBad || v.kind == kNone {
		return
	}
	values := f.Values[span]
	if values == nil {
		values = &Values{}
		f.Values[span] = values
	}
	text := m.shown(v)
	switch {
	case slices.Contains(values.Texts, text):
	case len(values.Texts) == factValues:
		values.More = true
	default:
		values.Texts = append(values.Texts, text)
	}
}

// shown is text, with the elements of short lists.
func (m *machine) shown(v *value) string {
	if v.kind != kList || len(*v.list) > factValues {
		return m.text(v)
	}
	text := "["
	for i := range *v.list {
		if i > 0 {
			text += ", "
		}
		text += m.text(&(*v.list)[i])
	}
	return text + "]"
}

// observed has the run note the values of x, where facts are asked for.
func (c *compiler) observed(x code, span diag.Span) code {
	m := c.m
	if m.facts == nil || x.kind == kNone || x.kind == kBad {
		return x
	}
	if x.lit {
		v := x.value()()
		m.saw(span, &v)
		return x
	}
	switch {
	case x.kind.numeric():
		num, k := x.num, x.kind
		x.num = number{run: func() int64 {
			n := num.get()
			m.saw(span, &value{kind: k, n: n})
			return n
		}}
	case x.kind == kRef:
		read := x.ref
		x.ref = func() ref {
			r := read()
			v := r.value()
			m.saw(span, &v)
			return r
		}
	case x.val != nil:
		val := x.val
		x.val = func() value {
			v := val()
			m.saw(span, &v)
			return v
		}
	}
	return x
}

// Names are the words that a file may use beside its own: what they are, sorted by their names.
func Names() (list []NameInfo) {
	u := universe()
	for s := u; s != nil; s = s.outer {
		for text, n := range s.names {
			list = append(list, NameInfo{Name: text, Function: n.sort == aBuiltin, Arguments: builtinArgs[text]})
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// A NameInfo is a name of the language, and of a function how it is called.
type NameInfo struct {
	Name      string
	Function  bool
	Arguments string
}

// builtinArgs are the arguments of the language's functions, and of the operations on references.
var builtinArgs = map[string]string{
	"chunk": "rank, buffer, index, count = 1", "reduce": "list, rank, buffer, index", "assert": "condition, text",
	"min": "a, b, ...", "max": "a, b, ...", "abs": "n", "log2": "n", "len": "list",
	"channel": "rank, peer, via = memory", "semaphore": "rank, initial = 0", "barrier": "rank, blocks",
	"pipeline": "unit, chunks", "launch": "threads = 1024, align = 16, double_scratch = false, reuse_scratch = false",
}

// Operations are what stands after a reference, a channel or a semaphore, and its arguments, sorted by their names.
func Operations() []NameInfo {
	return []NameInfo{
		{"acquire", true, "tb"}, {"allreduce", true, "src, buffer, index, tb"}, {"buffer", false, ""},
		{"copy", true, "rank, buffer, index"}, {"count", false, ""}, {"flush", true, "tb"},
		{"get", true, "src, buffer, index, tb"}, {"index", false, ""}, {"put", true, "src, buffer, index, tb"},
		{"rank", false, ""}, {"reduce", true, "other, ..."}, {"release", true, "tb"}, {"signal", true, "tb"},
		{"wait", true, "tb"},
	}
}

// CollectiveArguments returns the arguments of each collective, by its name.
func CollectiveArguments() map[string][]string {
	args := map[string][]string{}
	for kind, list := range collectiveArgs {
		args[kind.String()] = list
	}
	return args
}

// Protocols are the names of the protocols.
func Protocols() []string { return ir.ProtocolNames() }
