package lang

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/text"

	"github.com/google/go-cmp/cmp"
)

// channelFiles are the files at the level of channels.
func channelFiles(t testing.TB) []string {
	files, err := filepath.Glob("../examples/channels/*.mscl")
	if err != nil || len(files) < 8 {
		t.Fatal("no programs of channels", err)
	}
	return append(files, "testdata/channels/everything.mscl")
}

// checkChannels sees that operands exist, and that channels, semaphores and
// barriers do.
func checkChannels(t *testing.T, p *ir.ChannelProgram) {
	t.Helper()
	for r := range p.Ranks {
		for _, ops := range p.Ranks[r].Blocks {
			for i := range ops {
				checkChannelOp(t, p, r, &ops[i])
				for k := range ops[i].Body {
					checkChannelOp(t, p, r, &ops[i].Body[k])
				}
			}
		}
	}
}

func checkChannelOp(t *testing.T, p *ir.ChannelProgram, rank int, o *ir.ChannelOp) {
	t.Helper()
	own := &p.Ranks[rank]
	ok := p.Span(o.Pos).Line > 0 && o.Part >= 0 && (o.Part < o.Parts || o.Parts == 0) && (o.ID == 0 || o.Kind == ir.ChBarrier)
	for _, c := range o.Channels {
		ok = ok && int(c) < len(own.Channels[o.Type])
	}
	for _, s := range o.Semaphores {
		ok = ok && int(s) < len(own.Semaphores)
	}
	for _, x := range append(o.Srcs[:len(o.Srcs):len(o.Srcs)], o.Dsts...) {
		ranks := []int32{x.Rank}
		if x.Rank == ir.AllRanks {
			c := own.Channels[ir.SwitchChannel][x.Switch]
			ranks, ok = c.Group, ok && c.Buf == x.Buf
		}
		for _, r := range ranks {
			have := [...]int32{p.Ranks[r].In, p.Ranks[r].Out, p.Ranks[r].Scratch}[x.Buf]
			ok = ok && x.Index >= 0 && x.Count > 0 && x.Index+x.Count <= have && x.Count == o.Dsts[0].Count
		}
	}
	if !ok {
		t.Fatalf("rank %d: %s", rank, text.OpText(p, rank, o))
	}
}

// TestChannels expands the programs of channels of the repository, and one that
// has everything, for few ranks; testdata/channels has what comes out.
func TestChannels(t *testing.T) {
	for _, name := range channelFiles(t) {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		checkFormat(t, name, src)
		params := Params{"ranks": 3}
		if strings.Contains(string(src), "(nodes") {
			params = Params{"nodes": 2, "gpus": 2}
		}
		p := mustExpandChannels(t, name, string(src), params)
		if q := mustExpandChannels(t, name, string(src), params); !reflect.DeepEqual(p, q) {
			t.Errorf("%s: two expansions differ", name)
		}
		var got bytes.Buffer
		if err := text.WriteChannels(&got, p); err != nil {
			t.Fatal(err)
		}
		golden := "testdata/channels/" + strings.TrimSuffix(filepath.Base(name), ".mscl") + ".txt"
		if os.Getenv("MSCCLC_UPDATE") != "" {
			if err := os.WriteFile(golden, got.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got.String()); d != "" {
			t.Errorf("%s; MSCCLC_UPDATE=1 go test ./lang writes it:\n%s", golden, d)
		}
	}
}

func mustExpandChannels(t *testing.T, name, src string, params Params) *ir.ChannelProgram {
	t.Helper()
	f, err := Parse(name, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	x, err := ExpandLevel(f, Options{Params: params})
	if err != nil {
		t.Fatal(err)
	}
	if x.Channels == nil || x.Chunks != nil {
		t.Fatalf("%s is no program of channels", name)
	}
	return x.Channels
}

// TestMeets sees where the threads of a block meet: * stands for a meet, and
// each other letter for an operation.
func TestMeets(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"signal first", "c.signal(tb = 0)", "s"},
		{"signal behind a put", "c.put(chunk(0, input, 0), tb = 0)\nc.signal(tb = 0)", "e*s"},
		{"put behind a wait", "c.wait(tb = 0)\nc.put(chunk(0, input, 0), tb = 0)", "w*e"},
		{"signal behind a wait", "c.wait(tb = 0)\nc.signal(tb = 0)", "w*s"},
		{"relaxed", "c.put(chunk(0, input, 0), tb = 0)\nc.signal(tb = 0, relaxed = true)\nc.wait(tb = 0, relaxed = true)\nc.put(chunk(0, input, 0), tb = 0)", "e*sw*e"},
		{"wait behind a put", "c.put(chunk(0, input, 0), tb = 0)\nc.wait(tb = 0)", "ew"},
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
		{"turn to turn", "pipeline(unit = 1K, chunks = 1) { c.signal(tb = 0)\nc.wait(tb = 0) }", "l(*sw)"},
		{"within a turn", "pipeline(unit = 1K, chunks = 1) { chunk(0, a, 0).copy(0, a, 1, tb = 0)\nchunk(0, a, 2).copy(0, a, 0, tb = 0) }", "l(m*m)"},
		{"carried askew", "pipeline(unit = 1K, chunks = 2) { c.put(chunk(0, a, 0, 2), tb = 0)\nd.get(chunk(1, a, 0, 2), a, 1, tb = 0) }", "l(*e*e)"},
		{"turns do other bytes", "pipeline(unit = 1K, chunks = 1) { chunk(0, a, 0).copy(0, a, 1, tb = 0) }", "l(m)"},
		{"behind a loop", "pipeline(unit = 1K, chunks = 1) { chunk(0, a, 0).copy(0, a, 1, tb = 0) }\nchunk(0, a, 0).copy(0, a, 1, tb = 0)", "l(m)*m"},
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
		p := mustExpandChannels(t, "x.mscl", head+tt.body+"\n", nil)
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
