// Command rowsgen writes runtime/src/bundle/rows_gen.h, the library's side of bundle/rows.go and bundle/rows_check.go:
// the bounds of package bundle/limits, structs for rows, constants, and what a row may be.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"strings"
	"unicode"

	"mscclc/algorithms/choose"
	"mscclc/bundle/limits"
	"mscclc/ir"
)

func main() {
	out := flag.String("o", "", "the file to write")
	flag.Parse()
	text, err := header(".")
	if err == nil {
		err = os.WriteFile(*out, text, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// header returns the header of the package bundle in a folder.
func header(bundle string) (text []byte, err error) {
	w := &writer{files: token.NewFileSet(), padded: map[string]bool{}, names: map[string]string{}}
	defer func() {
		if r, ok := recover().(refusal); ok {
			err = r
		}
	}()
	w.printf("// Code generated from package bundle by \"go generate ./bundle\"; DO NOT EDIT.\n#pragma once\n" +
		"#include \"../../../kernels/abi/ops_gen.h\"\n#include \"../../../kernels/abi/rows_onesided.h\"\n#include \"../why.h\"\n\n")
	for _, l := range limits.All {
		w.printf("%-46s // %s\n", fmt.Sprintf("const u64 LIMIT_%s = %dull;", snake(l.Name), l.Value), l.Doc)
	}
	w.printf("enum { BUNDLE_RANKS = LIMIT_RANKS };\n")
	w.kinds()
	w.printf("\nbool blank(const void *data, u64 bytes);                 // all bytes are 0\n" +
		"bool check_name(const char *name, u64 room, Why *why);  // a text that ends, with zeros behind it\n")
	var decls []ast.Decl
	for _, name := range []string{"rows.go", "rows_check.go"} {
		f, err := parser.ParseFile(w.files, bundle+"/"+name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		decls = append(decls, f.Decls...)
	}
	for _, d := range decls {
		w.note(d)
	}
	for _, d := range decls {
		w.decl(d)
	}
	return w.out.Bytes(), nil
}

// kinds writes the collectives and what rules need to know of them.
func (w *writer) kinds() {
	w.printf("\n// The collectives, as ir.Kind. KIND_NONE is none of them.\nenum {")
	for k := range ir.Opaque {
		w.printf(" KIND_%s = %d,", strings.ToUpper(k.String()), k)
	}
	w.printf("\n  KIND_COUNT = KIND_CUSTOM, KIND_NONE = 255 };\n")
	w.printf("inline const char *kind_name(u32 kind) {\n  static const char *const names[] = {")
	for k := range ir.Opaque {
		w.printf("\"%v\", ", k)
	}
	w.printf("};\n  return kind <= KIND_CUSTOM ? names[kind] : \"another\";\n}\n")
	w.printf("inline bool kind_rooted(u32 kind) { return kind <= KIND_CUSTOM && 0x%xu >> kind & 1; }\n", mask(ir.Kind.Rooted))
	w.printf("inline bool kind_has_in_place(u32 kind) { return kind <= KIND_CUSTOM && 0x%xu >> kind & 1; }\n",
		mask(choose.HasInPlace))
}

// mask returns a bit for each collective.
func mask(has func(ir.Kind) bool) (m uint32) {
	for k := range ir.Opaque {
		if has(k) {
			m |= 1 << k
		}
	}
	return m
}

// A writer writes declarations of Go as C++.
type writer struct {
	files  *token.FileSet
	out    bytes.Buffer
	padded map[string]bool // structs with fields that are not used
	names  map[string]string
	locals map[string]bool // names of the function that is written
}

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(&w.out, format, args...) }

// A refusal is the error for Go that rowsgen cannot write as C++.
type refusal string

func (r refusal) Error() string { return string(r) }

func (w *writer) refuse(n ast.Node, what string) {
	panic(refusal(fmt.Sprintf("%s: rowsgen writes no such %s", w.files.Position(n.Pos()), what)))
}

// snake turns PartAlign into PART_ALIGN, and CTAs into CTAS.
func snake(s string) string {
	var b strings.Builder
	lower := false
	for _, r := range s {
		if lower && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}
