package choose

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/selection"
)

// What is wrong with a table is said with its line and column, its field as the JSON names it, and why.
func TestTableSays(t *testing.T) {
	const entry, rule = "entries[0]", "entries[0].rules[0]"
	for _, c := range []struct{ old, wrong, want string }{
		{`"version": 2`, `"version": 3`, `1:13: error: version: is 3, and this mscclc reads up to 2`},
		{`{"version": 2, `, `{`, `1:1: error: table: key "version" is missing`},
		{`"entries": [`, `"entry": [`, `1:16: error: table: unknown key "entry"`},
		{`"ranks":4`, `"ranks":"4"`, `2:32: error: ` + entry + `.ranks: is "4", not a number`},
		{`"ranks":4`, `"ranks":0`, `2:32: error: ` + entry + `.ranks: is 0, less than 1`},
		{`"ranks":4`, `"ranks":1e999999999`, `not a whole number from 1 to 1024`},
		{`"ranks":4`, `"ranks":4.5`, `not a whole number from 1 to 1024`},
		{`"ranks":4,`, ``, `2:3: error: ` + entry + `: key "ranks" is missing`},
		{`"ranks":4`, `"ranks":4,"ranks":2`, `2:34: error: ` + entry + `: key "ranks" stands twice`},
		{`"ranks":4`, `"Ranks":4`, entry + `: unknown key "Ranks"`},
		{`"device":"Some GPU"`, `"device":""`, entry + `.device: is empty`},
		{`"device":"Some GPU"`, `"device":null`, entry + `.device: is null, not a string`},
		{`"inplace":false`, `"inplace":[[1],{"a":2}]`, entry + `.inplace: is [[1],{"a":2}], not true or false`},
		{`"inplace":false`, `"inplace":false,"element_bytes":3`, entry + `.element_bytes: is 3, and no type has elements of that size`},
		{`"inplace":true,"element_bytes":4`, `"inplace":false`, `5:3: error: entries[1]: is for the same calls as another entry: "allreduce", 4 ranks of "Some GPU"`},
		{`"collective":"allreduce"`, `"collective":"AllReduce"`, entry + `.collective: is "AllReduce", which is none of allreduce, `},
		{`"collective":"allreduce"`, `"collective":"allgather"`, entry + `: rules[0].program is "allreduce/allpairs_onestep", and "collective" "allgather"`},
		{`"collective":"allreduce","inplace":true,"element_bytes":4,"rules":[
    {"program":"allreduce/ring"`, `"collective":"alltoall","inplace":true,"rules":[
    {"program":"alltoall/one_step"`, `entries[1]: alltoall has no in-place form`},
		{`allreduce/ring`, `allreduce/rung`, `4:16: error: entries[0].rules[1].program: is "allreduce/rung", which the catalog does not have`},
		{`allreduce/ring`, `../ring`, `which the catalog does not have`},
		{`allreduce/ring`, `allreduce/hierarchical`, `rules[1].program is "allreduce/hierarchical", which takes nodes and their GPUs`},
		{`"protocol":"LL16"`, `"protocol":"LL17"`, `3:69: error: ` + rule + `.protocol: is "LL17", which is none of Simple, LL, LL16, LL128`},
		{`,"protocol":"LL16"`, ``, rule + `: key "protocol" is missing`},
		{`"up_to":2048`, `"up_to":0`, rule + `.up_to: is 0, less than 1`},
		{`"up_to":2048`, `"up_to":-5`, rule + `.up_to: is -5, not a whole number`},
		{`"up_to":2048,`, ``, `4:5: error: entries[0].rules[1]: is never reached: the rule before it has no "up_to"`},
		{`"up_to":2048`, `"upto":2048`, rule + `: unknown key "upto"`},
		{`{"program":"allreduce/ring","protocol":"Simple"`, `{"up_to":2048,"program":"allreduce/ring","protocol":"Simple"`, `4:14: error: entries[0].rules[1]: is never reached: "up_to" is 2048, and the rule before it is for sizes up to 2048`},
		{`"replicas":2`, `"replicas":2000000000`, rule + `.replicas: is 2000000000, more than 4096 [limit]`},
		{`"threads":512`, `"threads":5000`, `.threads: is 5000, more than 512 [limit]`},
		{`"threads":512`, `"threads":100`, rule + `: has 100 threads, and a block has a multiple of 32`},
		{`"tile":65536`, `"tile":9000000000000`, `.tile: is 9000000000000, more than 1073741824 [limit]`},
		{`"us":4.25`, `"us":-1`, rule + `.us: is -1, less than 0`},
		{`"replicas":2`, `"replicas":2,"sided":"three"`, rule + `.sided: is "three", which is none of one, lowered, two`},
		{`"replicas":2`, `"replicas":2,"sided":"two"`, rule + `: has "replicas": 2, and a two-sided program has no replicas`},
		{`"tile":65536`, `"tile":65536,"via":"port"`, `entries[0]: rules[1].program is "allreduce/ring", with "via": "port", and a port cannot reduce`},
		{`"replicas":2`, `"via":"port"`, rule + `: has "via": "port", which only one-sided programs of protocol Simple have`},
		{`"replicas":2`, `"sided":"two","lanes":4`, rule + `: has "lanes": 4, which only one-sided programs have`},
		{`"tile":65536`, `"tile":65536,"lanes":65`, `entries[0].rules[1].lanes: is 65, more than 64 [limit]`},
		{`"tile":65536`, `"tile":65536,"lanes":0`, `entries[0].rules[1].lanes: is 0, less than 1`},
		{"\n]}\n", "\n", `table is no JSON: unexpected end of JSON input`},
		{"\n]}\n", "\n]} {}", `7:4: error: table is no JSON: invalid character '{' after top-level value`},
		{"\n]}\n", "\n]}\nmore", `8:1: error: table is no JSON: invalid character 'm' after top-level value`},
		{`"rules":[`, `"rules":[,`, `table is no JSON: invalid character ','`},
		{someTable, `[` + someTable + `]`, `1:1: error: table: is [{"version"`},
	} {
		if !strings.Contains(someTable, c.old) {
			t.Fatalf("%s is not there", c.old)
		}
		_, err := ReadTable("t", strings.NewReader(strings.Replace(someTable, c.old, c.wrong, 1)))
		list, _ := err.(diag.List)
		if !slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return strings.Contains(d.Error(), c.want) }) ||
			list[0].Code != diag.Malformed && list[0].Code != diag.Limit {
			t.Errorf("%s: %v, and not %s", c.wrong, err, c.want)
		}
	}
}

