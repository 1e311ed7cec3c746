package lsp

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"mscclc/codegen"
	"mscclc/ir/diag"
)

// A snapshot is a version of a document. It does not change. What is found of it is found once.
type snapshot struct {
	uri, path string
	version   int
	text      []byte
	lines     []int // where each line begins, in bytes

	server *Server
	once   sync.Once
	light  *analysis

	proving sync.Once
	proof   *proof // nil until it is made

	meaning sync.Once
	holds   map[int32][]held
}

func newSnapshot(s *Server, uri string, version int, text []byte) *snapshot {
	d := &snapshot{uri: uri, path: pathOf(uri), version: version, text: text, server: s, lines: []int{0}}
	for i, c := range text {
		if c == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	return d
}

// isSource reports whether d is of the language, or of another kind by the ending of its name.
func (d *snapshot) isSource() bool {
	return !d.isMachine() && !codegen.CompiledName(d.path)
}

// isMachine reports whether d describes a machine.
func (d *snapshot) isMachine() bool { return strings.ToLower(filepath.Ext(d.path)) == ".topo" }

// importing reports whether d has a line that imports.
func (d *snapshot) importing() bool {
	for _, at := range d.lines {
		if bytes.HasPrefix(bytes.TrimLeft(d.text[at:], " \t"), []byte("import")) {
			return true
		}
	}
	return false
}

// offset returns where p is in d's text. What is beyond a line is its end, and beyond the text the text's.
func (d *snapshot) offset(p position) int {
	if p.Line < 0 {
		return 0
	}
	if p.Line >= len(d.lines) {
		return len(d.text)
	}
	at, end := d.lines[p.Line], d.lineEnd(p.Line)
	for units := 0; at < end && units < p.Character; {
		r, n := utf8.DecodeRune(d.text[at:end])
		units += unitsOf(r)
		at += n
	}
	return at
}

// lineEnd returns where the text of a line ends, before its newline.
func (d *snapshot) lineEnd(line int) int {
	end := len(d.text)
	if line+1 < len(d.lines) {
		end = d.lines[line+1] - 1
	}
	if end > d.lines[line] && d.text[end-1] == '\r' {
		end--
	}
	return end
}

// unitsOf returns how many units of UTF-16 a character has.
func unitsOf(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}

// position is the inverse of offset.
func (d *snapshot) position(offset int) position {
	offset = max(0, min(offset, len(d.text)))
	line := sort.SearchInts(d.lines, offset+1) - 1
	p := position{Line: line}
	for at := d.lines[line]; at < offset; {
		r, n := utf8.DecodeRune(d.text[at:])
		p.Character += unitsOf(r)
		at += n
	}
	return p
}

// between returns the range from one offset to another.
func (d *snapshot) between(from, to int) textRange {
	return textRange{d.position(from), d.position(to)}
}

// rangeOf returns the range of a span of d. A span without a line is the first line.
func (d *snapshot) rangeOf(s diag.Span) textRange {
	line := max(0, min(s.Line-1, len(d.lines)-1))
	from, end := d.lines[line], d.lineEnd(line)
	if s.Line <= 0 {
		return d.between(from, end)
	}
	from = min(from+max(0, s.Column-1), end)
	return d.between(from, min(from+max(s.Len, 1), max(end, from)))
}

// start returns the offset of a span of d.
func (d *snapshot) start(s diag.Span) int {
	if s.Line < 1 || s.Line > len(d.lines) {
		return 0
	}
	return min(d.lines[s.Line-1]+max(0, s.Column-1), len(d.text))
}

// changed returns d's text with changes, each of which is of the text that those before it leave. A range that ends
// before it begins is empty.
func (d *snapshot) changed(list []change) []byte {
	now := d
	for i := range list {
		c := &list[i]
		if c.Range == nil {
			now = newSnapshot(nil, d.uri, 0, []byte(c.Text))
			continue
		}
		from, to := now.offset(c.Range.Start), now.offset(c.Range.End)
		to = max(from, to)
		text := bytes.Join([][]byte{now.text[:from], []byte(c.Text), now.text[to:]}, nil)
		now = newSnapshot(nil, d.uri, 0, text)
	}
	return now.text
}

// pathOf returns the file that a URI names, or, where it names none, the URI.
func pathOf(uri string) string {
	rest, ok := strings.CutPrefix(uri, "file://")
	if !ok {
		return uri
	}
	if at := strings.IndexByte(rest, '/'); at > 0 {
		rest = rest[at:] // after a host
	}
	var b strings.Builder
	for i := 0; i < len(rest); i++ {
		if rest[i] == '%' && i+2 < len(rest) {
			if c, err := strconv.ParseUint(rest[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(rest[i])
	}
	return b.String()
}

// uriOf returns the URI of a file, or path where it is a URI.
func uriOf(path string) string {
	if !strings.HasPrefix(path, "/") {
		return path
	}
	const safe = "/-._~!$&'()*+,;=:@"
	var b strings.Builder
	b.WriteString("file://")
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || strings.IndexByte(safe, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}
