package diag

import (
	"bytes"
	"slices"
)

// An Edit puts a text in the place of another, on one line.
type Edit struct {
	Span     Span
	Old, New string
}

// WithFix returns d with the edit that its hint means: word, the text at its span, becomes another. Where the span is
// not just the word, d has none.
func (d Diagnostic) WithFix(word, becomes string) Diagnostic {
	if d.Span.Line > 0 && d.Span.Len == len(word) && word != becomes {
		d.Fix = &Edit{d.Span, word, becomes}
	}
	return d
}

// Apply returns text with e done, or false where another text stands at its place.
func (e *Edit) Apply(text []byte) ([]byte, bool) {
	at := e.Span.Offset
	if at < 0 || at > len(text) || !bytes.HasPrefix(text[at:], []byte(e.Old)) {
		return text, false
	}
	return slices.Concat(text[:at], []byte(e.New), text[at+len(e.Old):]), true
}

// Certain reports whether e mends text, in which judge found list: with e, the problem is gone, and judge finds nothing
// that it did not find before.
func (e *Edit) Certain(text []byte, list List, judge func(text []byte) List) bool {
	mended, ok := e.Apply(text)
	if !ok {
		return false
	}
	after := judge(mended)
	if len(after) >= len(list) {
		return false
	}
	known := map[string]int{}
	for i := range list {
		known[string(list[i].Code)+" "+list[i].Text]++
	}
	for i := range after {
		key := string(after[i].Code) + " " + after[i].Text
		if known[key]--; known[key] < 0 {
			return false
		}
	}
	return true
}

// Mend does the edits of list's diagnostics that are certain for a file's text, and returns which problems these mend.
// judge says what is wrong with a text of the file.
func Mend(file string, text []byte, list List, judge func(text []byte) List) (mended []byte, gone List) {
	for more := true; more; {
		more = false
		for i := range list {
			e := list[i].Fix
			if e == nil || e.Span.Filename != file || !e.Certain(text, list, judge) {
				continue
			}
			gone = append(gone, list[i])
			text, _ = e.Apply(text)
			list, more = judge(text), true
			break
		}
	}
	return text, gone
}
