package mscclpp

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mscclc/codegen"
	"mscclc/codegen/codegentest"
	"mscclc/ir/diag"
)

const (
	planHead  = `{"name":"h","collective":"custom","protocol":"Simple","inplace":false,"gpus":[`
	planGPU   = `{"id":0,"input_chunks":1,"output_chunks":1,"scratch_chunks":1,"channels":[],"remote_buffers":[],"threadblocks":[`
	planBlock = `{"id":0,"channels":[],"ops":[`
	planTail  = `{"name":"nop"}]}]}]}`
)

func TestHostile(t *testing.T) {
	const inBlock, inRank = planHead + planGPU + planBlock, planHead + planGPU
	const tables = `{"id":0,"input_chunks":1,"output_chunks":1,"scratch_chunks":0,"threadblocks":[],`
	const other = `"input_chunks":1,"output_chunks":1,"scratch_chunks":0,"threadblocks":[],"channels":[],"remote_buffers":[]}]}`
	sixtyFour := `"channels":[],"ops":[` + strings.Repeat(`{"name":"nop"},`, 63) + `{"name":"nop"}]}`
	codegentest.JudgeTricks(t, 64, codegentest.Tricks{
		{"deep lists", codegentest.Repeated(`{"x":`, "[", ""), "plan is no JSON"},
		{"deep objects", codegentest.Repeated("", `{"gpus":`, ""), "plan is no JSON"},
		{"deep unknown keys", func(n int) []byte {
			return []byte(`{"x":` + strings.Repeat("[", 9000) + strings.Repeat(" ", n) + strings.Repeat("]", 9000) + "}")
		}, "are missing"},
		{"endless string", codegentest.Repeated(`{"name":"`, "x", ""), "plan is no JSON"},
		{"endless name", codegentest.Repeated(`{"name":"`, "x", `"}`), "is a string of more than"},
		{"endless number", codegentest.Repeated(`{"min_message_size":`, "9", `}`), "more than"},
		{"endless space", codegentest.Repeated("", " \n", "{}"), "are missing"},
		{"one key over and over", codegentest.Repeated("{", `"name":"a",`, `"name":"b"}`), "stands twice"},
		{"unknown keys", codegentest.Numbered("{", `"k%[1]d":0,`, `"z":0}`), "are missing"},
		{"unknown values", codegentest.Repeated(`{"x":[`, `{"name":"nop"},`, `0]}`), "are missing"},
		{"nothing in gpus", codegentest.Repeated(planHead, `{},`, "{}]}"), "are missing"},
		{"operations", codegentest.Repeated(inBlock, `{"name":"nop"},`, planTail), "operation 65"},
		{"operations of nothing", codegentest.Repeated(inBlock, `{},`, planTail), "is missing"},
		{"loops in loops", codegentest.Repeated(inBlock, `{"name":"pipeline","iter_context":{"unit_size":1,"num_chunks":1},"ops":[`, ""), "plan is no JSON"},
		{"operands", codegentest.Repeated(inBlock+`{"name":"put","channel_type":"memory","dst_buff":[],"src_buff":[`,
			`{"type":"i","index":0,"size":1},`, `{"type":"i","index":0,"size":1}]},`+planTail), "operands, where 10 are the most"},
		{"ids", codegentest.Repeated(inRank+`{"id":0,"ops":[],"channels":[{"channel_type":"memory","channel_ids":[`, "0,", "0]}]}]}]}"), "where 16 are the most"},
		{"lists of ids", codegentest.Repeated(inRank+`{"id":0,"ops":[],"channels":[`, `{"channel_type":"memory","channel_ids":[]},`, `{"channel_type":"port","channel_ids":[]}]}]}]}`), "stand twice"},
		{"blocks", codegentest.Numbered(inRank, `{"id":%[1]d,"channels":[],"ops":[]},`, `{"id":0,"ops":[],"channels":[]}]}]}`), "the executor takes the place"},
		{"full blocks", codegentest.Numbered(inRank, `{"id":%[1]d,`+sixtyFour+`,`, `{"id":0,"ops":[],"channels":[]}]}]}`), "the executor takes the place"},
		{"ranks", codegentest.Numbered(planHead,
			`{"id":%[1]d,"input_chunks":1,"output_chunks":1,"scratch_chunks":0,"threadblocks":[],"channels":[],"remote_buffers":[]},`, planGPU+"]}]}"), "ranks, at most 1024 are read"},
		{"channels to itself", codegentest.Repeated(planHead+tables+`"remote_buffers":[],"channels":[{"channel_type":"port","connected_to":[`, "0,", "0]}]}]}"), "port channels, at most 65536 are read"},
		{"connections", codegentest.Repeated(planHead+tables+
			`"remote_buffers":[],"channels":[{"channel_type":"memory","connected_to":[`, "1,", `1]}]},{"id":1,`+other), "memory channels, at most 65536 are read"},
		{"remote buffers", codegentest.Repeated(planHead+tables+`"channels":[],"remote_buffers":[`, `{"rank":0,"type":"i","access_channel_types":["port"]},`, `{"rank":0,"type":"i","access_channel_types":["port"]}]}]}`), "are reached through ports"},
		{"semaphores", codegentest.Repeated(planHead+tables+`"remote_buffers":[],"channels":[],"semaphores":[`, `{"init_value":1},`, `{"init_value":1}]}]}`), ""},
		{"switches", codegentest.Repeated(planHead+tables+
			`"remote_buffers":[],"channels":[{"channel_type":"switch","buffer_type":"i","rank_groups":[`, `{"size":2,"ranks":[0,1]},                    `, `{"size":2,"ranks":[0,1]}]}]},{"id":1,`+other), "the same switch channels"},
	}, func(b []byte) error {
		_, _, err := Read("h.json", bytes.NewReader(b), codegen.ReadOptions{})
		return err
	})
}

