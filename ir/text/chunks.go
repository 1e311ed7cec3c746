package text

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// The text form of a ChunkDAG has, after the header, the scratch buffers and
// the operations in their order. A chunk is written as rank:buffer[index], and
// the count stands at the destination:
//
//	scratch gathered 4 line=9 col=1 len=7 ...     its span as in a span line, after the file
//	2:input[0]*2 = 2:input[0] + 1:gathered[3]     ways 2 hint 1 pos 5

// WriteChunks writes the text form of d.
func WriteChunks(w io.Writer, d *ir.ChunkDAG) error {
	return writeText(w, func(b *bufio.Writer) {
		WriteHeader(b, "chunks", &d.Header, d.Hints)
		for _, s := range d.Scratch {
			fmt.Fprintf(b, "scratch %s %d", s.Name, s.Chunks)
			if s.Span != (diag.Span{}) {
				fmt.Fprintf(b, " %s line=%d col=%d offset=%d len=%d", quoteWord(s.Span.Filename), s.Span.Line, s.Span.Column,
					s.Span.Offset, s.Span.Len)
			}
			b.WriteByte('\n')
		}
		var line []byte
		for i := range d.Ops {
			line = AppendOp(d, line[:0], &d.Ops[i])
			b.Write(line)
		}
	})
}

func AppendOp(d *ir.ChunkDAG, b []byte, op *ir.ChunkOp) []byte {
	b = AppendChunk(d, b, &op.Dst, op.Count)
	for i, src := range d.Sources(op) {
		if i == 0 {
			b = append(b, " = "...)
		} else {
			b = append(b, " + "...)
		}
		b = AppendChunk(d, b, &src, 1)
	}
	b = appendField(b, "ways", op.Ways, 1)
	b = appendField(b, "hint", op.Hint, 0)
	b = appendField(b, "pos", op.Pos, -1)
	return append(b, '\n')
}

func AppendChunk(d *ir.ChunkDAG, b []byte, r *ir.Ref, count int32) []byte {
	name := r.Buf.String()
	if i := int(r.Buf) - int(ir.Scratch); i >= 0 && i < len(d.Scratch) {
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
