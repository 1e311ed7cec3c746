package channels_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/property"
	"mscclc/ir/text"
	"mscclc/lang"
	"mscclc/lang/langtest"
	"mscclc/lang/syntax"
	"mscclc/passes/channels"
	"mscclc/passes/passestest"
)

// synchronised returns the program of a file at the level of channels, ready to run.
func synchronised(t *testing.T, name, src string, params lang.Params) *ir.ChannelProgram {
	t.Helper()
	f, err := syntax.Parse(name, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	x, err := lang.ExpandLevel(f, lang.Options{Params: params})
	if err != nil {
		t.Fatal(err)
	}
	if x.Channels == nil {
		t.Fatalf("%s is not at the level of channels", name)
	}
	channels.Synchronise(x.Channels)
	return x.Channels
}

// TestSynchronise compares the programs of examples/channels, and one that has every operation, with
// testdata/synchronised: operations are joined and have their block barriers.
func TestSynchronise(t *testing.T) {
	for _, name := range langtest.ChannelFiles(t, "../..") {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		params := lang.Params(langtest.FewRanks(string(src)))
		var got bytes.Buffer
		if err := text.WriteChannels(&got, synchronised(t, name, string(src), params)); err != nil {
			t.Fatal(err)
		}
		langtest.Golden(t, "testdata/synchronised", name, got.Bytes())
	}
}

// TestTable holds that each pass has the name of its file and a line that says what it does.
func TestTable(t *testing.T) {
	var rows []passestest.Row[property.Property]
	for _, p := range channels.Table {
		rows = append(rows, passestest.Row[property.Property]{Name: p.Name, Doc: p.Doc, Required: true})
	}
	passestest.Table(t, 0, rows)
}

// TestBarriers checks where a block has barriers: * stands for a block barrier, and
// each other letter for an operation.
func TestBarriers(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"signal first", "c.signal(tb = 0)", "s"},
		{"signal after a put", "c.put(chunk(0, input, 0), tb = 0)\nc.signal(tb = 0)", "e*s"},
		{"put after a wait", "c.wait(tb = 0)\nc.put(chunk(0, input, 0), tb = 0)", "w*e"},
		{"signal after a wait", "c.wait(tb = 0)\nc.signal(tb = 0)", "w*s"},
		{"relaxed", "c.put(chunk(0, input, 0), tb = 0)\nc.signal(tb = 0, relaxed = true)\nc.wait(tb = 0, relaxed = true)\nc.put(chunk(0, input, 0), tb = 0)", "e*sw*e"},
		{"wait after a put", "c.put(chunk(0, input, 0), tb = 0)\nc.wait(tb = 0)", "ew"},
		{"signals join", "c.signal(tb = 0)\nd.signal(tb = 0)\nd.signal(tb = 0)", "ss"},
		{"read after write", "chunk(0, input, 0).copy(0, a, 0, tb = 0)\nchunk(0, a, 0).copy(0, a, 1, tb = 0)", "m*m"},
		{"write after read", "chunk(0, a, 0).copy(0, a, 1, tb = 0)\nchunk(0, a, 2).copy(0, a, 0, tb = 0)", "m*m"},
		{"write after write", "chunk(0, a, 0).copy(0, a, 2, tb = 0)\nchunk(0, a, 1).copy(0, a, 2, tb = 0)", "m*m"},
		{"read after read", "chunk(0, a, 0).copy(0, a, 1, tb = 0)\nchunk(0, a, 0).copy(0, a, 2, tb = 0)", "mm"},
		{"in place", "chunk(0, output, 0).copy(0, a, 0, tb = 0)\nchunk(0, a, 1).copy(0, input, 0, tb = 0)", "m*m"},
		{"read and write", "chunk(0, input, 0).copy(0, a, 0, tb = 0)\nchunk(0, input, 0).reduce(chunk(0, a, 1), tb = 0)", "m*m"},
		{"other memory", "c.put(chunk(0, input, 0), a, 0, tb = 0)\nd.put(chunk(0, input, 1), a, 0, tb = 0)\nc.get(chunk(1, a, 0), a, 2, tb = 0)", "e*e*e"},
		{"other blocks", "c.put(chunk(0, input, 0), tb = 0)\nc.signal(tb = 1)", "e"},
		{"parts", "chunk(0, input, 0).copy(0, a, 0, tb = [0, 1])\nchunk(0, a, 0).copy(0, a, 1, tb = [0, 1])", "m*m"},
		{"no sync", "c.put(chunk(0, input, 0), tb = 0)\nc.signal(tb = 0, sync = false)\nc.wait(tb = 0, sync = false)\nd.put(chunk(0, input, 1), tb = 0)", "eswe"},
		{"barrier", "c.put(chunk(0, input, 0), tb = 0)\nbarrier(0, [0, 1])\nc.signal(tb = 0)", "ebs"},
		{"barrier of one", "c.put(chunk(0, input, 0), tb = 0)\nbarrier(0, [0])\nc.signal(tb = 0)", "e*s"},
		{"semaphores", "x.acquire(tb = 0)\ny.acquire(tb = 0)\nc.put(chunk(0, input, 0), tb = 0)\nx.release(tb = 0)\ny.release(tb = 0)", "a*e*r"},
		{"ports", "q.put(chunk(0, input, 0), tb = 0)\nq.signal(tb = 0)\nq.flush(tb = 0)\nq.put(chunk(0, input, 0), tb = 0)", "E*e"},
		{"switch", "w.put(chunk(0, input, 0), a, 0, tb = 0)\nchunk(0, a, 0).copy(0, a, 1, tb = 0)\nw.allreduce(chunk(0, a, 1), tb = 0)\nw.get(chunk(0, a, 1), a, 2, tb = 0)", "m*m*m*m"},
		{"loop", "pipeline(unit = 1K, chunks = 1) { c.put(chunk(0, input, 0), tb = 0)\nc.signal(tb = 0) }", "l(e*s)"},
		{"loop iteration to loop iteration", "pipeline(unit = 1K, chunks = 1) { c.signal(tb = 0)\nc.wait(tb = 0) }", "l(*sw)"},
		{"within a loop iteration", "pipeline(unit = 1K, chunks = 1) { chunk(0, a, 0).copy(0, a, 1, tb = 0)\nchunk(0, a, 2).copy(0, a, 0, tb = 0) }", "l(m*m)"},
		{"carried askew", "pipeline(unit = 1K, chunks = 2) { c.put(chunk(0, a, 0, 2), tb = 0)\nd.get(chunk(1, a, 0, 2), a, 1, tb = 0) }", "l(*e*e)"},
		{"loop iterations do other bytes", "pipeline(unit = 1K, chunks = 1) { chunk(0, a, 0).copy(0, a, 1, tb = 0) }", "l(m)"},
		{"after a loop", "pipeline(unit = 1K, chunks = 1) { chunk(0, a, 0).copy(0, a, 1, tb = 0) }\nchunk(0, a, 0).copy(0, a, 1, tb = 0)", "l(m)*m"},
		{"into a loop", "c.wait(tb = 0)\npipeline(unit = 1K, chunks = 1) { c.put(chunk(0, input, 0), tb = 0) }\nc.signal(tb = 0)", "w*l(e)*s"},
	}
	head := `algorithm a()
collective allreduce(2, inplace = true)
scratch a[3]
let c = channel(0, 1)
let d = channel(0, 1)
let q = channel(0, 1, via = port)
let x = semaphore(0)
let y = semaphore(0)
let w = channel(0, [0, 1], via = switch)
for i in 0..2 { channel(1, 0) }
channel(1, 0, via = port)
channel(1, [0, 1], via = switch)
`
	for _, tt := range tests {
		p := synchronised(t, "x.mscl", head+tt.body+"\n", nil)
		if got := letters(p.Ranks[0].Blocks[0]); got != tt.want {
			t.Errorf("%s: %s, not %s", tt.name, got, tt.want)
		}
	}
}

// letters has a letter for each operation.
func letters(ops []ir.ChannelOp) string {
	var out strings.Builder
	for i := range ops {
		out.WriteByte("*bswswfarmeEEl"[ops[i].Kind])
		if ops[i].Body != nil {
			out.WriteString("(" + letters(ops[i].Body) + ")")
		}
	}
	return out.String()
}
