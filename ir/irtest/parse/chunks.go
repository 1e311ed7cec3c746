package parse

import (
	"strings"

	"mscclc/ir"
	"mscclc/ir/form"
)

func (p *textParser) scratchDecl(d *ir.ChunkDAG, bufs map[string]ir.Buf) int {
	s := ir.ScratchDecl{Name: p.next()}
	if _, taken := bufs[s.Name]; taken || strings.ContainsAny(s.Name, "[]*:") || s.Name == "" ||
		len(d.Scratch) >= int(ir.NoBuf-ir.Scratch) {
		p.errorf("%q cannot be the name of one more scratch buffer", s.Name)
	}
	s.Chunks = int(p.int(0))
	if p.peek() != "" {
		s.Span = p.span()
	}
	bufs[s.Name] = ir.Scratch + ir.Buf(len(d.Scratch))
	d.Scratch = append(d.Scratch, s)
	return s.Chunks
}

func (p *textParser) chunkOp(d *ir.ChunkDAG, bufs map[string]ir.Buf) {
	op := ir.ChunkOp{Src: int32(len(d.Srcs)), Ways: 1, Pos: -1}
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

func (p *textParser) chunkRef(bufs map[string]ir.Buf) (ir.Ref, int32) {
	rank, rest, ok := strings.Cut(p.next(), ":")
	if !ok {
		p.errorf("a chunk is written as 2:input[0]")
		return ir.Ref{}, 1
	}
	name, index, count := p.splitRef(rest)
	b, ok := bufs[name]
	if !ok {
		p.errorf("no buffer is named %q", name)
	}
	return ir.Ref{Rank: p.number32(rank, 0), Index: index, Buf: b}, count
}

// Chunks reads the text form of a ChunkDAG. Its error is a diag.List.
func Chunks(name string, src []byte) (*ir.ChunkDAG, error) {
	p := &textParser{file: name, rest: string(src)}
	d := &ir.ChunkDAG{}
	if !p.header("chunks", &d.Header, &d.Hints) {
		return nil, p.list.Err()
	}
	bufs := map[string]ir.Buf{ir.Input.String(): ir.Input, ir.Output.String(): ir.Output}
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
		p.list = form.CheckChunks(d)
	}
	if len(p.list) > 0 {
		return nil, p.list
	}
	return d, nil
}
