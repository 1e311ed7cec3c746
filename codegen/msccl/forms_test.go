package msccl

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"mscclc/codegen"
	"mscclc/codegen/codegentest"
	"mscclc/ir/diag"
)

// The tests below hold the reader against a model of the tokeniser that msccl (src/graph/xml.cc) and RCCL
// (src/misc/msccl/msccl_parser.cc) share. The model is of what that code does with each byte.

// An element is what the runtimes keep of one that they know.
type element struct {
	name  string
	attrs map[string]string // the first of each name among the 16 that are kept
}

// A tokeniser goes through a file byte by byte.
type tokeniser struct {
	src string
	at  int
}

// stop is what a token ends at.
const stop = " >/\n\r"

func (k *tokeniser) byte() byte {
	if k.at >= len(k.src) {
		panic("the file ends")
	}
	k.at++
	return k.src[k.at-1]
}

// token reads a name, with a value where one may follow, and returns the byte after it.
func (k *tokeniser) token(valued bool) (name, value string, last byte) {
	for start := k.at; ; {
		c := k.byte()
		switch {
		case c == '=' && !valued:
			panic("a value where there is none")
		case c == '=':
			name = k.src[start : k.at-1]
			if q := k.byte(); q != '"' && q != '\'' {
				panic("no quote")
			}
			from := k.at
			for k.byte() != '"' {
			}
			if value = k.src[from : k.at-1]; len(value) > 255 {
				panic("a value overruns its buffer")
			}
			return name, value, k.byte()
		case k.at-start == 255:
			panic("a long name")
		case strings.IndexByte(stop, c) >= 0:
			return k.src[start : k.at-1], "", c
		}
	}
}

// node reads the next tag: its name, whether it closes or is empty, and what is kept of its attributes.
func (k *tokeniser) node() (e *element, closes, empty bool) {
	for k.at < len(k.src) && strings.IndexByte(" \n\r", k.src[k.at]) >= 0 {
		k.at++
	}
	if k.at == len(k.src) {
		return nil, false, false
	}
	if k.byte() != '<' {
		panic("no <")
	}
	start := k.at
	name, _, last := k.token(false)
	if strings.HasPrefix(name, "!--") {
		end := strings.Index(k.src[start+3:], "-->")
		if end < 0 {
			panic("a comment without end")
		}
		k.at = start + 3 + end + 3
		return k.node()
	}
	if name == "" && last == '/' {
		if name, _, last = k.token(false); last != '>' {
			panic("a closing tag goes on")
		}
		return &element{name: name}, true, false
	}
	e = &element{name, map[string]string{}}
	for slot := 0; last == ' '; slot++ {
		var key, value string
		key, value, last = k.token(true)
		if _, twice := e.attrs[key]; slot < 16 && !twice && key != "" {
			e.attrs[key] = value
		}
	}
	if last == '/' {
		_, _, last = k.token(false)
		empty = true
	}
	if last != '>' {
		panic("a tag goes on")
	}
	return e, false, empty
}

// children has what of an element's content the runtimes keep: those called by the first of names, with theirs below.
func (k *tokeniser) children(parent string, names []string, keep func(element)) {
	for {
		e, closes, empty := k.node()
		switch {
		case e == nil && parent == "":
			return
		case e == nil:
			panic("an element has no end")
		case closes && parent == "":
			panic("a closing tag closes nothing")
		case closes && parent != "?" && e.name != parent:
			panic("another closing tag")
		case closes:
			return
		case len(names) > 0 && e.name == names[0]:
			keep(*e)
			if !empty {
				k.children(e.name, names[1:], keep)
			}
		case parent == "step":
			panic("a step has a child")
		case !empty:
			k.children("?", nil, keep) // whose end's name nobody compares
		}
	}
}

// kept returns the elements that the runtimes keep of src, or why they refuse it.
func kept(src string) (list []element, refusal error) {
	defer func() {
		if r := recover(); r != nil {
			list, refusal = nil, fmt.Errorf("%v", r)
		}
	}()
	k := &tokeniser{src: src}
	k.children("", []string{"algo", "gpu", "tb", "step"}, func(e element) { list = append(list, e) })
	return list, nil
}

