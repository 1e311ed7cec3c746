package msccl

import (
	"errors"
	"strings"
	"testing"

	"mscclc/codegen"
	"mscclc/ir/diag"
)

const rootless = `<algo name="a" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="2" coll="reduce" inplace="0">
<gpu id="0" i_chunks="1" o_chunks="0" s_chunks="0"></gpu><gpu id="1" i_chunks="1" o_chunks="0" s_chunks="0"></gpu></algo>`

// TestHints: what is wrong with a file comes with what to do about it.
func TestHints(t *testing.T) {
	xml := source(t)
	for _, c := range []struct{ text, want, hint string }{
		{strings.Replace(xml, `coll="allreduce"`, `coll="broadcast"`, 1), "2 ranks (0, 1) have an i_chunks above 0", `write i_chunks="0" in the <gpu> of each rank that is not the root`},
		{rootless, "no rank has an o_chunks above 0", "give its <gpu> an o_chunks above 0"},
		{xml[:strings.Index(xml, "</tb>")], "<tb> has no end: the file ends before </tb>", "add what is missing, at least </tb></gpu></algo>"},
		{xml[:strings.Index(xml, "</gpu>")], "<gpu> has no end", "at least </gpu></algo>"},
	} {
		_, err := Read("x", strings.NewReader(c.text), codegen.ReadOptions{})
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
