package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"mscclc/ir/diag"
)

// planText is how plans are read.
var planText = Options{What: "plan", MaxBytes: 1 << 30, MaxMemory: 1 << 16, Smaller: "make it smaller"}

// judgeTokens compares what tokens says of a text with encoding/json: the same texts are good, and the same error
// stands at the same byte, in whatever pieces the text comes.
func judgeTokens(t *testing.T, text []byte) {
	t.Helper()
	var bad *json.SyntaxError
	want := ""
	if err := json.Unmarshal(text, new(json.RawMessage)); errors.As(err, &bad) {
		at := max(0, int(bad.Offset)-1)
		before, what := text[:at], bad.Error()
		// which encoding/json takes for the end of the text
		if strings.HasPrefix(what, "invalid character ' '") && text[at] != ' ' {
			what = "unexpected end of JSON input"
		}
		want = fmt.Sprintf("%d:%d %d plan is no JSON: %s", 1+bytes.Count(before, []byte("\n")),
			at-bytes.LastIndexByte(before, '\n'), at, what)
	} else if !utf8.Valid(text) {
		want = "0:0 0 plan is not in UTF-8"
	}
	for _, s := range []*tokens{newTokens("a", bytes.NewReader(text), planText),
		newTokens("a", iotest.OneByteReader(bytes.NewReader(text)), planText)} {
		got := ""
		var found diag.List
		if err := s.err(); errors.As(err, &found) {
			d := found[0]
			got = fmt.Sprintf("%d:%d %d %s", d.Span.Line, d.Span.Column, d.Span.Offset, d.Text)
		}
		if got != want {
			t.Errorf("of %d bytes %.100q: %s, want %s", len(text), text, got, want)
		}
	}
}

// texts are texts at the edges of JSON.
func texts() []string {
	long := strings.Repeat("x", maxToken-7)
	texts := []string{"", " ", "\n", "{", "{\n", "[\n\n", "null", "nul", "nule", "truE", "true ", "false\n1", "1",
		"-", "-0", "01", "1.", "1.5e", "1.5e+", "1e5x", "[1,]", "[,]", "{,}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1 "b"}`,
		`[1 2]`, `{1:2}`, `"a`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\u1234"`, "\"\x01\"", "\"a\nb\"", "'", "[']",
		`]`, `}`, `[}`, `{]`, "[1]]", "\x80", "\"\x80\"", "\"\xc3\"", "\"\u00e9\u4e16\U0001F600\"",
		"{\"a\" : [ 1 , {} , [] , \"\" ] }\n", "{}\x00", "\v",
		`"` + long + "\u4e16\u4e16\u4e16\u4e16" + long + `"`, `"` + long + "xxxxx\\u12345\\\\" + long + `"`,
		`"` + long + "\U0001F600\U0001F600\xff" + long + `"`,
		strings.Repeat("1", 3*maxToken) + "e" + strings.Repeat("2", maxToken) + " x", strings.Repeat("[", maxDepth),
		strings.Repeat("[", maxDepth+1), strings.Repeat(" \n", maxToken) + "}"}
	return texts
}

func TestTokens(t *testing.T) {
	texts := texts()
	for _, text := range texts {
		judgeTokens(t, []byte(text))
	}
	good := `{"name":"a\u00e9\n","x":[1,-2.5e-3,true,false,null,{"k":[[],{}]}],` + "\n" + ` "y" : "` +
		strings.Repeat("z", 50) + `"}`
	rnd := rand.New(rand.NewSource(1))
	for range 20_000 {
		text := []byte(good)
		for range 1 + rnd.Intn(3) {
			at := rnd.Intn(len(text))
			switch rnd.Intn(4) {
			case 0:
				text = text[:at+1]
			case 1:
				text[at] = `{}[],:"\ u0123456789eE+-.tfn`[rnd.Intn(27)]
			case 2:
				text[at] = byte(rnd.Intn(256))
			case 3:
				text = append(text[:at:at], text[min(len(text), at+1+rnd.Intn(5)):]...)
			}
			if len(text) == 0 {
				break
			}
		}
		judgeTokens(t, text)
	}
}

func FuzzTokens(f *testing.F) {
	for _, text := range texts() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) { // which encoding/json does not take
			judgeTokens(t, text)
		}
	})
}

func TestFields(t *testing.T) {
	var half float64
	var word string
	read := func(text string) error {
		s := NewReader("a", strings.NewReader(text), planText)
		s.Fields(Field{Key: "half", Must: true, Read: func() { half = s.Float(0.5) }},
			Field{Key: "word", Read: func() { word = s.OneOf("yes", "no") }})
		return s.Finish()
	}
	if err := read(`{"word": "no", "half": 5e-1}`); err != nil || half != 0.5 || word != "no" {
		t.Errorf("%g, %s, %v", half, word, err)
	}
	for text, want := range map[string]string{
		`{}`:                        `a:1:1: error: plan: key "half" is missing [malformed]`,
		`{"half": 0.4}`:             `a:1:10: error: half: is 0.4, less than 0.5 [malformed]`,
		`{"half": "1"}`:             `a:1:10: error: half: is "1", not a number [malformed]`,
		`{"half": 1e999}`:           `a:1:10: error: half: is 1e999, more than a number of 64 bits holds [limit]`,
		`{"half": 1, "word": "No"}`: `a:1:21: error: word: is "No", which is none of yes, no [malformed]`,
		`[1, 2]`:                    `a:1:1: error: plan: is [1, 2], not an object [malformed]`,
	} {
		if err := read(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}