// forms are ways to write a file: what is put where, whether the runtimes take it, and what ours says if not.
var forms = []struct{ name, old, new, refused string }{
	{"as it is", "<algo", "<algo", ""},
	{"ElementTree's end", "/>", " />", ""},
	{"a space before >", `chan="0">`, `chan="0" >`, ""},
	{"two spaces", ` type=`, `  type=`, ""},
	{"spaces after the name", `<step `, `<step   `, ""},
	{"spaces at line ends", "/>\n", "/>   \n", ""},
	{"CR at line ends", "\n", "\r\n", ""},
	{"no indentation", "\n    ", "\n", ""},
	{"all on one line", "\n", "", ""},
	{"16 slots", ` type=`, "       type=", ""},
	{"17 slots", ` type=`, "        type=", "loses hasdep"},
	{"17 slots, the last empty", "/>", "       />", ""},
	{"16 attributes", `<step `, `<step a1="" a2="" a3="" a4="" a5="" a6="" `, ""},
	{"17 attributes", `<step `, `<step a1="" a2="" a3="" a4="" a5="" a6="" a7="" `, "loses hasdep"},
	{"17 attributes, the last unknown", `/>`, ` a1="" a2="" a3="" a4="" a5="" a6="" a7=""/>`, ""},
	{"attributes and spaces", `<step `, `<step a1="" a2="" a3="" a4=""    `, "loses hasdep"},
	{"a comment", "<tb", "<!-- a = \"b\" > <c> -- -->\n<tb", ""},
	{"a short comment", "<tb", "<!----><tb", ""},
	{"a comment in a step", `hasdep="0"/>`, `hasdep="0"><!-- c --></step>`, ""},
	{"an end of <step>", `hasdep="0"/>`, `hasdep="0"></step>`, ""},
	{"an unknown element", "<tb", `<copy i_off="0"/><tb`, ""},
	{"an unknown element with others", "<step", `<note a="1"><x><step/></x><y/></note><step`, ""},
	{"an unknown element before", "<algo", "<note/><algo", ""},
	{"an unknown element after", "</algo>", "</algo>\n<note><algo/></note>", ""},
	{"an unknown attribute", `<tb`, `<tb note="é &amp; > '"`, ""},
	{"a name of other letters", `name="pairs"`, `name="é &amp; ü"`, ""},
	{"a comment with = in its first word", "<tb", "<!--a=b--><tb", "a comment with ="},
	{"a comment of one long word", "<tb", "<!--" + strings.Repeat("c", 251) + " --><tb", "a comment whose first word"},
	{"a tab before a tag", "  <gpu", "\t<gpu", "take a tab"},
	{"a tab in a tag", ` type=`, "\ttype=", "a tab or a line end in a tag"},
	{"a line end in a tag", ` type=`, "\ntype=", "a tab or a line end in a tag"},
	{"CR in a tag", ` type=`, "\rtype=", "a tab or a line end in a tag"},
	{"a line end after a space", ` type=`, " \n type=", "a tab or a line end in a tag"},
	{"a line end at a tag's end", `chan="0">`, "chan=\"0\"\n>", "a tab or a line end in a tag"},
	{"a tab at a tag's end", "/>", "\t/>", "a tab or a line end in a tag"},
	{"/ >", "/>", "/ >", "white space stands between / and >"},
	{"</tb >", "</tb>", "</tb >", "white space in a closing tag"},
	{"</tb and a line end", "</tb>", "</tb\n>", "a tab or a line end in a tag"},
	{"</ tb>", "</tb>", "</ tb>", "tag has no name"},
	{"single quotes", `chan="0"`, `chan='0'`, "a value in single quotes"},
	{"spaces around =", `chan="0"`, `chan = "0"`, "white space around ="},
	{"a space after =", `chan="0"`, `chan= "0"`, "white space around ="},
	{"no quotes", `chan="0"`, `chan=0`, "not in quotes"},
	{"no space between attributes", `" chan`, `"chan`, "does not begin after a space"},
	{"a declaration", "<algo", "<?xml version=\"1.0\"?>\n<algo", "an XML declaration"},
	{"a declaration with a space", "<algo", "<?xml version=\"1.0\" ?>\n<algo", "an XML declaration"},
	{"an instruction", "<gpu", "<?go on?><gpu", "no place in a program"},
	{"a document type", "<gpu", "<!DOCTYPE algo><gpu", "no place in a program"},
	{"CDATA", "<gpu", "<![CDATA[x]]><gpu", "no place in a program"},
	{"a byte order mark", "<algo", "\ufeff<algo", "a byte order mark"},
	{"text", "<tb", "text<tb", "text stands between"},
	{"text in an unknown element", "<tb", "<note>text</note><tb", "text stands between"},
	{"a child of <step>", `hasdep="0"/>`, `hasdep="0"><note/></step>`, "stands in a <step>"},
	{"a long name", `<tb`, `<tb ` + strings.Repeat("k", 255) + `="1"`, "a name of more than 254"},
	{"a long element", `<tb`, `<` + strings.Repeat("k", 254) + `/><tb`, "a name of more than 253"},
	{"a long value", `<tb`, `<tb note="` + strings.Repeat("k", 256) + `"`, "a value of more than 255"},
	{"another closing tag", "</tb>", "</td>", "</td> stands where </tb> is due"},
}

// TestForms holds the table, the model and the reader against each other, for both targets.
func TestForms(t *testing.T) {
	for _, name := range []string{"msccl", "rccl"} {
		target := codegentest.Target(t, name)
		var b bytes.Buffer
		if err := Write(&b, codegentest.Pairs(), target); err != nil {
			t.Fatal(err)
		}
		want, err := kept(b.String())
		if err != nil || len(want) < 5 {
			t.Fatalf("the model refuses what Write writes: %v", err)
		}
		for _, c := range forms {
			src := strings.ReplaceAll(b.String(), c.old, c.new)
			if src == b.String() && c.name != "as it is" {
				t.Fatalf("%s: no %q in the file", c.name, c.old)
			}
			got, refusal := kept(src)
			lost := refusal == nil && !sameElements(want, got)
			if (refusal != nil || lost) != (c.refused != "") {
				t.Errorf("%s: the model says %v, and that something is lost: %v", c.name, refusal, lost)
			}
			refused := c.refused
			if c.name == "an unknown element before" && target.Inclusive {
				refused = "in the first element"
			}
			_, err := Read("x.xml", strings.NewReader(src), codegen.ReadOptions{Target: target})
			if (err == nil) != (refused == "") || err != nil && !strings.Contains(err.Error(), refused) {
				t.Errorf("%s for %s: %v, want %q", c.name, name, err, refused)
			}
		}
	}
}

