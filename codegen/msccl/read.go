package msccl

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/fifo"
)

// Read reads MSCCL-IR XML of either dialect as a stream. Memory grows with
// the bytes read, never with a number in them. Every step keeps its line and
// column. It checks form, bounds and limits and reports up to 20 errors; what
// steps mean together (matching, deadlocks, results) is for ir/verify.
//
// A file with inplace and outofplace both 1 gives a program with both flags,
// whose collective is in place; a custom collective becomes ir.Opaque with each
// rank's buffers as the file says. Sizes are the file's, msccl's default too.
//
// What both runtimes ignore, elements and attributes that they do not know, is one warning to opt.Warn.
func Read(name string, r io.Reader, opt codegen.ReadOptions) (*fifo.Program, error) {
	x := &reader{tagScanner: newTagScanner(name, r), opt: opt, ranks: map[int32]int{}, at: nowhere}
	if t := opt.Target; t != nil && t.Format != codegen.FormatXML {
		x.opt.Target = nil
	}
	if err := x.file(); err != nil { // reading ended there, so what was passed over may be all the file
		x.found = append(x.found, err.(diag.List)...)
	} else {
		x.warn()
	}
	if len(x.found) == 0 {
		x.finish()
	}
	if found := x.found.Folded(); len(found) > 0 {
		return nil, found
	}
	return x.p, nil
}

type reader struct {
	*tagScanner
	opt   codegen.ReadOptions
	found diag.List
	p     *fifo.Program
	head  algoHead
	gpus  []gpuRecord   // in the file's order
	ranks map[int32]int // by rank: its place in gpus
	tbs   []tbRecord    // in the file's order
	v     values
	at    place // of what is being read

	passed passedOver
}

// A place is a rank, a thread block and a step, -1 for none.
type place struct{ rank, block, step int }

var nowhere = place{-1, -1, -1}

type gpuRecord struct {
	id                     int32
	input, output, scratch int32
	tbs                    ir.Range // in the reader's tbs
	span                   diag.Span
}

type tbRecord struct {
	id int32
	ir.TB
	span diag.Span
}

// report notes an error; full says when there are enough.
func (x *reader) report(code diag.Code, span diag.Span, format string, args ...any) *diag.Diagnostic {
	d := diag.New(code, span, format, args...)
	d.Rank, d.Block, d.Step = x.at.rank, x.at.block, x.at.step
	x.found = append(x.found, d)
	return &x.found[len(x.found)-1]
}

func (x *reader) full() bool { return len(x.found) >= diag.MaxUnfolded }

// file reads the whole file. An error is one after which nothing can be made
// of the rest; others are in found.
func (x *reader) file() error {
	t, err := x.first()
	if err != nil {
		return err
	}
	empty := t.empty
	x.algo(t)
	if !empty {
		err = x.children("algo", "gpu", x.gpu)
	}
	for err == nil && !x.full() {
		if t, err = x.next(); err != nil || t == nil {
			return err
		}
		if t.close || x.known(t) != "" {
			return x.fail(t.pos, "<%s> follows the end of <algo>", diag.Clip(t.name))
		}
		err = x.foreign(t, "")
	}
	return err
}

// first returns the tag of <algo>, after elements that msccl ignores.
func (x *reader) first() (*tag, error) {
	var begins error
	for {
		t, err := x.next()
		switch {
		case begins != nil && (err != nil || t == nil || t.close):
			return nil, begins
		case err != nil:
			return nil, err
		case t == nil:
			return nil, x.fail(x.pos(), "the file holds no <algo>")
		case !t.close && string(t.name) == "algo":
			if target := x.opt.Target; begins != nil && target != nil && target.Inclusive {
				x.report(diag.Malformed, t.whole(), "%s looks for the attributes of <algo> in the first element, which this is not",
					target.Name).Hint = "move what stands before it to the end, or leave it out"
			}
			return t, nil
		}
		fail := x.fail(t.pos, "the file begins with <%s>, not <algo>", diag.Clip(t.name))
		if t.close || x.known(t) != "" {
			return nil, fail
		}
		if begins == nil {
			begins = fail
		}
		if x.foreign(t, "") != nil {
			return nil, begins
		}
	}
}

// unended returns the error of a file that ends inside an element.
func (x *reader) unended(start diag.Pos, name string) error {
	ends := map[string]string{"step": "</step></tb></gpu></algo>", "tb": "</tb></gpu></algo>", "gpu": "</gpu></algo>"}
	d := diag.New(diag.Malformed, diag.Span{Pos: start, Len: 1 + len(name)}, "<%s> has no end: the file ends before </%s>",
		name, name)
	return diag.List{d.WithHint("the file may be cut off: produce it again, or add what is missing, at least %s",
		cmp.Or(ends[name], "</"+name+">"))}
}

