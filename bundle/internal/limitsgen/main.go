// Command limitsgen writes runtime/src/bundle/limits_gen.h: the bounds of package bundle/limits for the library.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
	"unicode"

	"mscclc/bundle/limits"
)

func main() {
	out := flag.String("o", "", "the file to write")
	flag.Parse()
	if err := os.WriteFile(*out, header(), 0o644); err != nil {
		log.Fatal(err)
	}
}

func header() []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated from package bundle/limits by \"go generate ./bundle/limits\"; DO NOT EDIT.\n")
	b.WriteString("#pragma once\n#include \"../../../kernels/abi/rows.h\"\n\n")
	for _, l := range limits.All {
		fmt.Fprintf(&b, "%-46s // %s\n", fmt.Sprintf("const u64 LIMIT_%s = %dull;", snake(l.Name), l.Value), l.Doc)
	}
	return b.Bytes()
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