// sameElements reports whether the runtimes find the same in two lists, of what they look at.
func sameElements(a, b []element) bool {
	return slices.EqualFunc(a, b, func(x, y element) bool {
		if x.name != y.name {
			return false
		}
		for key, value := range x.attrs {
			if y.attrs[key] != value && key != "name" {
				return false
			}
		}
		return true
	})
}

// TestFormsRandom: what the reader takes for msccl, the model takes too, and finds the same elements with the same
// attributes in it. Files are changed at random places.
func TestFormsRandom(t *testing.T) {
	target := codegentest.Target(t, "msccl")
	src, taken := source(t), 0
	want, _ := kept(src)
	pieces := []string{" ", "  ", "\n", "\t", "/", ">", "<", "\"", "=", "a", "<a/>", "<a>", "</a>", "<!-- b -->", "<!--=-->",
		` a="1"`, "'", "\r", "          ", "</step>", "&", "é"}
	for seed := range int64(6000) {
		r := rand.New(rand.NewSource(seed))
		text := src
		for range 1 + r.Intn(2) {
			at := r.Intn(len(text) + 1)
			text = text[:at] + pieces[r.Intn(len(pieces))] + text[min(len(text), at+r.Intn(2)):]
		}
		p, err := Read("x.xml", strings.NewReader(text), codegen.ReadOptions{Target: target})
		if err != nil {
			continue
		}
		taken++
		got, refusal := kept(text)
		if refusal != nil || len(p.Steps) != 10 || len(got) != len(want) {
			t.Fatalf("seed %d: %v, %d elements:\n%s", seed, refusal, len(got), text)
		}
		for i, e := range got {
			for key, value := range want[i].attrs {
				if _, there := e.attrs[key]; value != "" && !there {
					t.Fatalf("seed %d: <%s> loses %s:\n%s", seed, e.name, key, text)
				}
			}
		}
	}
	if taken < 100 {
		t.Errorf("only %d files were taken", taken)
	}
}

// TestIgnored: what both runtimes ignore is one warning with counts, and does not change the program.
func TestIgnored(t *testing.T) {
	src := strings.ReplaceAll(source(t), "<tb", `<copy i_off="0"/><tb note="1"`)
	for _, target := range []*codegen.Target{nil, codegentest.Target(t, "msccl")} {
		var warned diag.List
		opt := codegen.ReadOptions{Target: target, Warn: func(d diag.Diagnostic) { warned = append(warned, d) }}
		p, err := Read("x.xml", strings.NewReader(src), opt)
		if err != nil || len(p.Steps) != 10 {
			t.Fatal(err)
		}
		if len(warned) != 1 || warned[0].Code != diag.Ignored || warned[0].Span.Line != 3 ||
			warned[0].Text != "msccl and RCCL ignore <copy> (6 times), attribute note of <tb> (6 times)" || warned.Rejects() {
			t.Errorf("%+v", warned)
		}
	}
	many := strings.Replace(source(t), "<tb", `<n1/><n2/><n3/><n4/><n5/><n5/><tb`, 1)
	opt := codegen.ReadOptions{Warn: func(d diag.Diagnostic) {
		if d.Text != "msccl and RCCL ignore <n1>, <n2>, <n3>, <n4>, 2 more" {
			t.Error(d.Text)
		}
	}}
	if _, err := Read("x.xml", strings.NewReader(many), opt); err != nil {
		t.Error(err)
	}
}

// TestSlips: a name next to a known one, and an unknown one where one is missing, come with a hint.
func TestSlips(t *testing.T) {
	for _, c := range []struct{ old, new, hint string }{
		{`hasdep="0"`, `hasdeps="0"`, "did you mean hasdep?"},
		{`inplace="0"`, `inplace="0" maxbytes="5"`, "did you mean maxBytes?"},
		{`inplace="0"`, `inplace="0" MINBYTES="5"`, "did you mean minBytes?"},
		{"<tb", "<Tb/><tb", "did you mean <tb>?"},
		{"<gpu", "<gpus/><gpu", "did you mean <gpu>?"},
		{`depid="1"`, `depid="1" depid="1"`, "leave one of them out"},
	} {
		_, err := Read("x.xml", strings.NewReader(strings.Replace(source(t), c.old, c.new, 1)), codegen.ReadOptions{})
		var list diag.List
		if !errors.As(err, &list) || !slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Hint == c.hint }) {
			t.Errorf("%s: %v, want the hint %q", c.new, err, c.hint)
		}
	}
}
