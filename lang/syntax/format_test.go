package syntax_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"mscclc/lang/langtest"
	"mscclc/lang/syntax"

	"github.com/google/go-cmp/cmp"
)

func TestFormatPrograms(t *testing.T) {
	for _, name := range langtest.Programs(t, "../..") {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got := langtest.CheckFormat(t, name, src)
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
			if d := cmp.Diff(tt.want, langtest.CheckFormat(t, "x.mscl", []byte(tt.src))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestFormatRejects(t *testing.T) {
	if _, err := syntax.Format("x.mscl", []byte("let = 3\n")); err == nil {
		t.Error("a syntax error was formatted")
	}
}
