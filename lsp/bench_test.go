package lsp

import (
	"strings"
	"testing"
)

// BenchmarkHover measures a hover after each change of a document: the file runs anew, and all operations are
// evaluated.
func BenchmarkHover(b *testing.B) {
	s := start(b, nil)
	text := strings.Replace(ring, "ranks = 4", "ranks = 64", 1)
	p := s.open(uri, strings.Replace(text, ".reduce(c)", ".re§duce(c)", 1))
	for b.Loop() {
		s.change(uri, text)
		if _, failure := s.call("textDocument/hover", p); failure != nil {
			b.Fatal(failure)
		}
	}
}