// TestHostileNumbers: a short file whose numbers ask for much is refused before anything of their size is made, or read
// within bounds.
func TestHostileNumbers(t *testing.T) {
	every, err := os.ReadFile(filepath.Join("testdata", "swap.json"))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tries := 0
	const op = "gpus/0/threadblocks/0/ops/3/"
	for _, path := range []string{"gpus/0/id", "gpus/0/input_chunks", "gpus/0/output_chunks", "gpus/0/scratch_chunks",
		"gpus/0/channels/0/connected_to/0", "gpus/0/remote_buffers/0/rank", "gpus/0/threadblocks/0/id",
		"gpus/0/threadblocks/0/channels/0/channel_ids/0", op + "src_buff/0/index", op + "src_buff/0/size",
		op + "dst_buff/0/buffer_id", "num_threads_per_block"} {
		for _, value := range []string{"2147483647", "2147483648", "4294967295", "4294967296", "9223372036854775808",
			"18446744073709551616", "-1", "-2147483648", "1e9", "1E400", "0.5", "-0", "null", `"0"`, "[]", "{}", "true",
			"9999999999999999999999999999999999999999"} {
			if _, _, err := Read("h.json", bytes.NewReader(changed(t, every, path, value)), codegen.ReadOptions{}); err == nil {
				t.Errorf("%s = %s was read", path, value)
			}
			tries++
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / uint64(tries); each > 1<<20 {
		t.Errorf("a file of %d bytes makes the reader allocate %d", len(every), each)
	}
}

// TestHostileCuts: no plan that ends early is read.
func TestHostileCuts(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "swap.json"))
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.TrimSpace(text)
	for n := range text {
		if _, _, err := Read("h.json", bytes.NewReader(text[:n]), codegen.ReadOptions{}); err == nil {
			t.Errorf("the first %d bytes were read", n)
		}
	}
	if _, _, err := Read("h.json", bytes.NewReader(append(text, "{}"...)), codegen.ReadOptions{}); err == nil {
		t.Error("what follows the end was read")
	}
}

// TestMemory: a plan that would take too much memory is refused where it does, whatever the rest is, unless that is no
// JSON.
func TestMemory(t *testing.T) {
	for name, c := range map[string]struct{ head, over, tail string }{
		"operations": {`{"gpus":[{"threadblocks":[`, `{"id":0,"channels":[],"remote_buffer_refs":[],"ops":[{"name":"nop"},{"name":"nop"}]},`, `1]}]}`},
		"numbers":    {`{"gpus":[{"channels":[{"connected_to":[`, "1,", `1]}]}]}`},
	} {
		text := c.head + strings.Repeat(c.over, 1<<16) + c.tail
		for end, want := range map[string]string{"": " of memory up to here, the most that is read", "]": "plan is no JSON"} {
			var found diag.List
			_, _, err := Read("a.json", strings.NewReader(text+end), codegen.ReadOptions{MaxFile: 1 + int64(len(text))})
			if !errors.As(err, &found) || len(found) != 1 || !strings.Contains(found[0].Text, want) {
				t.Errorf("%s%s: %v, want %s", name, end, err, want)
			} else if end == "" && found[0].Hint != "--limit file=512M allows more" {
				t.Errorf("%s: hint %q", name, found[0].Hint)
			}
		}
	}
}

// FuzzRead: whatever is read is written and read again as the same plan, and so is what it means; and it can be shown
// and searched for faults.
func FuzzRead(f *testing.F) {
	for _, file := range planFiles(f) {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var short bytes.Buffer
		if err := json.Compact(&short, src); err != nil {
			f.Fatal(err)
		}
		if short.Len() < 1<<13 {
			f.Add(short.Bytes())
			f.Add(bytes.Replace(short.Bytes(), []byte("{"), []byte(`{"colour":1,`), 1))
		}
	}
	opt := codegen.ReadOptions{MaxCells: 1 << 20, MaxMoved: 1 << 20}
	f.Fuzz(func(t *testing.T, src []byte) {
		file, p, err := Read("x.json", bytes.NewReader(src), opt)
		if err != nil {
			return
		}
		Faults(p)
		var b bytes.Buffer
		if err := Write(&b, file); err != nil {
			t.Fatal(err)
		}
		again, q, err := Read("x.json", &b, opt)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(file, again, samePlans); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(p, q, samePrograms); diff != "" {
			t.Fatal(diff)
		}
		made, err := PlanOf(p)
		if err != nil {
			t.Fatal(err)
		}
		if q, err = made.Channels(opt); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, q, samePrograms); diff != "" {
			t.Fatal(diff)
		}
	})
}
