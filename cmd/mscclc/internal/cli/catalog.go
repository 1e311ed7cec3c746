package cli

import (
	"path"
	"slices"
	"strings"

	"mscclc/algorithms"
	"mscclc/algorithms/choose"
	"mscclc/files"
	"mscclc/ir/diag"
)

// This file knows what the catalog has.

// CatalogPrograms returns the algorithms of the catalog, without its libraries.
func CatalogPrograms() (names []string) {
	for _, name := range algorithms.Names() {
		if text, err := algorithms.Open(name); err == nil && strings.Contains(string(text), "\nalgorithm ") {
			names = append(names, name)
		}
	}
	return names
}

// AlgorithmsOf returns the catalog's algorithms of a collective, without its libraries.
func AlgorithmsOf(collective string) []string {
	return slices.DeleteFunc(CatalogPrograms(),
		func(name string) bool { return path.Dir(name) != strings.ToLower(collective) })
}

// noLibrary returns the error of compiling a library of the catalog, or nil where s is none.
func (s *Source) noLibrary() error {
	name := path.Clean(strings.TrimSuffix(s.Name, files.LibrarySuffix))
	if !s.Catalog || slices.Contains(CatalogPrograms(), name) {
		return nil
	}
	d := diag.New(diag.Declaration, FileSpan(s.Name), "%s is a library, whose functions other algorithms import", name)
	return diag.List{d.WithHint("name an algorithm of this collective: %s", List(AlgorithmsOf(path.Dir(name))))}
}

// CollectiveNames returns the collectives that bench and select know.
func CollectiveNames() []string {
	var names []string
	for _, k := range choose.Collectives() {
		names = append(names, k.String())
	}
	return names
}

// FirstSentence returns the first sentence of the comment that text begins with, as
// far as a colon or a parenthesis.
func FirstSentence(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !ok || strings.TrimSpace(comment) == "" {
			break
		}
		words = append(words, strings.Fields(comment)...)
	}
	end := slices.IndexFunc(words, func(w string) bool { return strings.HasSuffix(w, ".") || strings.HasSuffix(w, ":") })
	if end >= 0 {
		words = words[:end+1]
	}
	sentence, _, _ := strings.Cut(strings.Join(words, " "), " (")
	return diag.Printable(strings.TrimRight(sentence, ".:"))
}
