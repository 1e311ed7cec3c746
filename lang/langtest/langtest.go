// Package langtest has what the tests of lang and lang/syntax share.
package langtest

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"mscclc/lang/syntax"

	"github.com/google/go-cmp/cmp"
)

// Programs returns the .mscl files of algorithms/, examples/ and lang/testdata/programs. root is the path of the
// repository's root.
func Programs(t testing.TB, root string) []string {
	var all []string
	for _, dir := range []string{"algorithms/*", "examples", "lang/testdata/programs"} {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.mscl"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, files...)
	}
	if len(all) < 20 {
		t.Fatalf("only %d programs found", len(all))
	}
	return all
}

// sameTree compares trees without their positions and tokens.
func sameTree(a, b *syntax.File) string {
	var x, y strings.Builder
	dump(&x, reflect.ValueOf(a.Stmts))
	dump(&y, reflect.ValueOf(b.Stmts))
	if x.String() == y.String() {
		return ""
	}
	return x.String() + "\n" + y.String()
}

// dump writes a tree as text.
func dump(out *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			out.WriteString("nil")
			return
		}
		dump(out, v.Elem())
	case reflect.Slice:
		out.WriteByte('[')
		for i := range v.Len() {
			dump(out, v.Index(i))
			out.WriteByte(' ')
		}
		out.WriteByte(']')
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[syntax.Node]() {
			return
		}
		out.WriteString(v.Type().Name() + "{")
		for i := range v.NumField() {
			dump(out, v.Field(i))
			out.WriteByte(' ')
		}
		out.WriteByte('}')
	default:
		fmt.Fprintf(out, "%#v", v.Interface())
	}
}

// CheckFormat checks that a formatted file has the same tree and comments and
// is its own format, and returns it.
func CheckFormat(t *testing.T, name string, src []byte) string {
	t.Helper()
	once, err := syntax.Format(name, src)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := syntax.Format(name, once)
	if err != nil {
		t.Fatalf("the format does not parse: %v\n%s", err, once)
	}
	if d := cmp.Diff(string(once), string(twice)); d != "" {
		t.Fatalf("formatting again changes:\n%s", d)
	}
	a, _ := syntax.Parse(name, src)
	b, _ := syntax.Parse(name, once)
	if d := sameTree(a, b); d != "" {
		t.Fatalf("formatting changes the tree:\n%s", d)
	}
	if x, y := comments(a), comments(b); x != y {
		t.Fatalf("formatting changes the comments from\n%s\nto\n%s", x, y)
	}
	return string(once)
}

func comments(f *syntax.File) string {
	var all []string
	for _, t := range f.Tokens {
		if strings.HasPrefix(t.Value, "#") {
			all = append(all, strings.TrimRight(t.Value, " \t"))
		}
	}
	return strings.Join(all, "\n")
}

// ChannelFiles returns the files at the level of channels: the examples, and one with every operation. root is the path
// of the repository's root.
func ChannelFiles(t testing.TB, root string) []string {
	files, err := filepath.Glob(filepath.Join(root, "examples/channels/*.mscl"))
	if err != nil || len(files) < 8 {
		t.Fatal("examples/channels has no programs", err)
	}
	return append(files, filepath.Join(root, "lang/testdata/channels/everything.mscl"))
}

// FewRanks returns parameters of an algorithm in src for few ranks.
func FewRanks(src string) map[string]any {
	if strings.Contains(src, "(nodes") {
		return map[string]any{"nodes": 2, "gpus": 2}
	}
	return map[string]any{"ranks": 3}
}

// Golden compares got with a golden file in folder that is called as the .mscl file name is. MSCCLC_UPDATE rewrites it.
func Golden(t *testing.T, folder, name string, got []byte) {
	t.Helper()
	golden := filepath.Join(folder, strings.TrimSuffix(filepath.Base(name), ".mscl")+".txt")
	if os.Getenv("MSCCLC_UPDATE") != "" {
		if err := os.WriteFile(golden, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s; MSCCLC_UPDATE=1 writes it:\n%s", golden, d)
	}
}
