package codegen

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

// judgeTokens compares what jsonTokens says of a text with encoding/json: the same texts are good, and the same error stands at the
// same byte, in whatever pieces the text comes.
func judgeTokens(t *testing.T, text []byte) {
	t.Helper()
	var bad *json.SyntaxError
	want := ""
	if err := json.Unmarshal(text, new(json.RawMessage)); errors.As(err, &bad) {
		at := max(0, int(bad.Offset)-1)
		before, what := text[:at], bad.Error()
		if strings.HasPrefix(what, "invalid character ' '") && text[at] != ' ' { // which encoding/json takes for the end of the text
			what = "unexpected end of JSON input"
		}
		want = fmt.Sprintf("%d:%d %d plan is no JSON: %s", 1+bytes.Count(before, []byte("\n")), at-bytes.LastIndexByte(before, '\n'), at, what)
	} else if !utf8.Valid(text) {
		want = "0:0 0 plan is not in UTF-8"
	}
	for _, s := range []*jsonTokens{newJSONTokens("a", bytes.NewReader(text)), newJSONTokens("a", iotest.OneByteReader(bytes.NewReader(text)))} {
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

// jsonTexts are texts at the edges of JSON.
func jsonTexts() []string {
	long := strings.Repeat("x", maxToken-7)
	texts := []string{"", " ", "\n", "{", "{\n", "[\n\n", "null", "nul", "nule", "truE", "true ", "false\n1", "1", "-", "-0", "01", "1.", "1.5e", "1.5e+", "1e5x", "[1,]", "[,]", "{,}",
		`{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1 "b"}`, `[1 2]`, `{1:2}`, `"a`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\u1234"`, "\"\x01\"", "\"a\nb\"", "'", "[']", `]`, `}`, `[}`, `{]`, "[1]]",
		"\x80", "\"\x80\"", "\"\xc3\"", "\"\u00e9\u4e16\U0001F600\"", "{\"a\" : [ 1 , {} , [] , \"\" ] }\n", "{}\x00", "\v",
		`"` + long + "\u4e16\u4e16\u4e16\u4e16" + long + `"`, `"` + long + "xxxxx\\u12345\\\\" + long + `"`, `"` + long + "\U0001F600\U0001F600\xff" + long + `"`, strings.Repeat("1", 3*maxToken) + "e" + strings.Repeat("2", maxToken) + " x",
		strings.Repeat("[", maxJSONDepth), strings.Repeat("[", maxJSONDepth+1), strings.Repeat(" \n", maxToken) + "}"}
	return texts
}

func TestJSONTokens(t *testing.T) {
	texts := jsonTexts()
	for _, text := range texts {
		judgeTokens(t, []byte(text))
	}
	good := `{"name":"a\u00e9\n","x":[1,-2.5e-3,true,false,null,{"k":[[],{}]}],` + "\n" + ` "y" : "` + strings.Repeat("z", 50) + `"}`
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

func FuzzJSONTokens(f *testing.F) {
	for _, text := range jsonTexts() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) { // which encoding/json does not take
			judgeTokens(t, text)
		}
	})
}

// TestPlanMemory: a plan that would take too much memory is refused where it does, whatever the rest is, unless that is no JSON.
func TestPlanMemory(t *testing.T) {
	defer func(n int64) { maxHeld = n }(maxHeld)
	maxHeld = 1 << 16
	for name, c := range map[string]struct {
		head, over, tail string
		read             func(string) error
	}{
		"operations": {`{"gpus":[{"threadblocks":[`, `{"id":0,"channels":[],"remote_buffer_refs":[],"ops":[{"name":"nop"},{"name":"nop"}]},`, `1]}]}`, readTextMSCCLPP},
		"numbers":    {`{"gpus":[{"channels":[{"connected_to":[`, "1,", `1]}]}]}`, readTextMSCCLPP},
		"names":      {`{"files":[`, `"",`, `1]}`, readTextJSON},
		"positions":  {`{"files":[""],"spans":[`, `[0,0,0,0,0],`, `1]}`, readTextJSON},
		"steps":      {`{"ranks":[{"blocks":[{"steps":[`, `{"op":"nop"},`, `1]}]}]}`, readTextJSON},
		"wants":      {`{"collective":{"require":[`, `{"rank":0,"index":0,"parts":[[0,0]]},`, `1]}}`, readTextJSON},
	} {
		text := c.head + strings.Repeat(c.over, 1<<16) + c.tail
		for end, want := range map[string]string{"": "the plan takes more than 64 KiB of memory up to here, the most that is read", "]": "plan is no JSON"} {
			var found diag.List
			if err := c.read(text + end); !errors.As(err, &found) || len(found) != 1 || !strings.Contains(found[0].Text, want) {
				t.Errorf("%s%s: %v, want %s", name, end, err, want)
			}
		}
	}
}

func readTextMSCCLPP(text string) error {
	_, _, err := ReadMSCCLPP("a.json", strings.NewReader(text), ReadOptions{})
	return err
}

func readTextJSON(text string) error {
	_, err := ReadPlanJSON("a.json", strings.NewReader(text), ReadOptions{})
	return err
}
