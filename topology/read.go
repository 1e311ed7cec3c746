package topology

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"mscclc/files"
	"mscclc/ir/diag"
)

// What one file may make.
const (
	maxFile    = 64 << 10
	maxNesting = 100
	maxPlaces  = 1 << 17
	maxLinks   = 1 << 20
	maxNumber  = 1 << 30
)

// Read reads a topology, with the values that params give its parameters. Its errors are a diag.List.
func Read(name string, r io.Reader, params map[string]int) (*Topology, error) {
	text, err := files.ReadAll(name, r, "a topology", maxFile)
	if err != nil {
		return nil, err
	}
	whole := diag.Span{Pos: diag.Pos{Filename: name, Line: 1, Column: 1}}
	if deepest(text) > maxNesting {
		return nil, diag.List{diag.New(diag.Limit, whole, "brackets are nested more than %d deep", maxNesting)}
	}
	src := strings.TrimRight(string(text), "\n") + "\n"
	f, err := parser.ParseString(name, src)
	if err != nil {
		var at participle.Error
		if errors.As(err, &at) {
			return nil, diag.List{misplaced(src, at)}
		}
		return nil, diag.List{diag.New(diag.Syntax, whole, "%v", err)}
	}
	b := &builder{t: &Topology{Name: f.Head.Name, Doc: firstSentence(src), Nodes: 1}, vars: map[string]int{"nodes": 1},
		groups: map[string]*group{}}
	b.params(f.Head, params)
	if len(b.errs) == 0 {
		b.build(f.Stmts)
	}
	if len(b.errs) > 0 {
		return nil, b.errs.Sort()
	}
	return b.t, nil
}

// forms are those of a line, by its first word.
var forms = map[string]string{
	"topology": "topology NAME(PARAMETER = NUMBER, ...)", "device": "device NAME",
	"class": "class NAME 0.3us 365GB/s, and the word network behind it where it is one", "node": "node {",
	"gpu": "gpu [NUMBER]", "nic": "nic [NUMBER]", "switch": "switch NAME [NUMBER]",
	"link": "link END END CLASS [x NUMBER], where an END is NAME, NAME[i] or NAME[*]",
}

// misplaced says what stands in a line that its form has no place for.
func misplaced(src string, err participle.Error) diag.Diagnostic {
	at := err.Position()
	before := src[:min(at.Offset, len(src))]
	rest, _, _ := strings.Cut(src[len(before):], "\n")
	word := lineWord.FindString(rest)
	line := strings.Fields(before[strings.LastIndexByte(before, '\n')+1:] + rest + " ")
	text, hint := "unexpected "+diag.Printable(word),
		"a line begins with topology, which is the first, device, class, node, gpu, nic, switch or link"
	switch {
	case len(rest) == 0:
		text = "unexpected end of the line"
	case keyword.MatchString(word):
		text += ", which is a word of this form and no name"
	}
	if len(line) > 0 {
		if form := forms[lineWord.FindString(line[0])]; form != "" {
			hint = "such a line is " + form
		}
	}
	return diag.New(diag.Syntax, span(at, max(len(word), 1)), "%s", text).WithHint("%s", hint)
}

var (
	lineWord = regexp.MustCompile(`^(\w+|[^\w\s])`)
	keyword  = regexp.MustCompile(`^` + keywords + `$`)
)

func deepest(text []byte) int {
	deep, most := 0, 0
	for _, c := range text {
		switch c {
		case '(', '[', '{':
			deep++
			most = max(most, deep)
		case ')', ']', '}':
			deep--
		}
	}
	return most
}

func firstSentence(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		words = append(words, strings.Fields(comment)...)
	}
	sentence, _, _ := strings.Cut(strings.Join(words, " ")+" ", ". ")
	return diag.Printable(strings.TrimSpace(sentence))
}

func span(p lexer.Position, n int) diag.Span { return diag.Span{Pos: diag.Pos(p), Len: n} }

// A builder makes a Topology of a file.
type builder struct {
	t      *Topology
	vars   map[string]int // parameters; of a link also node, and the name in its first brackets
	groups map[string]*group
	errs   diag.List
}

