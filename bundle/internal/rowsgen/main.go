// Command rowsgen writes runtime/src/bundle/rows_gen.h, the library's side of bundle/rows.go and rows_rule.go: the
// bounds of package bundle/limits, structs for rows, constants, and checks of rows.
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
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"mscclc/algorithms/choose"
	"mscclc/bundle/limits"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/epilogue"
)

func main() {
	out := flag.String("o", "", "the file to write")
	flag.Parse()
	if err := os.WriteFile(*out, header("."), 0o644); err != nil {
		log.Fatal(err)
	}
}

// A writer writes Go as C++. It panics where it cannot.
type writer struct {
	bytes.Buffer
	files  *token.FileSet
	padded map[string]bool // structs with fields that are not used
	locals map[string]bool // names of the function that is written
}

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(w, format, args...) }

func (w *writer) refuse(n ast.Node) string {
	panic(fmt.Sprintf("%s: rowsgen cannot write this as C++", w.files.Position(n.Pos())))
}

// header returns the header of the package bundle in a folder.
func header(bundle string) []byte {
	w := &writer{files: token.NewFileSet(), padded: map[string]bool{}}
	w.printf("// Code generated from package bundle by \"go generate ./bundle\"; DO NOT EDIT.\n" +
		"// Comments have Go's names: RuleRow is bundle_rule, and WhenEager is RULE_EAGER.\n#pragma once\n" +
		"#include \"../../../kernels/abi/rows_onesided.h\"\n#include \"../why.h\"\n\n")
	for _, l := range limits.All {
		w.printf("%-46s // %s\n", fmt.Sprintf("const u64 LIMIT_%s = %dull;", snake(l.Name), l.Value), l.Doc)
	}
	w.printf("enum { BUNDLE_RANKS = LIMIT_RANKS };\n"+
		"static_assert(DT_COUNT == %d && RED_COUNT == %d, \"kernels/abi/rows.h has the types and reductions of Go\");\n",
		data.NumDTypes, data.NumRedOps)
	w.names()
	w.printf("\n// The collectives, as ir.Kind. KIND_NONE is none of them.\nenum {\n")
	var names []string
	for k := range ir.Opaque {
		w.printf("  %s = %d,\n", kind(k), k)
		names = append(names, strconv.Quote(k.String()))
	}
	w.printf("  KIND_COUNT = KIND_CUSTOM,\n  KIND_NONE = 255\n};\n")
	w.table("const char *", "kind_name", "KIND_CUSTOM + 1", `"another"`, names)
	w.kinds("rooted", ir.Kind.Rooted)
	w.kinds("reduces", ir.Kind.Reduces)
	w.kinds("has_in_place", choose.HasInPlace)
	w.stages()
	w.printf("\nbool blank(const void *data, u64 bytes);                // all bytes are 0\n" +
		"bool check_name(const char *name, u64 room, Why *why);  // a text that ends, with zeros after it\n")
	for _, name := range []string{"rows.go", "rows_rule.go"} {
		f, err := parser.ParseFile(w.files, filepath.Join(bundle, name), nil, parser.ParseComments)
		if err != nil {
			log.Fatal(err)
		}
		for _, d := range f.Decls {
			w.declaration(d)
		}
	}
	return w.Bytes()
}

// names writes what element types and reductions are called, and how large types are.
func (w *writer) names() {
	var types, sizes, ops []string
	for _, t := range data.DTypes {
		types, sizes = append(types, strconv.Quote(t.Name)), append(sizes, strconv.Itoa(t.Size))
	}
	for _, name := range data.RedOps {
		ops = append(ops, strconv.Quote(name))
	}
	w.printf("\n// The element types, as data.DTypes, and the reductions: names, or null, and the bytes of an element, or 0.\n")
	w.table("const char *", "dtype_name", "DT_COUNT", "nullptr", types)
	w.table("u32 ", "size_of", "DT_COUNT", "0", sizes)
	w.table("const char *", "redop_name", "RED_COUNT", "nullptr", ops)
}

// table writes a function that finds a value by its number.
func (w *writer) table(typ, name, count, none string, values []string) {
	w.printf("inline %s%s(u32 n) {\n  static %sconst all[%s] = {%s};\n  return n < %s ? all[n] : %s;\n}\n", typ, name, typ,
		count, strings.Join(values, ", "), count, none)
}

// stages writes the table of epilogues: the kinds, the functions and the types of package epilogue.
func (w *writer) stages() {
	w.printf("\n// The stages of epilogues, as package ir/epilogue has them. argument is what their parentheses hold.\n" +
		"struct stage_kind {\n  const char *name, *argument, *value;\n  bool block, last;\n  u8 reads, wants, writes;\n};\n" +
		"enum { STAGE_NOTHING, STAGE_VECTOR, STAGE_ROWS, STAGE_SCALES };\n" +
		"static const stage_kind stage_kinds[] = {\n")
	for _, s := range epilogue.Stages {
		w.printf("    {%q, %q, %q, %t, %t, %d, %d, %d},\n", s.Name, s.Argument, s.Value, s.Block, s.Last, s.Reads, s.Wants, s.Writes)
	}
	w.printf("};\nenum { STAGE_KINDS = %d, STAGE_FUNCTIONS = %d, STAGE_TYPES = %d };\n"+
		"static const char *const stage_functions[] = {", epilogue.NumKinds, epilogue.NumFunctions, len(epilogue.Types))
	for _, name := range epilogue.Functions {
		w.printf("%q, ", name)
	}
	w.printf("};\nstruct stage_type {\n  const char *name;\n  u8 dtype, kind;\n};\nstatic const stage_type stage_types[] = {\n")
	for _, t := range epilogue.Types {
		d, ok := data.DTypeByName(t.Name)
		if !ok {
			log.Fatalf("there is no type %s", t.Name)
		}
		w.printf("    {%q, %d, %d},\n", t.Name, d, t.For)
	}
	w.printf("};\n")
}

func kind(k ir.Kind) string { return "KIND_" + strings.ToUpper(k.String()) }

// kinds writes which collectives have a property.
func (w *writer) kinds(name string, has func(ir.Kind) bool) {
	mask := 0
	for k := range ir.Opaque {
		if has(k) {
			mask |= 1 << k
		}
	}
	w.printf("inline bool kind_%s(u32 kind) { return kind <= KIND_CUSTOM && 0x%xu >> kind & 1; }\n", name, mask)
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
