package lang

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sameTree compares trees without their positions and tokens.
func sameTree(a, b *File) string {
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
		if v.Type() == reflect.TypeFor[Node]() {
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

// checkFormat checks that a formatted file has the same tree and comments and
// is its own format, and returns it.
func checkFormat(t *testing.T, name string, src []byte) string {
	t.Helper()
	once, err := Format(name, src)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := Format(name, once)
	if err != nil {
		t.Fatalf("the format does not parse: %v\n%s", err, once)
	}
	if d := cmp.Diff(string(once), string(twice)); d != "" {
		t.Fatalf("formatting again changes:\n%s", d)
	}
	a, _ := Parse(name, src)
	b, _ := Parse(name, once)
	if d := sameTree(a, b); d != "" {
		t.Fatalf("formatting changes the tree:\n%s", d)
	}
	if x, y := comments(a), comments(b); x != y {
		t.Fatalf("formatting changes the comments from\n%s\nto\n%s", x, y)
	}
	return string(once)
}

func comments(f *File) string {
	var all []string
	for _, t := range f.Tokens {
		if t.Type == tComment {
			all = append(all, strings.TrimRight(t.Value, " \t"))
		}
	}
	return strings.Join(all, "\n")
}

func TestFormatPrograms(t *testing.T) {
	for _, name := range programs(t) {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got := checkFormat(t, name, src)
		squeeze := func(s string) string {
			return regexp.MustCompile(`, ?([)\]])`).ReplaceAllString(strings.Join(strings.Fields(s), " "), "$1")
		}
		if d := cmp.Diff(squeeze(string(src)), squeeze(got)); d != "" {
			t.Errorf("%s: more than blanks and commas changed:\n%s", name, d)
		}
	}
}

func TestFormat(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"blanks", "let  x=a+b*-c\nx=-a - -b\nlet y = ! ( a&&b )[ 0 ] . rank\n", "let x = a + b * -c\nx = -a - -b\nlet y = !(a && b)[0].rank\n"},
		{"ranges", "for i in 0 .. n - 1 by - 2 if i!=3 { f( i ) }\nlet p = c[ 0 .. 2 ]\nsizes 1K .. 1M\n", "for i in 0..n - 1 by -2 if i != 3 { f(i) }\nlet p = c[0..2]\nsizes 1K..1M\n"},
		{"lists", "let x = [ a,b , ]\nfor y in [1,2] { f(x , [1] , [e for e in x],) }\nreturn [ ]\nreturn(3)\n", "let x = [a, b]\nfor y in [1, 2] { f(x, [1], [e for e in x]) }\nreturn []\nreturn (3)\n"},
		{"blocks", "if a {b()}\nelse   {c()}\nif a { b()\nc() }\nelse if d {\n}\n\n\nparallelize (n){}\n", "if a { b() }\nelse { c() }\nif a {\n    b()\n    c()\n} else if d {\n}\n\nparallelize(n) { }\n"},
		{"empty lines", "\n\n# head\n\n\nlet x = 1\n\n\n\nif a {\n\n  b()\n\n\n  # c\n\n}\n\n", "# head\n\nlet x = 1\n\nif a {\n    b()\n\n    # c\n}\n"},
		{"comments", "let x = 1 # one\nlet yy = 2# two  \n\nlet z = 3   # three\n  # four\nif a { # five\n\n b() }\n",
			"let x = 1                                             # one\nlet yy = 2                                            # two\n\nlet z = 3                                             # three\n# four\nif a {                                                # five\n    b()\n}\n"},
		{"long", "f(aaaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb) # long\ng() # short\n",
			"f(aaaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb)    # long\ng()                                                                   # short\n"},
		{"continued", "let x = a +\nb +\n # why\n\nc\nlet y = f(a,\n\n  [1,\n2,\n],\nb)\n.copy(1)\n  .copy(2)\nfor i in 0..2,\nj in 0..3 {\ng()\n}\n",
			"let x = a +\n    b +\n    # why\n    c\nlet y = f(a,\n    [1,\n        2,\n    ],\n    b)\n    .copy(1)\n    .copy(2)\nfor i in 0..2,\n    j in 0..3 {\n    g()\n}\n"},
		{"else", "if a {\n b()\n}\n# no\nelse { c() }\nif a { b() } else { c() }\nif a { b() } # x\nelse { c() }\n", "if a {\n    b()\n}\n# no\nelse { c() }\nif a { b() } else { c() }\nif a { b() }                                          # x\nelse { c() }\n"},
		{"windows", "let x = 1 # a\r\nlet y = 2\r\n", "let x = 1                                             # a\nlet y = 2\n"},
		{"nothing", "", ""},
		{"comment alone", "  # a", "# a\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, checkFormat(t, "x.mscl", []byte(tt.src))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestFormatRejects(t *testing.T) {
	if _, err := Format("x.mscl", []byte("let = 3\n")); err == nil {
		t.Error("a syntax error was formatted")
	}
}