// A group is so many places, of each node or shared; those of node n begin at First[n], the shared ones at First[0].
type group struct {
	kind   Kind
	shared bool
	count  int
	first  []int32
}

// mostErrors is how many errors of a topology are collected.
const mostErrors = 20

func (b *builder) fault(code diag.Code, p lexer.Position, format string, args ...any) {
	if len(b.errs) < mostErrors {
		b.errs = append(b.errs, diag.New(code, span(p, 1), format, args...))
	}
}

// params gives the parameters their values.
func (b *builder) params(h *head, given map[string]int) {
	for _, p := range h.Params {
		b.vars[p.Name] = b.value(p.Value)
		if v, ok := given[p.Name]; ok {
			b.vars[p.Name] = v
		}
		b.t.Params = append(b.t.Params, p.Name)
	}
	known := b.t.Params
	for name := range given {
		if !slices.Contains(known, name) {
			b.fault(diag.Parameter, h.Pos, "%s has no parameter %s; it has %s", h.Name, name,
				strings.Join(append(known[:len(known):len(known)], "no other"), ", "))
		}
	}
	if b.t.Nodes = b.vars["nodes"]; b.t.Nodes < 1 || b.t.Nodes > maxPlaces {
		b.fault(diag.Parameter, h.Pos, "%s has %d nodes, and may have 1 to %d", h.Name, b.t.Nodes, maxPlaces)
	}
}

// build makes places of all groups first, the GPUs before all, and then links.
func (b *builder) build(stmts []*stmt) {
	var links []*linkDef
	var inNode []bool
	var walk func(list []*stmt, node bool)
	var groups []*groupDef
	var ofNode []bool
	walk = func(list []*stmt, node bool) {
		for _, s := range list {
			switch {
			case s.Node != nil && node:
				b.fault(diag.Declaration, s.Pos, "a node within a node")
			case s.Node != nil:
				walk(s.Node, true)
			case s.Class != nil:
				b.class(s.Class)
			case s.Group != nil:
				groups, ofNode = append(groups, s.Group), append(ofNode, node)
			case s.Link != nil:
				links, inNode = append(links, s.Link), append(inNode, node)
			default:
				b.t.Device = s.Device
			}
		}
	}
	walk(stmts, false)
	for _, gpus := range []bool{true, false} {
		for i, g := range groups {
			if (g.Kind == "gpu") == gpus {
				b.group(g, ofNode[i])
			}
		}
	}
	if g := b.groups["gpu"]; g == nil && len(b.errs) == 0 {
		b.fault(diag.Declaration, lexer.Position{Filename: "", Line: 0},
			"%s has no GPUs: a line \"gpu 8\" in node's braces says how many a node has", b.t.Name)
	}
	for i, l := range links {
		if len(b.errs) == 0 {
			b.link(l, inNode[i])
		}
	}
}

func (b *builder) class(c *classDef) {
	latency, isTime := quantity(c.Latency.Text, times)
	bandwidth, isRate := quantity(c.Bandwidth.Text, rates)
	switch {
	case slices.ContainsFunc(b.t.Classes, func(o Class) bool { return o.Name == c.Name }):
		b.fault(diag.Redefined, c.Pos, "class %s is there already", c.Name)
	case !isTime:
		b.unit(&c.Latency, "latency", "write a number and ns, us or ms, without a space: 0.7us")
	case !isRate || bandwidth <= 0:
		b.unit(&c.Bandwidth, "bandwidth", "write a number and its unit, without a space: 50GB/s or 400Gb/s")
	default:
		b.t.Classes = append(b.t.Classes, Class{Name: c.Name, Latency: latency, Bandwidth: bandwidth, Network: c.Network})
	}
}

// unit adds the error that a measure has the wrong unit, or none.
func (b *builder) unit(m *measure, what, hint string) {
	if len(b.errs) < mostErrors {
		d := diag.New(diag.Kind, span(m.Pos, len(m.Text)), "%s is not a %s", m.Text, what)
		b.errs = append(b.errs, d.WithHint("%s", hint))
	}
}

