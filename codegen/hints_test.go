package codegen

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/ir/diag"
)

const rootless = `<algo name="a" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="2" coll="reduce" inplace="0">
<gpu id="0" i_chunks="1" o_chunks="0" s_chunks="0"></gpu><gpu id="1" i_chunks="1" o_chunks="0" s_chunks="0"></gpu></algo>`

// TestHints: what is wrong with a file comes with what to do about it.
func TestHints(t *testing.T) {
	every, err := os.ReadFile(filepath.Join("testdata", "mscclpp", "every.json"))
	if err != nil {
		t.Fatal(err)
	}
	op := "gpus/1/threadblocks/0/ops/0/name"
	xml := source(t)
	for _, c := range []struct{ text, want, hint string }{
		{"{\"name\": \"a\",\n}", "invalid character '}'", "remove the comma before this }"},
		{`{"name": "a", "gpus": [1,]}`, "invalid character ']'", "remove the comma before this ]"},
		{`{"name": ]}`, "invalid character ']'", ""},
		{`{"name": "a"`, "unexpected end of JSON input", "the file ends early"},
		{changedText(t, every, "gpus/1/channels", "-"), `key "channels" is missing`, `"channels" is a list, [] if there are none`},
		{changedText(t, every, op, `"send"`), `unknown operation "send"`, "put writes to a peer's buffer through a channel"},
		{changedText(t, every, op, `"putt"`), `unknown operation "putt"`, "did you mean put? the operations are nop,"},
		{changedText(t, every, op, `"xyzzy"`), `unknown operation "xyzzy"`, "the operations are nop,"},
		{strings.Replace(xml, `coll="allreduce"`, `coll="broadcast"`, 1), "2 ranks (0, 1) have an i_chunks above 0", `write i_chunks="0" in the <gpu> of each rank that is not the root`},
		{rootless, "no rank has an o_chunks above 0", "give its <gpu> an o_chunks above 0"},
		{xml[:strings.Index(xml, "</tb>")], "<tb> has no end: the file ends before </tb>", "add what is missing, at least </tb></gpu></algo>"},
		{xml[:strings.Index(xml, "</gpu>")], "<gpu> has no end", "at least </gpu></algo>"},
	} {
		var err error
		if strings.HasPrefix(c.text, "{") {
			_, _, err = ReadMSCCLPP("x", strings.NewReader(c.text), ReadOptions{})
		} else {
			_, err = ReadMSCCL("x", strings.NewReader(c.text), ReadOptions{})
		}
		var list diag.List
		if !errors.As(err, &list) || len(list) == 0 {
			t.Errorf("%.80q is not refused: %v", c.text, err)
			continue
		}
		if d := list[0]; !strings.Contains(d.Text, c.want) || !strings.HasPrefix(d.Hint, c.hint) && !strings.HasSuffix(d.Hint, c.hint) || c.hint == "" && d.Hint != "" {
			t.Errorf("%.80q: %s; hint %q, want %q and %q", c.text, d.Text, d.Hint, c.want, c.hint)
		}
	}
}

// changedText is a plan with the value at a path changed.
func changedText(t *testing.T, plan []byte, path, value string) string {
	t.Helper()
	return string(bytes.TrimSpace(changed(t, plan, path, value)))
}
