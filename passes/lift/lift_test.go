package lift_test

import (
	"bytes"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc"
	"mscclc/codegen"
	"mscclc/codegen/codegentest"
	"mscclc/codegen/msccl"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	irfifo "mscclc/ir/fifo"
	"mscclc/ir/form"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
	"mscclc/passes/fifo"
	"mscclc/passes/lift"
)

// programs are XML files of both dialects: rings with fused steps, all pairs, chains of sums, rooted collectives.
func programs(t *testing.T) map[string]*irfifo.Program {
	t.Helper()
	list := map[string]*irfifo.Program{}
	for _, pattern := range []string{"../../codegen/msccl/testdata/*.xml", "../../executor/testdata/*.xml", "../../testdata/*.xml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p, err := msccl.Read(file, bytes.NewReader(text), codegen.ReadOptions{})
			if err != nil {
				continue
			}
			if _, found := verify.Check(either.OfFifo(p), verify.Options{}); len(found) == 0 {
				list[file] = p
			}
		}
	}
	for n := 2; n < 6; n++ {
		p := codegentest.Ring(n)
		list[strings.Repeat("ring", n)] = p.Fifo
	}
	if len(list) < 8 {
		t.Fatalf("only %d programs", len(list))
	}
	return list
}

// TestChunks: what is lifted is well formed, gives the collective's result, and compiles for every target that has the
// collective.
func TestChunks(t *testing.T) {
	for name, p := range programs(t) {
		d := lift.Chunks(p)
		if found := form.CheckChunks(d); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
			continue
		}
		if found := eval.Chunks(d); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
		for _, target := range codegen.Targets {
			_, named := target.Kinds[p.Coll.Kind]
			if target.Format == codegen.FormatXML && !named && !target.Custom {
				continue
			}
			q, err := mscclc.Recompile(either.OfFifo(p), mscclc.Options{Target: target})
			if err != nil {
				t.Errorf("%s for %s: %v", name, target.Name, err)
				continue
			}
			if target.Format == codegen.FormatMSCCLPP {
				if _, _, err := mscclc.PlanMSCCLPP(q, mscclc.PlanOptions{}); err != nil {
					t.Errorf("%s for %s: %v", name, target.Name, err)
				}
			} else if found := mscclc.Fits(q, target); len(found) > 0 {
				t.Errorf("%s for %s: %v", name, target.Name, found)
			}
		}
	}
}

// overwritten has two messages under way whose source is written before they are received.
const overwritten = `<algo name="a" proto="LL" nchannels="1" nchunksperloop="2" ngpus="2" coll="allreduce" inplace="1">
<gpu id="0" i_chunks="2" o_chunks="0" s_chunks="0">
<tb id="0" send="1" recv="1" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
<step s="1" type="s" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
<step s="2" type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
<step s="3" type="rrc" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
</tb></gpu>
<gpu id="1" i_chunks="2" o_chunks="0" s_chunks="0">
<tb id="0" send="0" recv="0" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
<step s="1" type="s" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
<step s="2" type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
<step s="3" type="rrc" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
</tb></gpu></algo>`

// TestOverwritten: a message whose source is written before it is received gets scratch of its own.
func TestOverwritten(t *testing.T) {
	p, err := msccl.Read("x.xml", strings.NewReader(overwritten), codegen.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d := lift.Chunks(p)
	if found := append(form.CheckChunks(d), eval.Chunks(d)...); len(found) > 0 {
		t.Error(found)
	}
	if len(d.Scratch) != 2 || d.Scratch[1].Chunks == 0 {
		t.Errorf("no message has scratch of its own: %+v", d.Scratch)
	}
}

// TestWritesInput: a program that writes its input out of place does so in a copy.
func TestWritesInput(t *testing.T) {
	kept := strings.NewReplacer(`inplace="1"`, `inplace="0"`, `o_chunks="0"`, `o_chunks="2"`, `</tb>`,
		`<step s="4" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/></tb>`)
	p, err := msccl.Read("x.xml", strings.NewReader(kept.Replace(overwritten)), codegen.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, found := verify.Check(either.OfFifo(p), verify.Options{}); len(found) > 0 {
		t.Fatal(found)
	}
	if !p.ModifiesInput() {
		t.Fatal("the program leaves its input as it is")
	}
	d := lift.Chunks(p)
	if found := append(form.CheckChunks(d), eval.Chunks(d)...); len(found) > 0 {
		t.Error(found)
	}
	for _, target := range codegen.Targets {
		q, err := mscclc.Recompile(either.OfFifo(p), mscclc.Options{Target: target})
		if err != nil {
			t.Errorf("for %s: %v", target.Name, err)
		} else if q.ModifiesInput() {
			t.Errorf("for %s: what was compiled writes its input", target.Name)
		}
	}
}

// TestRandom: what a random algorithm was compiled to is lifted to chunks that do the same.
func TestRandom(t *testing.T) {
	lifted := 0
	for seed := range int64(300) {
		d := irtest.Random(rand.New(rand.NewSource(seed)), irtest.Config{Ops: 30})
		insts, err := fifo.Lower(d, fifo.Options{})
		if err == nil {
			err = fifo.Run(insts, fifo.Options{})
		}
		if err != nil {
			continue
		}
		p, err := codegen.Assemble(insts)
		if err != nil {
			t.Fatal(err)
		}
		c := lift.Chunks(p)
		lifted++
		if found := append(form.CheckChunks(c), eval.Chunks(c)...); len(found) > 0 {
			t.Fatalf("seed %d: %v", seed, found)
		}
	}
	if lifted < 100 {
		t.Errorf("only %d programs were lifted", lifted)
	}
}