// Units, in microseconds, and in bytes a microsecond.
var (
	times = map[string]float64{"ns": 1e-3, "us": 1, "ms": 1e3}
	rates = map[string]float64{
		"B/s": 1e-6, "KB/s": 1e-3, "MB/s": 1, "GB/s": 1e3, "TB/s": 1e6,
		"Kb/s": 1e-3 / 8, "Mb/s": 1. / 8, "Gb/s": 1e3 / 8, "Tb/s": 1e6 / 8,
	}
)

// quantity reads a number and its unit.
func quantity(s string, units map[string]float64) (float64, bool) {
	i := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	unit, ok := units[s[max(i, 0):]]
	v, err := strconv.ParseFloat(s[:max(i, 0)], 64)
	return v * unit, ok && err == nil
}

func (b *builder) group(g *groupDef, node bool) {
	kind, name := Switch, g.Name
	if g.Kind != "" {
		kind, name = Kind(slices.Index(kindNames[:], g.Kind)), g.Kind
	}
	count := 1
	if g.Count != nil {
		count = b.value(g.Count)
	}
	if kind == GPU && !node {
		b.fault(diag.Declaration, g.Pos, "GPUs lie in node's braces")
	}
	if b.groups[name] != nil {
		b.fault(diag.Redefined, g.Pos, "%s is there already", name)
	}
	copies := 1
	if node {
		copies = b.t.Nodes
	}
	if count < 1 || count > maxPlaces || count*copies > maxPlaces-len(b.t.Places) {
		b.fault(diag.Limit, g.Pos, "%s has %d members in each of %d; a group has one at least, and a topology %d at most",
			name, count, copies, maxPlaces)
	}
	if len(b.errs) > 0 {
		return
	}
	made := &group{kind: kind, shared: !node, count: count}
	for n := range copies {
		made.first = append(made.first, int32(len(b.t.Places)))
		for i := range count {
			p := Place{Kind: kind, Group: name, Node: n, Index: i}
			if !node {
				p.Node = -1
			}
			b.t.Places = append(b.t.Places, p)
		}
	}
	b.groups[name] = made
	if kind == GPU {
		b.t.GPUs = count
	}
}

// value is what e is; an error is recorded, and 1 stands for it.
func (b *builder) value(e *expr) int {
	v, err := e.eval(b.vars)
	if err != nil {
		b.fault(diag.Arithmetic, e.Pos, "%v", err)
		return 1
	}
	return v
}

func (e *expr) eval(vars map[string]int) (int, error) {
	v, err := e.First.eval(vars)
	for _, s := range e.Rest {
		if err != nil {
			return 0, err
		}
		var w int
		w, err = s.Product.eval(vars)
		v, err = apply(s.Op, v, w, err)
	}
	return v, err
}

func (p *product) eval(vars map[string]int) (int, error) {
	v, err := p.First.eval(vars)
	for _, f := range p.Rest {
		if err != nil {
			return 0, err
		}
		var w int
		w, err = f.Atom.eval(vars)
		v, err = apply(f.Op, v, w, err)
	}
	return v, err
}

func (a *atom) eval(vars map[string]int) (int, error) {
	switch {
	case a.Int != nil && *a.Int > maxNumber:
		return 0, fmt.Errorf("%d is too large", *a.Int)
	case a.Int != nil:
		return *a.Int, nil
	case a.Expr != nil:
		return a.Expr.eval(vars)
	}
	if v, ok := vars[a.Name]; ok {
		return v, nil
	}
	return 0, fmt.Errorf("%s is no parameter, nor the name in the first end's brackets", a.Name)
}

func apply(op string, v, w int, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	switch {
	case (op == "/" || op == "%") && w <= 0:
		return 0, fmt.Errorf("a division by %d", w)
	case op == "+":
		v += w
	case op == "-":
		v -= w
	case op == "*":
		v *= w
	case op == "/":
		v /= w
	case op == "%":
		v %= w
	}
	if v > maxNumber || v < -maxNumber {
		return 0, fmt.Errorf("%d is too large", v)
	}
	return v, nil
}
