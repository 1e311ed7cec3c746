package text_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/irtest"
	"mscclc/ir/irtest/parse"
	"mscclc/ir/property"
	"mscclc/ir/text"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// What is left out has the defaults that the form's comment gives.
func TestInstTextDefaults(t *testing.T) {
	d := irtest.Insts(t, `insts two   # a comment
collective allreduce ranks=2 chunks=2 inplace
hint ch=3 pull
span a.mscl line=3 col=5 offset=70 len=4

scratch 1,2
block 0 rank 0 send 1 ch 0
i0 rank 0 s input[1] -> i1 ch 0 block 0 step 0 hint 1 pos 0
i1 rank 1 r scratch[1] <- 0
i3 rank 1 re input[0] => output[0]*2
i2 rank 1 rrc scratch[1] => input[1]*1 deps i1 <- 0 (-)
`)
	want := &ir.InstDAG{
		Header: ir.Header{Name: "two", Coll: &ir.Collective{Kind: ir.AllReduce, Ranks: 2, Chunks: 2, Inplace: true},
			Spans: []diag.Span{{Pos: diag.Pos{Filename: "a.mscl", Offset: 70, Line: 3, Column: 5}, Len: 4}}},
		Hints:   []ir.Hint{ir.NoHint, {Channel: 3, SendTB: -1, RecvTB: -1, Lane: -1, Pull: true}},
		Scratch: []int32{1, 2},
		Blocks:  []ir.Block{{Rank: 0, SendPeer: 1, RecvPeer: -1, Channel: 0}},
		Deps:    ir.Edges{Start: []int32{0, 0, 0, 1, 1}, To: []int32{1}},
		Insts: []ir.Inst{
			{Op: ir.Send, SrcBuf: ir.Input, DstBuf: ir.NoBuf, Rank: 0, Src: 1, Count: 1, Class: 1, SendPeer: 1, RecvPeer: -1, SendMate: 1, RecvMate: -1, Hint: 1},
			{Op: ir.Recv, SrcBuf: ir.NoBuf, DstBuf: ir.Scratch, Rank: 1, Dst: 1, Count: 1, Class: 1, SendPeer: -1, RecvPeer: 0, SendMate: -1, RecvMate: 0, Seq: 1, SendSeq: 1, Pos: -1, Channel: -1, Block: -1, Step: -1},
			{Op: ir.RecvReduceCopy, SrcBuf: ir.Scratch, DstBuf: ir.Input, Rank: 1, Src: 1, Dst: 1, Count: 1, Class: 1, SendPeer: -1, RecvPeer: 0, SendMate: -1, RecvMate: -1, Seq: 3, SendSeq: 3, Pos: -1, Channel: -1, Block: -1, Step: -1},
			{Op: ir.Reduce, SrcBuf: ir.Input, DstBuf: ir.Output, Rank: 1, Count: 2, SendPeer: -1, RecvPeer: -1, SendMate: -1, RecvMate: -1, Seq: 2, SendSeq: 2, Pos: -1, Channel: -1, Block: -1, Step: -1},
		},
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
}

func TestInstTextIsReadable(t *testing.T) {
	d := irtest.RingInsts(2)
	d.Deps = ir.Edges{Start: []int32{0, 0, 0, 0, 1, 1, 1}, To: []int32{2}}
	got := irtest.Written(t, func(w io.Writer) error { return text.WriteInsts(w, d) })
	want := `insts ring
collective allreduce ranks=2 chunks=2 inplace
block 0 rank 0 send 1 recv 1 ch 0
block 1 rank 1 send 0 recv 0 ch 0
i0 rank 0 s input[0] -> i1 seq 0/1 ch 0 block 0 step 0
i1 rank 1 rrcs input[0] <- i0 -> i2 seq 2/3 ch 0 block 1 step 1
i2 rank 0 r input[0] <- i1 seq 4/5 ch 0 block 0 step 2
i3 rank 1 s input[1] -> i4 seq 6/7 ch 0 block 1 step 0 deps i2
i4 rank 0 rrcs input[1] <- i3 -> i5 seq 8/9 ch 0 block 0 step 1
i5 rank 1 r input[1] <- i4 seq 10/11 ch 0 block 1 step 2
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestProgramText(t *testing.T) {
	want := `program "two words"
collective custom ranks=3 chunks=2 in=2 out=1 each=2/1,2/0,0/1
require 2 output[0] = 0 input[1] + 1 input[1]
protocol LL16
sizes 1024..65536
ranks_per_node 3
channels 2
scratch 1,0,2
even
for inplace outofplace
block 0.0 send 1 ch 0
  0 s input[1]
  1 nop dep 1.0
  2 cpy input[0] => scratch[0] dep 1.1
block 0.1 ch 1
  0 cpy input[0] => output[0] hasdep class 1
block 2.0 recv 0 ch 0
  0 rrc scratch[0] => output[0]*2 final
`
	p, err := parse.Program("x", []byte(want))
	if err != nil {
		t.Fatal(err)
	}
	if got := irtest.Written(t, func(w io.Writer) error { return text.WriteProgram(w, p) }); got != want {
		t.Errorf("got\n%s", got)
	}
	if n := len(p.TBsOf(1)); n != 0 || len(p.TBsOf(0)) != 2 || len(p.TBsOf(2)) != 1 {
		t.Errorf("%d blocks on rank 1", n)
	}
}

func TestTextErrors(t *testing.T) {
	const head = "insts a\ncollective allreduce ranks=2 chunks=2\n"
	for _, x := range []struct{ text, want string }{
		{"", `test:1:1: error: a text of this kind begins with "insts"`},
		{"program x", `begins with "insts"`},
		{"insts a\nprotocol LL", "the second line is the collective"},
		{"insts a\ncollective allreduce ranks=0 chunks=1", "test:2:"},
		{"insts a\ncollective allreduce ranks=1048576 chunks=1048576", "more than 67108864 chunks"},
		{"insts a\ncollective opaque ranks=2000000", "1 to 1048576 ranks"},
		{"insts a\ncollective sendrecv ranks=2 chunks=1 peer=0,0", "no permutation"},
		{"insts a\ncollective broadcast ranks=2 chunks=1 root=2", "root is rank 2 of 2"},
		{head + "require 0 output[0] = 0 input[0]", "not custom"},
		{head + "scratch 1,2,3", "3 numbers for 2 ranks"},
		{head + "scratch 1000000000", "more than"},
		{head + "i0 rank 0 jmp input[0]", `test:3:11: error: "jmp" is no operation`},
		{head + "i0 rank 0 s input", `"input" is no chunk`},
		{head + "i0 rank 0 cpy input[0]*2 => output[0]", "count stands at the destination"},
		{head + "i0 rank 0 s heap[0]", "is no buffer"},
		{head + "i0 rank 0 s input[0] -> i7", "the mate of i0 is none of the 1 instructions"},
		{head + "i0 rank 0 cpy input[0] => output[0] deps i9", "i9 is none of the 1"},
		{head + "i0 rank 0 cpy input[0] => output[0] colour 3", `"colour" is no field`},
		{head + "i0 rank 0 s input[0]\ni0 rank 0 s input[0]", "named twice"},
		{head + "i99999999 rank 0 s input[0]", "only 1 instructions"},
		{head + "block 1 rank 0", "this is block 0"},
		{head + "even even", `"even" is more than this line can have`},
		{head + strings.Repeat("x\n", 100), "(and 19 more)"},
	} {
		_, err := parse.Insts("test", []byte(x.text))
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%q: %v, want %s", x.text, err, x.want)
		}
	}
}

// The class that is left out is that of what is received where the operand's index is none, also if what is received
// stands after.
func TestTextClassOfMate(t *testing.T) {
	const want = `insts ""
collective allreduce ranks=1 chunks=3
deps none
i0 rank 0 rrc scratch[0] => input[-1]*0 <- i1 -> i0 seq 1/0 ch 0 block 0 step 0 pos 0
i1 rank 0 s input[2]*0 <- i0 -> i0 seq 0 ch 0 block 0 step 0 pos 0
`
	d, err := parse.Insts("x", []byte(want))
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Insts[0].Class; got != 2 {
		t.Errorf("class %d", got)
	}
	if got := irtest.Written(t, func(w io.Writer) error { return text.WriteInsts(w, d) }); got != want {
		t.Errorf("got\n%s", got)
	}
}

// Text written of anything reads back as the same.
func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, hints := irtest.AnyHeader(t)
		switch rapid.IntRange(0, 2).Draw(t, "form") {
		case 0:
			d := irtest.AnyChunks(t, h, hints)
			roundTrip(t, d, func(w io.Writer) error { return text.WriteChunks(w, d) }, parse.Chunks)
		case 1:
			d := irtest.AnyInsts(t, h, hints)
			roundTrip(t, d, func(w io.Writer) error { return text.WriteInsts(w, d) }, parse.Insts)
		case 2:
			p := irtest.AnyProgram(t, h)
			roundTrip(t, p, func(w io.Writer) error { return text.WriteProgram(w, p) }, parse.Program)
		}
	})
}

func roundTrip[T any](t *rapid.T, x T, write func(io.Writer) error, parse func(string, []byte) (T, error)) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	y, err := parse("x", b.Bytes())
	if err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	if diff := cmp.Diff(x, y, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s\n%s", diff, b.String())
	}
}

func TestShuffledRoundTrip(t *testing.T) {
	d := irtest.RingInsts(5)
	d.Shuffle(rand.New(rand.NewSource(3)))
	back := irtest.Insts(t, irtest.Written(t, func(w io.Writer) error { return text.WriteInsts(w, d) }))
	if diff := cmp.Diff(d, back); diff != "" {
		t.Error(diff)
	}
}

func fuzzText[T any](f *testing.F, kind string, parse func(string, []byte) (T, error), write func(io.Writer, T) error) {
	f.Add([]byte(kind + " a\ncollective allreduce ranks=2 chunks=2\nblock 0 rank 0 send 1 ch 0\ni0 rank 0 s input[0]*2 -> 1 seq 1/2 deps i0\n"))
	f.Add([]byte(kind + " a\ncollective custom ranks=2 chunks=1 in=1 out=1\nrequire 0 output[0] = 1 input[0]\nscratch b 2\n0:b[1] = 1:input[0] + 0:input[0] ways 2\nblock 0.0 ch 1\n  0 nop dep 1.3\n"))
	f.Add([]byte(kind + " a\ncollective allreduce ranks=2 chunks=2\nonesided depth 2\npackets 1\nflags 1,2\nblock 0.0\n  0 mv input[0]@port + all:output[1] -> 1:packets[0]*2 joint\n  1 wait flags[0] x-1 leave\n  2 signal 1:flags[0]\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		x, err := parse("f", src)
		if err != nil {
			if list, ok := err.(diag.List); !ok || len(list) == 0 || len(list) > 200 {
				t.Fatalf("an error that is no list: %v", err)
			}
			return
		}
		var b bytes.Buffer
		if err := write(&b, x); err != nil {
			t.Fatal(err)
		}
		y, err := parse("f", b.Bytes())
		if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		var again bytes.Buffer
		if err := write(&again, y); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Fatalf("%s reads back as %s", b.String(), again.String())
		}
	})
}

func FuzzParseChunks(f *testing.F) { fuzzText(f, "chunks", parse.Chunks, text.WriteChunks) }

func FuzzParseInsts(f *testing.F) {
	fuzzText(f, "insts", func(name string, src []byte) (*ir.InstDAG, error) {
		d, err := parse.Insts(name, src)
		if err == nil && len(d.Insts) < 1000 && d.Memory().Len() < 1<<16 {
			_ = fmt.Sprint(property.Check(d, property.Property(1<<property.NumProperties-1),
				property.Options{Limits: ir.Limits{Target: "x", Steps: 1, Peers: 1, DepBlock: 1}}))
		}
		return d, err
	}, text.WriteInsts)
}

func FuzzParseProgram(f *testing.F) { fuzzText(f, "program", parse.Program, text.WriteProgram) }
