package ir

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"mscclc/ir/diag"
)

// The text form of a ChunkDAG has, after the header, the scratch buffers and
// the operations in their order. A chunk is written as rank:buffer[index], and
// the count stands at the destination:
//
//	scratch gathered 4 line=9 col=1 len=7 ...     its span as in a span line, after the file
//	2:input[0]*2 = 2:input[0] + 1:gathered[3]     ways 2 hint 1 pos 5

// WriteChunks writes the text form of d.
func WriteChunks(w io.Writer, d *ChunkDAG) error {
	return writeText(w, func(b *bufio.Writer) {
		writeHeader(b, "chunks", &d.Header, d.Hints)
		for _, s := range d.Scratch {
			fmt.Fprintf(b, "scratch %s %d", s.Name, s.Chunks)
			if s.Span != (diag.Span{}) {
				fmt.Fprintf(b, " %s line=%d col=%d offset=%d len=%d", quoteWord(s.Span.Filename), s.Span.Line, s.Span.Column, s.Span.Offset, s.Span.Len)
			}
			b.WriteByte('\n')
		}
		var line []byte
		for i := range d.Ops {
			line = d.appendOp(line[:0], &d.Ops[i])
			b.Write(line)
		}
	})
}

func (d *ChunkDAG) appendOp(b []byte, op *ChunkOp) []byte {
	b = d.appendChunk(b, &op.Dst, op.Count)
	for i, src := range d.Sources(op) {
		if i == 0 {
			b = append(b, " = "...)
		} else {
			b = append(b, " + "...)
		}
		b = d.appendChunk(b, &src, 1)
	}
	b = appendField(b, "ways", op.Ways, 1)
	b = appendField(b, "hint", op.Hint, 0)
	b = appendField(b, "pos", op.Pos, -1)
	return append(b, '\n')
}

func (d *ChunkDAG) appendChunk(b []byte, r *Ref, count int32) []byte {
	name := r.Buf.String()
	if i := int(r.Buf) - int(Scratch); i >= 0 && i < len(d.Scratch) {
		name = d.Scratch[i].Name
	}
	b = append(strconv.AppendInt(b, int64(r.Rank), 10), ':')
	return appendRef(b, name, r.Index, count)
}

// appendField writes " name n" unless n is the default.
func appendField(b []byte, name string, n, usual int32) []byte {
	if n == usual {
		return b
	}
	b = append(append(append(b, ' '), name...), ' ')
	return strconv.AppendInt(b, int64(n), 10)
}

// ParseChunks reads the text form of a ChunkDAG. Its error is a diag.List.
func ParseChunks(name string, src []byte) (*ChunkDAG, error) {
	p := &textParser{file: name, rest: string(src)}
	d := &ChunkDAG{}
	if !p.header("chunks", &d.Header, &d.Hints) {
		return nil, p.list.Err()
	}
	bufs := map[string]Buf{Input.String(): Input, Output.String(): Output}
	cells := 0
	for more := p.line != ""; more; more = p.nextLine() {
		if p.take("scratch") {
			cells += p.scratchDecl(d, bufs)
			if cells*d.Coll.Ranks > textCells {
				p.errorf("scratch has more than %d chunks on all ranks", textCells)
			}
		} else {
			p.chunkOp(d, bufs)
		}
		p.end()
	}
	if len(p.list) == 0 {
		p.list = CheckChunks(d)
	}
	if len(p.list) > 0 {
		return nil, p.list
	}
	return d, nil
}

func (p *textParser) scratchDecl(d *ChunkDAG, bufs map[string]Buf) int {
	s := ScratchDecl{Name: p.next()}
	if _, taken := bufs[s.Name]; taken || strings.ContainsAny(s.Name, "[]*:") || s.Name == "" || len(d.Scratch) >= int(NoBuf-Scratch) {
		p.errorf("%q cannot be the name of one more scratch buffer", s.Name)
	}
	s.Chunks = int(p.int(0))
	if p.peek() != "" {
		s.Span = p.span()
	}
	bufs[s.Name] = Scratch + Buf(len(d.Scratch))
	d.Scratch = append(d.Scratch, s)
	return s.Chunks
}

func (p *textParser) chunkOp(d *ChunkDAG, bufs map[string]Buf) {
	op := ChunkOp{Src: int32(len(d.Srcs)), Ways: 1, Pos: -1}
	op.Dst, op.Count = p.chunkRef(bufs)
	for sign := "="; p.take(sign) && !p.bad; sign = "+" {
		src, count := p.chunkRef(bufs)
		if count != 1 {
			p.errorf("the count of an operation stands at its destination")
		}
		d.Srcs = append(d.Srcs, src)
		op.NSrc++
	}
	for p.peek() != "" && !p.bad {
		switch key := p.next(); key {
		case "ways":
			op.Ways = p.int(1)
		case "hint":
			op.Hint = p.int(0)
		case "pos":
			op.Pos = p.int(0)
		default:
			p.errorf("%q is no field of an operation", key)
		}
	}
	d.Ops = append(d.Ops, op)
}

func (p *textParser) chunkRef(bufs map[string]Buf) (Ref, int32) {
	rank, rest, ok := strings.Cut(p.next(), ":")
	if !ok {
		p.errorf("a chunk is written as 2:input[0]")
		return Ref{}, 1
	}
	name, index, count := p.splitRef(rest)
	b, ok := bufs[name]
	if !ok {
		p.errorf("no buffer is named %q", name)
	}
	return Ref{Rank: p.number32(rank, 0), Index: index, Buf: b}, count
}

// CheckChunks reports what is out of range in d. Evaluation and passes rely on
// what it accepts.
func CheckChunks(d *ChunkDAG) diag.List {
	var p Problems
	length := func(r *Ref) int {
		switch {
		case r.Rank < 0 || int(r.Rank) >= d.Coll.Ranks:
			return -1
		case r.Buf == Input:
			return d.Coll.InChunks(int(r.Rank))
		case r.Buf == Output:
			return d.Coll.OutChunks(int(r.Rank))
		case int(r.Buf-Scratch) < len(d.Scratch):
			return d.Scratch[r.Buf-Scratch].Chunks
		}
		return -1
	}
	for i := range d.Ops {
		op := &d.Ops[i]
		bad := func(code diag.Code, format string, args ...any) {
			p.Add(diag.New(code, d.Span(op.Pos), "operation %d "+format, append([]any{i}, args...)...))
		}
		if op.Count < 1 || op.NSrc < 1 || op.Ways < 1 || op.Hint < 0 || int(op.Hint) >= len(d.Hints) || op.Pos < -1 || int(op.Pos) >= len(d.Spans) ||
			op.Src < 0 || int(op.Src)+int(op.NSrc) > len(d.Srcs) {
			bad(diag.Malformed, "has no source, or a count, a hint or a position that does not exist")
			continue
		}
		for k := range op.NSrc + 1 {
			r := &op.Dst
			if k > 0 {
				r = &d.Srcs[op.Src+k-1]
			}
			if n := length(r); r.Index < 0 || int64(r.Index)+int64(op.Count) > int64(n) {
				bad(diag.OutOfBounds, "uses %s, which does not exist", d.appendChunk(nil, r, op.Count))
			}
		}
	}
	return p.Done()
}
