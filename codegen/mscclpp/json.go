package mscclpp

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
)

// A jsonOut writes JSON piece by piece: a key or an element on a line, indented.
type jsonOut struct {
	w     io.Writer
	b     []byte
	depth int
	first bool // nothing is in the object or list yet
	keyed bool // a key stands before what comes
	dense bool // all in one line
	err   error
}

// flush writes what there is where it is more than n bytes.
func (o *jsonOut) flush(n int) {
	if len(o.b) > n {
		if o.err == nil {
			_, o.err = o.w.Write(o.b)
		}
		o.b = o.b[:0]
	}
}

func (o *jsonOut) line() {
	if o.dense {
		return
	}
	const blanks = "\n                                "
	o.b = append(o.b, blanks[:1+2*o.depth]...)
}

// element begins an element, unless it is a key's value.
func (o *jsonOut) element() {
	if o.keyed || o.depth == 0 {
		o.keyed = false
		return
	}
	if !o.first {
		o.b = append(o.b, ',')
	}
	o.first = false
	o.line()
}

func (o *jsonOut) key(k string) *jsonOut {
	o.element()
	o.b = append(append(append(o.b, '"'), k...), `": `...)
	o.keyed = true
	return o
}

func (o *jsonOut) open(c byte) {
	o.element()
	o.b = append(o.b, c)
	o.depth, o.first = o.depth+1, true
}

func (o *jsonOut) close(c byte) {
	o.depth--
	if !o.first {
		o.line()
	}
	o.b = append(o.b, c)
	o.first = false
	o.flush(1 << 16)
}

func (o *jsonOut) int(n int64) {
	o.element()
	o.b = strconv.AppendInt(o.b, n, 10)
}

func (o *jsonOut) uint(n uint64) {
	o.element()
	o.b = strconv.AppendUint(o.b, n, 10)
}

func (o *jsonOut) bool(v bool) {
	o.element()
	o.b = strconv.AppendBool(o.b, v)
}

// word writes a string that needs no escapes, text any.
func (o *jsonOut) word(s string) {
	o.element()
	o.b = append(append(append(o.b, '"'), s...), '"')
}

func (o *jsonOut) text(s string) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil && o.err == nil {
		o.err = err
	}
	o.element()
	o.b = append(o.b, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// list writes a list of n elements.
func (o *jsonOut) list(key string, n int, element func(i int)) {
	o.key(key).open('[')
	for i := range n {
		element(i)
	}
	o.close(']')
}

func (o *jsonOut) ints(list []int32) {
	o.open('[')
	for _, n := range list {
		o.int(int64(n))
	}
	o.close(']')
}