// Several faults are all reported, and what search --json has beside the table is passed over.
func TestTableSaysAll(t *testing.T) {
	text := strings.NewReplacer(`"LL16"`, `"LL17"`, `"ranks":4`, `"ranks":[4,{"a":[]}]`, "allreduce/ring",
		"ring").Replace(someTable)
	_, err := ReadTable("t", strings.NewReader(text))
	if list, _ := err.(diag.List); len(list) != 5 {
		t.Errorf("%d faults: %v", len(list), list)
	}
	text = strings.Replace(someTable, `{"version"`,
		`{"schema": 1, "output": "f", "problems": [{"notes": []}], "version"`, 1)
	if _, err := ReadTable("t", strings.NewReader(text)); err != nil {
		t.Error(err)
	}
}

// Whatever is in a file, it is read soon.
func TestTableHostile(t *testing.T) {
	many := func(n int, text func(i int) string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(text(i))
		}
		return b.String()
	}
	rule := `{"program":"allreduce/ring","protocol":"LL"}`
	for name, c := range map[string]struct {
		text string
		good bool
	}{
		"deep":   {`{"version":1,"entries":` + strings.Repeat("[", 1<<22), false},
		"pass":   {`{"problems":` + strings.Repeat("[", 1<<13) + strings.Repeat("]", 1<<13) + `,"version":1,"entries":[]}`, true},
		"fields": {`{` + many(1<<18, func(i int) string { return fmt.Sprintf(`"f%d":0`, i) }) + `}`, false},
		"text":   {`{"version":1,"entries":[{"device":"` + strings.Repeat("\\u0001", 1<<20) + `"}]}`, false},
		"name":   {`{"` + strings.Repeat("x", 1<<20) + `":1}`, false},
		"rules":  {`{"version":1,"entries":[{"device":"d","ranks":2,"collective":"allreduce","rules":[` + many(1<<16, func(i int) string { return fmt.Sprintf(`{"up_to":%d,%s`, i+1, rule[1:]) }) + `]}]}`, true},
		"entries": {`{"version":1,"entries":[` + many(1<<16, func(i int) string {
			return fmt.Sprintf(`{"device":"%x","ranks":2,"collective":"allreduce","rules":[%s]}`, i, rule)
		}) + `]}`, true},
		"nothing": {"", false},
		"endless": {strings.Repeat(" ", selection.MaxBytes) + "  ", false},
	} {
		began := time.Now()
		table, err := ReadTable("t", strings.NewReader(c.text))
		if err == nil {
			DefaultTable().With(table)
		}
		if took := time.Since(began); (err == nil) != c.good || took > 20*time.Second || err != nil &&
			len(err.Error()) > 300 {
			t.Errorf("%s: after %v: %.300v", name, took, err)
		}
	}
	var list diag.List
	if _, err := ReadTable("t", iotest.ErrReader(io.ErrClosedPipe)); !errors.As(err, &list) || list[0].Code != diag.Io {
		t.Error(err)
	}
}

// A rule whose program is not for that number of ranks is reported at its place.
func TestUnfit(t *testing.T) {
	text := strings.Replace(someTable, "allreduce/ring", "allreduce/recursive_halving_doubling", 1)
	table, err := ReadTable("t", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	e, c := &table.Entries[0], &Chooser{}
	if found := c.Unfit(e, Call{Kind: ir.AllReduce, Ranks: 4}, []int64{1 << 20}); len(found) > 0 {
		t.Error(found)
	}
	for _, sizes := range [][]int64{nil, {1 << 20}} { // also where no size has it
		found := c.Unfit(e, Call{Kind: ir.AllReduce, Ranks: 6}, sizes)
		if len(found) != 1 || found[0].Span.Line != 4 || found[0].Code != diag.AssertFailed ||
			!strings.Contains(found[0].Text,
				"recursive_halving_doubling Simple 32x512/64K is not to be had for 6 ranks out of place: ") {
			t.Errorf("%+v", found)
		}
	}
}
