package msccl

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
	"mscclc/ir/form"
)

// Write writes p in t's dialect of MSCCL-IR XML, or refuses what does not
// fit t before it writes a byte. It writes one element at a time, so that memory
// stays bounded, and only what the runtimes' own readers understand: no
// declaration, no tabs, no entities, attributes one space apart.
//
// The format has no place for source positions, final flags, classes, the
// nodes of the ranks, or what a custom collective requires and how long its
// buffers are; roots show only in which rank has the buffer that roots have. An
// operand that an operation lacks is written as the one that it has. A target
// whose chains of reductions are bounded gets hasdep="1" on the last step that
// a chain may take. Sizes without end are left to msccl's default, 128 MiB.
func Write(w io.Writer, p *either.Program, t *codegen.Target) error {
	found := form.Check(p, form.Unbounded)
	if len(found) == 0 {
		found = codegen.CheckLimits(p, t)
	}
	if len(found) > 0 {
		return found
	}
	x := newWriter(bufio.NewWriterSize(w, 1<<16), p.Fifo, t) // CheckLimits refuses a one-sided program
	x.head()
	for rank := range p.Rank {
		x.rank(rank)
	}
	x.out.WriteString("</algo>\n")
	return codegen.WriteError(x.out.Flush()) // which is the first error of all writes
}

type writer struct {
	out     *bufio.Writer
	p       *fifo.Program
	t       *codegen.Target
	custom  bool // the collective goes by the name custom
	divisor int  // nchunksperloop

	// One element of each kind is written again and again with other values.
	algo, gpu, tb, step written
}

// A written is an element of the file, with its attributes in their order. No value needs an entity: safeName sees to
// names, and all others are numbers and words of the format.
type written struct {
	tag   string
	attrs []pair
}

type pair struct{ key, value string }

// add adds an attribute.
func (e *written) add(key, value string) { e.attrs = append(e.attrs, pair{key, value}) }

func newWriter(out *bufio.Writer, p *fifo.Program, t *codegen.Target) *writer {
	_, known := t.Kinds[p.Coll.Kind]
	x := &writer{out: out, p: p, t: t, custom: !known, divisor: divisor(p.Coll, !known)}
	x.algo.tag, x.gpu.tag, x.tb.tag, x.step.tag = "algo", "gpu", "tb", "step"
	for i := range gpuFields {
		x.gpu.add(gpuFields[i].name, "")
	}
	for i := range tbFields {
		x.tb.add(tbFields[i].name, "")
	}
	for i := range stepFields {
		x.step.add(stepFields[i].name, "")
	}
	return x
}

// write writes e after indent: as an empty element, or only its opening tag.
func (x *writer) write(indent string, e *written, empty bool) {
	x.out.WriteString(indent + "<" + e.tag)
	for _, a := range e.attrs {
		x.out.WriteString(" " + a.key + `="`)
		x.out.WriteString(a.value)
		x.out.WriteByte('"')
	}
	if empty {
		x.out.WriteByte('/')
	}
	x.out.WriteString(">\n")
}

func set(e *written, field, value int) { e.attrs[field].value = strconv.Itoa(value) }

// divisor is nchunksperloop: what the elements of a call, times the ranks for
// the collectives that the runtimes multiply, are divided by. They do not
// multiply rooted ones; of a custom collective the caller counts the longest buffer.
func divisor(c *ir.Collective, custom bool) int {
	if !custom && (c.Kind == ir.Gather || c.Kind == ir.Scatter) {
		return c.Chunks
	}
	return c.Divisor()
}

// rooted returns how many bytes, as nccl-tests counts them, stand for each that the
// runtime counts.
func rooted(kind ir.Kind, custom bool, ranks int) int64 {
	if !custom && (kind == ir.Gather || kind == ir.Scatter) {
		return int64(ranks)
	}
	return 1
}

// head writes the <algo> tag.
func (x *writer) head() {
	p, e := x.p, &x.algo
	coll := "custom"
	if !x.custom {
		coll = x.t.Kinds[p.Coll.Kind]
	}
	e.add("name", safeName(p.Name))
	e.add("proto", p.Protocol.String())
	e.add("nchannels", strconv.Itoa(max(p.Channels, 1)))
	e.add("nchunksperloop", strconv.Itoa(x.divisor))
	e.add("ngpus", strconv.Itoa(p.Coll.Ranks))
	e.add("coll", coll)
	x.variant(e)
	x.write("", e, false)
}

