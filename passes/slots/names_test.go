package slots_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"mscclc/codegen"
	"mscclc/codegen/msccl"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/replay"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
	"mscclc/passes/slots"

	"mscclc"
)

// crossed hangs: both ranks receive before they send.
const crossed = `<algo name="crossed" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="alltoall" inplace="0" outofplace="1">
  <gpu id="0" i_chunks="2" o_chunks="2" s_chunks="1">
    <tb id="0" send="1" recv="1" chan="0">
      <step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="s" srcbuf="i" srcoff="1" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
    <tb id="1" send="-1" recv="-1" chan="0">
      <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="2" o_chunks="2" s_chunks="1">
    <tb id="0" send="0" recv="0" chan="0">
      <step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
    <tb id="1" send="-1" recv="-1" chan="0">
      <step s="0" type="cpy" srcbuf="i" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
`

// read reads XML.
func read(t *testing.T, text string) *either.Program {
	t.Helper()
	p, err := msccl.Read("crossed.xml", strings.NewReader(text), codegen.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return either.OfFifo(p)
}

// TestNames holds that the proof, a replay and a time-out of a lowered program name steps and lines of the XML.
func TestNames(t *testing.T) {
	g, err := slots.Lower(read(t, crossed).Fifo, slots.Options{})
	if err != nil {
		t.Fatal(err)
	}
	report, found := verify.Check(either.OfOneSided(g), verify.Options{})
	if len(found) != 1 || found[0].Code != diag.Deadlock || found[0].Span.Line != 4 && found[0].Span.Line != 13 ||
		!strings.Contains(found[0].Text, "block 0 step 0 (r)") || found[0].Step != 0 || found[0].Block != 0 {
		t.Fatalf("the proof says %v", found)
	}
	shown, err := replay.Run(t.Context(), either.OfOneSided(g), report.Counterexamples[0], cpu.Device())
	if text := strings.Join(shown.Lines, "\n"); err != nil || !shown.Shown ||
		!strings.Contains(text, "rank 0 block 0 step 0 (r) waits for a signal of rank 1 block 0 step 1 (s)") {
		t.Errorf("the replay shows %v: %v\n%s", shown.Shown, err, text)
	}
	l, err := executor.Load(read(t, crossed), executor.Options{Device: cpu.Device(), Unproven: true, Lower: lower})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	buffers := func() [][]int32 { return [][]int32{make([]int32, 8), make([]int32, 8)} }
	b := executor.ArgsOf(g.Coll, buffers(), buffers())
	b.Wait = 20 * time.Millisecond
	_, err = l.Run(t.Context(), b)
	var list diag.List
	if !errors.As(err, &list) || list[0].Code != diag.Timeout || list[0].Span.Line != 4 && list[0].Span.Line != 13 ||
		!strings.Contains(list[0].Text, "block 0 step 0 (r): waited ") ||
		!strings.Contains(list[0].Text, "for message 1 of connection 0 ") || !strings.Contains(list[0].Text, "have 0") {
		t.Errorf("the time-out says %v", err)
	}
}

func lower(p *either.Program) (*either.Program, error) { return mscclc.Lower(p, 0) }

// TestLowersOnce holds that a one-sided program is refused.
func TestLowersOnce(t *testing.T) {
	g, err := lower(read(t, crossed))
	if err != nil {
		t.Fatal(err)
	}
	var list diag.List
	if _, err := lower(g); !errors.As(err, &list) || list[0].Code != diag.Unsupported ||
		!strings.Contains(list[0].Text, "one-sided already") {
		t.Errorf("lowered twice: %v", err)
	}
}

// TestLoadProves holds that a program is proven before it is lowered, with messages of whole steps: XML whose messages
// of single chunks need more slots than there are loads, and a program that hangs does not.
func TestLoadProves(t *testing.T) {
	opt := executor.Options{Device: cpu.Device(), Lower: lower}
	var list diag.List
	if _, err := executor.Load(read(t, crossed), opt); !errors.As(err, &list) || list[0].Code != diag.Deadlock {
		t.Errorf("a program that hangs: %v", err)
	}
	p, err := mscclc.ReadFile("../../testdata/doubling.xml", codegen.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := executor.Load(p, opt)
	if err != nil || l.Image().One == nil {
		t.Fatalf("a program of long messages: %v", err)
	}
	l.Close()
	opt.Lower = nil
	if _, err := executor.Load(p, opt); err == nil {
		t.Error("as it is, it is proven too")
	}
}
