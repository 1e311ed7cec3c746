package diag

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func at(file string, line, col, n int) Span {
	return Span{Pos{Filename: file, Line: line, Column: col, Offset: line*1000 + col}, n}
}

func render(t *testing.T, l List, src string, colour bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := Fprint(&b, l, func(string) []byte { return []byte(src) }, colour); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFprint(t *testing.T) {
	src := "scratch gathered[4]\nfor r in 0..4 {\n\tchunk(r, gathered, 2).copy(r, output, 0)\r\n}\n"
	l := List{
		New(Stale, at("ring.mscl", 3, 23, 4), "second"),
		New(Uninitialized, at("ring.mscl", 3, 2, 21), "rank 3 reads gathered[2] before anything writes it").
			WithNote(at("ring.mscl", 1, 1, 7), "gathered is declared here, with 4 chunks").
			WithHint("did you mean gathered[1]?"),
	}
	want := `ring.mscl:3:2: error: rank 3 reads gathered[2] before anything writes it [uninitialized]
    chunk(r, gathered, 2).copy(r, output, 0)
    ^~~~~~~~~~~~~~~~~~~~~
ring.mscl:1:1: note: gathered is declared here, with 4 chunks
    scratch gathered[4]
    ^~~~~~~
  hint: did you mean gathered[1]?
ring.mscl:3:23: error: second [stale]
    chunk(r, gathered, 2).copy(r, output, 0)
                         ^~~~
2 errors
`
	if got := render(t, l, src, false); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := render(t, l, src, true); !strings.Contains(got, "\x1b[1;31merror:\x1b[0m") {
		t.Errorf("no colour in %q", got)
	}
}

func TestFprintBounds(t *testing.T) {
	var many List
	for i := range Shown + 3 {
		many = append(many, New(Kind, at("f", i+1, 1, 1), "e%d", i))
	}
	got := render(t, many, "", false)
	if n := strings.Count(got, "error:"); n != Shown {
		t.Errorf("%d errors shown", n)
	}
	if !strings.HasSuffix(got, fmt.Sprintf("%d errors, 3 more not shown\n", Shown+3)) {
		t.Errorf("ends with %q", got[len(got)-40:])
	}

	long := strings.Repeat("x", 1<<20)
	got = render(t, List{New(Kind, at("f", 1, 1<<19, 1<<18), "deep")}, long, false)
	if len(got) > 600 || !strings.Contains(got, "    ...xxx") || !strings.Contains(got, "^~~~") {
		t.Errorf("excerpt of a long line: %d bytes: %.200q", len(got), got)
	}
	for _, s := range []Span{at("f", 9, 1, 1), at("f", 1, 99, 1), at("f", 1, -4, 1), at("f", 0, 0, 0),
		at("f", 1, 1, -5), {}} {
		if got := render(t, List{New(Kind, s, "odd")}, "ab", false); !strings.Contains(got, "odd [kind]") {
			t.Errorf("%v: %q", s, got)
		}
	}
	if got := render(t, List{New(Kind, Span{}, "a\x1b[2Jb")}, "", false); strings.ContainsRune(got, '\x1b') {
		t.Errorf("control characters reach the terminal: %q", got)
	}
	joined := errors.Join(errors.New("first"), errors.New("error: second\x1b"))
	multi := New(Kind, Span{}, "%v", joined).WithNote(Span{}, "a\nb").WithHint("c\n\nd\n")
	if got := render(t, List{multi}, "", false); got != "error: first\n    error: second\uFFFD [kind]\nnote: a\n    b\n"+
		"  hint: c\n    \n    d\n1 error\n" {
		t.Errorf("an error of several lines is %q", got)
	}
	if got := render(t, List{New(Kind, at("f", 1, 5, 2), "wide")}, "äé\x1bz",
		false); !strings.Contains(got, "    äé\uFFFDz\n      ^~\n") {
		t.Errorf("caret counts characters: %q", got)
	}
}

// Of one code, few are shown that are about steps; a long line that is at fault
// as a whole is not underlined.
func TestFprintSteps(t *testing.T) {
	var many List
	for i := range 2 * ShownOfSteps {
		d := New(Race, at("f", 1, 1, 100), "e%d", i)
		d.Rank, d.Block, d.Step = i, 0, 0
		many = append(many, d)
	}
	got := render(t, append(many, New(Kind, at("f", 1, 1, 80), "other")), strings.Repeat("x", 100), false)
	if strings.Count(got, "[race]") != ShownOfSteps || strings.Count(got, "[kind]") != 1 ||
		!strings.HasSuffix(got, "9 errors, 4 more not shown\n") {
		t.Errorf("got\n%s", got)
	}
	if strings.Count(got, "^") != 1 {
		t.Errorf("underlined:\n%s", got)
	}
	got = render(t, slices.Repeat(List{New(Kind, Span{}, "e")}, Shown), "", false)
	if !strings.HasSuffix(got, "20 errors, and perhaps more\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestJSON(t *testing.T) {
	d := New(Race, at("a.xml", 3, 5, 1), "two <steps>").WithNote(Span{}, "other")
	d.Rank, d.Block, d.Step = 0, 2, 7
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode([]FileReport{Report("a.xml", List{d}), Report("b.xml", nil)}); err != nil {
		t.Fatal(err)
	}
	want := `[
  {
    "file": "a.xml",
    "ok": false,
    "problems": [
      {
        "code": "race",
        "message": "two <steps>",
        "rank": 0,
        "block": 2,
        "step": 7,
        "pos": "a.xml:3:5",
        "notes": [
          {
            "message": "other"
          }
        ]
      }
    ]
  },
  {
    "file": "b.xml",
    "ok": true,
    "problems": []
  }
]
`
	if b.String() != want {
		t.Errorf("got %s", b.String())
	}
}

// Problems of one line that differ in numbers are one, with the ranks; what is of no rank, another line or another text
// stays.
func TestFoldRanks(t *testing.T) {
	var l List
	for _, r := range []int{3, 0, 1, 2, 6} {
		for _, line := range []int{7, 9} {
			d := New(Race, at("f", line, 1, 1), "rank %d block 0 writes", r)
			d.Rank, d.Block, d.Step = r, 0, 0
			if l = append(l, d); r == 2 {
				d.Text = "rank 2 block 0 reads"
				l = append(l, d)
			}
		}
	}
	l = append(l, New(Limit, at("f", 7, 1, 1), "1"), New(Limit, at("f", 7, 1, 1), "2"))
	var got []string
	for _, d := range l.FoldRanks() {
		text := d.Text
		for _, n := range d.Notes {
			text += "; " + n.Text
		}
		got = append(got, text)
	}
	same := "rank 3 block 0 writes; this line has errors like this one on ranks 0 to 3 and 6"
	if want := []string{same, same, "rank 2 block 0 reads", "rank 2 block 0 reads", "1", "2"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// What is said of one block and step on several ranks, at positions of their own or at none, is one diagnostic. Another
// block, another file and a second step of a loop's body stay. One operation's errors are counted.
func TestFoldOperations(t *testing.T) {
	var l List
	add := func(rank, block, step int, span Span, format string, args ...any) {
		d := New(Race, span, format, args...)
		d.Rank, d.Block, d.Step = rank, block, step
		l = append(l, d)
	}
	for _, r := range []int{1, 0, 2, 3} {
		add(r, 0, 4, at("f", 1, 100*r+1, 1), "rank %d op 4 signals", r)
		add(r, 0, 5, at("f", 1, 100*r+8, 1), "rank %d op 5.0 writes", r)
		add(r, 0, 5, at("f", 1, 100*r+9, 1), "rank %d op 5.1 writes", r)
		add(r, 1, -1, FileSpan("f"), "rank %d has 39 channels", r)
	}
	add(0, 1, 4, at("f", 1, 5, 1), "rank 0 op 4 signals")
	add(1, 0, 4, at("g", 1, 1, 1), "rank 1 op 4 signals")
	for n := range 3 {
		add(2, 0, 6, at("f", 1, 300, 1), "rank 2 op 6 reads %d", n)
	}
	add(-1, -1, -1, FileSpan("f"), "nobody's")
	add(-1, -1, -1, FileSpan("f"), "nobody's")
	var got []string
	for _, d := range l.FoldRanks() {
		text := d.Text
		for _, n := range d.Notes {
			text += "; " + n.Span.Pos.String() + " " + n.Text
		}
		got = append(got, text)
	}
	want := []string{
		"rank 0 op 4 signals; f:1:101 ranks 0 to 3 have errors like this one; here is another",
		"rank 0 op 5.0 writes; f:1:108 ranks 0 to 3 have errors like this one; here is another",
		"rank 0 op 5.1 writes; f:1:109 ranks 0 to 3 have errors like this one; here is another",
		"rank 0 has 39 channels;  ranks 0 to 3 have errors like this one",
		"rank 0 op 4 signals", "rank 1 op 4 signals",
		"rank 2 op 6 reads 0;  2 more errors like this one here",
		"nobody's", "nobody's",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestShorten: no value of a file or of the command line makes a message long.
func TestShorten(t *testing.T) {
	long := strings.Repeat("\u00e9", 50_000)
	d := New(Undefined, Span{Pos: Pos{Filename: long, Line: 1, Column: 1}}, "%s is not defined, nor is %q", long,
		long).WithNote(Span{}, "%s", long).WithHint("name %s", long)
	var b strings.Builder
	if err := Fprint(&b, List{d}, nil, false); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if len(line) > 600 || !utf8.ValidString(line) {
			t.Errorf("a line of %d bytes: %.200s", len(line), line)
		}
	}
	for text, want := range map[string]string{"": "", "a b ": "a b ",
		strings.Repeat("word ", 200): strings.Repeat("word ", 200), "a " + strings.Repeat("x", 401) + " b": "a " +
			strings.Repeat("x", 80) + "... (401 bytes) b"} {
		if got := Shorten(text); got != want && got != strings.TrimSuffix(want, " ") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