// variant writes which calls the file is for.
func (x *writer) variant(e *written) {
	p := x.p
	unit := rooted(p.Coll.Kind, x.custom, p.Coll.Ranks)
	least, most := (p.Sizes.Min+unit-1)/unit, (p.Sizes.Max+unit-1)/unit
	if !x.t.Inclusive {
		e.add("inplace", digit(p.Coll.Inplace))
		if least > 0 || most > 0 {
			e.add("minBytes", strconv.FormatInt(least, 10))
		}
		if most > 0 {
			e.add("maxBytes", strconv.FormatInt(most, 10))
		}
		return
	}
	inplace, outofplace := p.InPlace, p.OutOfPlace
	if !inplace && !outofplace {
		inplace, outofplace = p.Coll.Inplace, !p.Coll.Inplace
	}
	e.add("inplace", digit(inplace))
	e.add("outofplace", digit(outofplace))
	e.add("minBytes", strconv.FormatInt(least, 10))
	e.add("maxBytes", strconv.FormatInt(max(most-1, 0), 10)) // 0 has no end
}

func digit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// safeName makes name one that the runtimes' readers take: they know no
// entities, keep 63 characters, and msccl gives "2D" a meaning of its own.
func safeName(name string) string {
	b := []byte(name)
	for i, c := range b {
		if c < ' ' || c > '~' || strings.IndexByte(`"&<>'`, c) >= 0 {
			b[i] = '_'
		}
	}
	switch s := string(b[:min(len(b), 63)]); s {
	case "":
		return "unnamed"
	case "2D":
		return "2D_"
	default:
		return s
	}
}

// rank writes the <gpu> of rank.
func (x *writer) rank(rank int) {
	c := x.p.Coll
	in, out := c.InChunks(rank), c.OutChunks(rank)
	if x.custom { // the readers want all of nchunksperloop or nothing
		in, out = min(in, 1)*x.divisor, min(out, 1)*x.divisor
	}
	set(&x.gpu, gpuID, rank)
	set(&x.gpu, gpuInput, in)
	set(&x.gpu, gpuOutput, out)
	set(&x.gpu, gpuScratch, x.p.ScratchOf(rank))
	tbs := x.p.TBsOf(rank)
	x.write("  ", &x.gpu, len(tbs) == 0)
	for b := range tbs {
		x.block(rank, b, &tbs[b])
	}
	if len(tbs) > 0 {
		x.out.WriteString("  </gpu>\n")
	}
}

func (x *writer) block(rank, id int, b *ir.TB) {
	set(&x.tb, tbID, id)
	set(&x.tb, tbSend, int(b.SendPeer))
	set(&x.tb, tbRecv, int(b.RecvPeer))
	set(&x.tb, tbChannel, int(b.Channel))
	steps := x.p.StepsOf(b)
	x.write("    ", &x.tb, len(steps) == 0)
	chain := 1
	for i := range steps {
		s := &steps[i]
		hasdep := s.Flags&ir.HasDep != 0
		switch most := x.t.Limits.ReduceChain; {
		case i+1 == len(steps) || !fifo.Chained(s, &steps[i+1]):
			chain = 1
		case most > 0 && chain == most:
			chain, hasdep = 1, true
		default:
			chain++
		}
		x.line(rank, i, s, hasdep)
	}
	if len(steps) > 0 {
		x.out.WriteString("    </tb>\n")
	}
}

// line writes a <step>.
func (x *writer) line(rank, i int, s *ir.Step, hasdep bool) {
	src, dst := x.operand(rank, s.SrcBuf, s.Src), x.operand(rank, s.DstBuf, s.Dst)
	switch { // the readers want both of every step, and look only at what the type has
	case s.Op == ir.Nop:
		src, dst = operand{"i", -1}, operand{"o", -1}
	case s.SrcBuf == ir.NoBuf:
		src = dst
	case s.DstBuf == ir.NoBuf:
		dst = src
	}
	e := &x.step
	set(e, stepS, i)
	e.attrs[stepType].value = s.Op.String()
	e.attrs[stepSrcBuf].value = src.buf
	set(e, stepSrc, src.index)
	e.attrs[stepDstBuf].value = dst.buf
	set(e, stepDst, dst.index)
	set(e, stepCount, int(s.Count))
	set(e, stepDepBlock, int(s.DepBlock))
	set(e, stepDepStep, int(s.DepStep))
	e.attrs[stepHasDep].value = digit(hasdep)
	x.write("      ", e, true)
}

type operand struct {
	buf   string
	index int
}

// operand names chunk index of a buffer as the file does. A custom collective
// in place has its buffers at one address, where a rooted one has them shifted.
func (x *writer) operand(rank int, b ir.Buf, index int32) operand {
	o := operand{"s", int(index)}
	switch b {
	case ir.Input:
		o.buf = "i"
	case ir.Output:
		o.buf = "o"
	default:
		return o
	}
	if x.custom && x.p.Coll.Inplace {
		inOut, outIn := x.p.Coll.Shift(rank)
		switch {
		case inOut > 0 && b == ir.Input:
			return operand{"o", int(index) + inOut}
		case outIn > 0 && b == ir.Output:
			return operand{"i", int(index) + outIn}
		}
	}
	return o
}
