package mscclpp

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/codegen"
	"mscclc/ir/diag"
)

// TestHints: what is wrong with a plan comes with what to do about it.
func TestHints(t *testing.T) {
	every, err := os.ReadFile(filepath.Join("testdata", "every.json"))
	if err != nil {
		t.Fatal(err)
	}
	op := "gpus/1/threadblocks/0/ops/0/name"
	for _, c := range []struct{ text, want, hint string }{
		{"{\"name\": \"a\",\n}", "invalid character '}'", "remove the comma before this }"},
		{`{"name": "a", "gpus": [1,]}`, "invalid character ']'", "remove the comma before this ]"},
		{`{"name": ]}`, "invalid character ']'", ""},
		{`{"name": "a"`, "unexpected end of JSON input", "the file ends early"},
		{changedText(t, every, "gpus/1/channels", "-"), `key "channels" is missing`, `"channels" is a list, [] if there are none`},
		{changedText(t, every, op, `"send"`), `unknown operation "send"`, `"put" writes to a peer's buffer, "signal" tells the peer, and the peer has a "wait"; mscclc compile allgather/allpairs`},
		{changedText(t, every, op, `"putt"`), `unknown operation "putt"`, "did you mean put?"},
		{changedText(t, every, op, `"xyzzy"`), `unknown operation "xyzzy"`, "the operations are nop,"},
	} {
		_, _, err := Read("x", strings.NewReader(c.text), codegen.ReadOptions{})
		var list diag.List
		if !errors.As(err, &list) || len(list) == 0 {
			t.Errorf("%.80q is not refused: %v", c.text, err)
			continue
		}
		if d := list[0]; !strings.Contains(d.Text, c.want) || !strings.HasPrefix(d.Hint, c.hint) &&
			!strings.HasSuffix(d.Hint, c.hint) || c.hint == "" && d.Hint != "" {
			t.Errorf("%.80q: %s; hint %q, want %q and %q", c.text, d.Text, d.Hint, c.want, c.hint)
		}
	}
}

// changedText returns a plan with the value at a path changed.
func changedText(t *testing.T, plan []byte, path, value string) string {
	t.Helper()
	return string(bytes.TrimSpace(changed(t, plan, path, value)))
}