// children hands each child of parent, all of which are called name, to read,
// until the closing tag or until there are enough errors.
func (x *reader) children(parent, name string, read func(*tag) error) error {
	start := x.tag.pos
	for !x.full() {
		t, err := x.next()
		switch {
		case err != nil:
			return err
		case t == nil:
			return x.unended(start, parent)
		case t.close && string(t.name) == parent:
			return nil
		case t.close:
			return x.fail(t.pos, "</%s> stands where </%s> is due", diag.Clip(t.name), parent)
		case string(t.name) != name:
			err = x.foreign(t, parent)
		default:
			err = read(t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *reader) gpu(t *tag) error {
	empty := t.empty
	x.at = place{len(x.gpus), -1, -1}
	defer func() { x.at = nowhere }()
	g := gpuRecord{span: t.whole(), tbs: ir.Range{First: int32(len(x.tbs)), End: int32(len(x.tbs))}}
	if x.fields(t, gpuFields, &x.v) {
		g.id, g.input, g.output, g.scratch = int32(x.v.num[gpuID]), int32(x.v.num[gpuInput]), int32(x.v.num[gpuOutput]),
			int32(x.v.num[gpuScratch])
		x.at.rank = int(g.id)
		if int64(g.id) >= int64(x.head.ranks) {
			x.report(diag.OutOfBounds, t.span(x.v.attr[gpuID]), "this <gpu> is of rank %d, but %s", g.id, x.ranksText()).Hint =
				"write the id of a rank that has no <gpu> yet, or correct ngpus in <algo>"
		} else if _, twice := x.ranks[g.id]; twice {
			x.report(diag.Malformed, t.span(x.v.attr[gpuID]), "rank %d stands twice", g.id)
		}
		x.ranks[g.id] = len(x.gpus)
	}
	x.gpus = append(x.gpus, g)
	before := len(x.found)
	if !empty {
		if err := x.children("gpu", "tb", x.tb); err != nil {
			return err
		}
	}
	at := &x.gpus[len(x.gpus)-1]
	at.tbs.End = int32(len(x.tbs))
	if len(x.found) == before {
		x.closeGPU(at)
	}
	return nil
}

func (x *reader) tb(t *tag) error {
	g := &x.gpus[len(x.gpus)-1]
	empty := t.empty
	b := tbRecord{span: t.whole()}
	first, before := int32(len(x.p.Steps)), len(x.found)
	x.at.block = len(x.tbs) - int(g.tbs.First)
	defer func() { x.at.block = -1 }()
	if x.fields(t, tbFields, &x.v) {
		b.id = int32(x.v.num[tbID])
		b.Block = ir.Block{Rank: g.id, SendPeer: int32(x.v.num[tbSend]), RecvPeer: int32(x.v.num[tbRecv]),
			Channel: int32(x.v.num[tbChannel])}
		x.peer(t, x.v.attr[tbSend], "sends to", g.id, b.SendPeer)
		x.peer(t, x.v.attr[tbRecv], "receives from", g.id, b.RecvPeer)
		if int(b.Channel) >= x.head.channels {
			x.report(diag.OutOfBounds, t.span(x.v.attr[tbChannel]), "channel %d is beyond the %d of the program", b.Channel,
				x.head.channels)
		}
	}
	b.Steps = ir.Range{First: first, End: first}
	x.tbs = append(x.tbs, b)
	if !empty {
		if err := x.children("tb", "step", x.step); err != nil {
			return err
		}
	}
	at := &x.tbs[len(x.tbs)-1]
	at.Steps.End = int32(len(x.p.Steps))
	if last := int(at.Steps.End) - 1; last >= int(first) && x.p.Steps[last].Op == ir.Nop && len(x.found) == before {
		x.report(diag.Malformed, x.p.Span(x.p.Steps[last].Pos),
			"nop is the last step of its thread block: there is no step that could wait")
	}
	return nil
}

// ranksText says which ranks the file has, and where it says so.
func (x *reader) ranksText() string {
	if x.head.ranks == 1 {
		return `the only rank is 0, since <algo> has ngpus="1"`
	}
	return fmt.Sprintf(`the ranks are 0 to %d, since <algo> has ngpus="%d"`, x.head.ranks-1, x.head.ranks)
}

// peer checks the peer that a block of rank sends to or receives from, as does says.
func (x *reader) peer(t *tag, a *attr, does string, rank, peer int32) {
	switch {
	case int64(peer) >= int64(x.head.ranks):
		x.report(diag.OutOfBounds, t.span(a), "this thread block of rank %d %s rank %d, but %s", rank, does, peer,
			x.ranksText()).Hint =
			fmt.Sprintf("write a rank of these other than %d, or -1 if no step of the thread block %s anyone; or correct ngpus in <algo>", rank, does)
	case peer == rank:
		x.report(diag.Malformed, t.span(a), "rank %d has itself for a peer", rank)
	}
}

// step reads one step of the last block of the last rank. Steps are stored
// with errors too, so that their numbers stay those of the file.
func (x *reader) step(t *tag) error {
	if n := len(x.p.Steps); n == cap(x.p.Steps) { // twice as many: most files are read for their steps
		x.p.Steps, x.p.Spans = slices.Grow(x.p.Steps, n+1), slices.Grow(x.p.Spans, n+1)
	}
	x.at.step = len(x.p.Steps) - int(x.tbs[len(x.tbs)-1].Steps.First)
	defer func() { x.at.step = -1 }()
	x.p.Spans = append(x.p.Spans, t.whole())
	s := ir.Step{SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, DepBlock: -1, DepStep: -1, Pos: int32(len(x.p.Spans) - 1)}
	if x.fields(t, stepFields, &x.v) {
		x.fillStep(t, &s)
	}
	x.p.Steps = append(x.p.Steps, s)
	if t.empty {
		return nil
	}
	return x.children("step", "", nil) // the runtimes take </step>, and nothing before it
}
