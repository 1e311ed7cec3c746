package bundle

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/epilogue"
)

const rmsNorm = "residual, rms_norm(eps)"

// thenSpec is of rules for calls with epilogues, beside one for other calls.
func thenSpec(t *testing.T, texts ...string) Spec {
	t.Helper()
	small := Forward(ir.AllReduce, 2)
	small.Program, small.Protocol, small.Replicas, small.Tile = "allreduce/onephase", ir.LL, 2, 4096
	spec := Spec{Device: "NVIDIA H200", Ranks: []int{2}, DTypes: []data.DType{data.BF16, data.F16, data.I32},
		Rules: []Rule{small}, CTAs: 4}
	for _, text := range texts {
		l, err := epilogue.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		spec.Rules = append(spec.Rules, RowsLadder(2, spec.CTAs, l)...)
	}
	return spec
}

// A bundle keeps the epilogues of its programs, and Verify proves these anew.
func TestThen(t *testing.T) {
	texts := []string{rmsNorm, "scale, bias, activation(gelu), cast(f32)", "layer_norm(eps), quantise(i8, block = 64)"}
	b, err := Build(thenSpec(t, texts...))
	if err != nil {
		t.Fatal(err)
	}
	text := Encode(b)
	again, _, err := Verify("x.bundle", text)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for i, r := range again.Sets[0].Rules {
		p := again.Programs[r.Program]
		if with := r.When&WhenThen != 0; with != (p.Stages > 0) || with && (p.InPlace != 0 || p.Tile < rowsTile) {
			t.Errorf("rule %d is for calls with an epilogue: %v, and its program is %+v", i, with, p.ProgramRow)
		}
		if then := p.Then().String(); then != "" && !slices.Contains(found, then) {
			found = append(found, then)
		}
	}
	if !slices.Equal(found, texts) {
		t.Errorf("the programs have %q", found)
	}
	s := &again.Sets[0]
	for _, of := range []data.DType{data.BF16, data.F16} {
		if n := again.finisher(s, of); n == none || again.Images[n].Name != "rows_"+of.String() {
			t.Errorf("%v: image %d finishes rows", of, n)
		}
	}
	if again.finisher(s, data.I32) != none {
		t.Error("some image finishes rows of i32")
	}
}

// A bundle has room for the rules of two epilogues on up to 8 ranks, and of one on 16.
func TestRowsRoom(t *testing.T) {
	for _, of := range []struct{ ranks, lists int }{{2, 4}, {3, 2}, {4, 2}, {8, 2}, {16, 1}} {
		spec := Spec{Device: "NVIDIA H200", Ranks: []int{of.ranks}, DTypes: []data.DType{data.BF16}, CTAs: 128}
		for _, text := range []string{"residual, rms_norm(eps)", "rms_norm(eps)", "scale", "bias"}[:of.lists] {
			l, err := epilogue.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			spec.Rules = append(spec.Rules, RowsLadder(of.ranks, spec.CTAs, l)...)
		}
		if _, err := Build(spec); err != nil {
			t.Errorf("%d ranks, %d epilogues: %v", of.ranks, of.lists, err)
		}
	}
}

// Launches by the ladder's packets are short: a CTA's rows are in one tile, of rows of usual lengths.
func TestRowsLadderIsShort(t *testing.T) {
	for _, ranks := range []int{2, 3, 4, 8, 16} {
		for _, ctas := range []int{4, 16, 32, 64, 128, 200} {
			last := int64(0)
			for i, r := range RowsLadder(ranks, ctas, epilogue.List{{Kind: epilogue.Residual}}) {
				if r.Replicas < 1 || r.Replicas > ctas || r.UpTo > 0 && r.UpTo <= last {
					t.Errorf("%d ranks, %d CTAs, rule %d: %+v", ranks, ctas, i, r)
				}
				last = r.UpTo
				for row := int64(2 << 10); r.UpTo > 0 && row <= usualRow; row += 2 << 10 {
					rows := r.UpTo / row
					each := (rows + int64(r.Replicas) - 1) / int64(r.Replicas)
					if each*row > r.Tile {
						t.Errorf("%d ranks, %d CTAs, rule %d: %d rows of %d bytes are %d a CTA, and tiles have %d bytes",
							ranks, ctas, i, rows, row, each, r.Tile)
					}
				}
			}
		}
	}
}

// finisher returns the number of the image that finishes rows of sums of a type, or none.
func (b *Bundle) finisher(s *Set, t data.DType) uint32 {
	if s.Finishers == 0 {
		return none
	}
	for i := s.Finishers - 1; isFinisher(b.Images, i); i++ {
		if b.Images[i].DType == t {
			return i
		}
	}
	return none
}

// Rules with then serve calls with an epilogue alone, and others serve calls without.
func TestThenFits(t *testing.T) {
	b, err := Build(thenSpec(t, rmsNorm))
	if err != nil {
		t.Fatal(err)
	}
	served := [2]int{}
	for i := range b.Sets[0].Rules {
		r := &b.Sets[0].Rules[i]
		for k, then := range [2]bool{false, true} {
			c := call{kind: uint32(ir.AllReduce), dtype: uint32(data.BF16), group: 1, then: then}
			if r.fits(&c, 4096, WhenEager) {
				served[k]++
				if got := b.Programs[r.Program].Then().String() != ""; got != then {
					t.Errorf("rule %d serves calls with an epilogue: %v", i, then)
				}
			}
		}
	}
	if served != [2]int{1, 3} {
		t.Errorf("%v rules serve calls without and with an epilogue", served)
	}
}

// What no rule may have is refused, with what to do.
func TestThenRefused(t *testing.T) {
	for _, c := range []struct {
		change func(r *Rule)
		want   string
	}{
		{func(r *Rule) { r.Then = "residual,rms_norm(eps)" }, `is written "residual, rms_norm(eps)"`},
		{func(r *Rule) { r.Then = "rms_norm(eps), rms_norm(eps)" }, "rms_norm twice"},
		{func(r *Rule) { r.Program = "" }, "has a staged program"},
		{func(r *Rule) { r.When |= WhenCandidate }, "is no candidate"},
		{func(r *Rule) { r.When |= WhenWindows }, "any buffers"},
		{func(r *Rule) { r.RedOp = uint8(data.Max) }, "is for sums"},
		{func(r *Rule) { r.Kind, r.Program = ir.AllGather, "allgather/allpairs" }, "is for an AllReduce"},
		{func(r *Rule) { r.Program = "allreduce/onephase" }, "finishes no rows"},
		{func(r *Rule) { r.Then = "" }, `"then":"residual, rms_norm(eps)"`},
		{func(r *Rule) { r.Program = "rows/before" }, ""},
	} {
		spec := thenSpec(t, rmsNorm)
		c.change(&spec.Rules[1])
		_, err := Build(spec)
		var list diag.List
		if err == nil || !errors.As(err, &list) || !strings.Contains(list[0].Text+list[0].Hint, c.want) {
			t.Errorf("%q: %v", c.want, err)
		}
	}
}

// Files of rules have then, and rules of several lists do not hide each other.
func TestThenFile(t *testing.T) {
	const file = `{"version": 2, "entries": [
  {"device":"NVIDIA H200","ranks":2,"collective":"allreduce","when":"eager","rules":[
    {"up_to":65536,"then":"residual, rms_norm(eps)","program":"rows/onestep","protocol":"LL","replicas":4,"tile":32768},
    {"then":" residual,rms_norm( eps )","program":"rows/after","protocol":"Simple","replicas":8,"tile":32768},
    {"then":"bias","program":"rows/after","protocol":"Simple","replicas":8,"tile":32768},
    {"up_to":65536,"program":"allreduce/onephase","protocol":"LL","replicas":4},
    {"program":"nccl"}]}
]}`
	m, err := ReadRules("x.rules", strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	rules, _ := RulesFor(2, 32, []*Measured{m}, false)
	var then []string
	for _, r := range rules {
		if r.Then != "" {
			then = append(then, r.Program+" "+r.Then)
		}
	}
	want := []string{"rows/onestep residual, rms_norm(eps)", "rows/after residual, rms_norm(eps)", "rows/after bias"}
	if !slices.Equal(then, want) {
		t.Errorf("%q", then)
	}
	if r, ok := m.Rule("allreduce", 2, "", Eager, false, 4096); !ok || r.Program != "allreduce/onephase" {
		t.Errorf("calls without an epilogue have %v", r)
	}
	for old, change := range map[string]string{`"then":"bias"`: `"then":"base"`, `"then":"bias",`: `"then":" ",`,
		`"then":"bias","program"`: `"then":"bias","op":"max","program"`,
		`"protocol":"Simple","replicas":8,"tile":32768},
    {"up_to"`: `"protocol":"Simple","candidate":true},
    {"up_to"`} {
		if _, err := ReadRules("x.rules", strings.NewReader(strings.Replace(file, old, change, 1))); err == nil {
			t.Errorf("%s is taken", change)
		}
	}
}

// Epilogues that no list has are refused where they are read.
func TestThenRows(t *testing.T) {
	good := ProgramRow{}
	l, err := epilogue.Parse("activation(silu), quantise(e5m2, block = 4)")
	if err != nil {
		t.Fatal(err)
	}
	good.setThen(l)
	if err := good.checkThen(); err != nil || good.Then().String() != l.String() {
		t.Errorf("%v: %v", good.Then(), err)
	}
	for i, change := range []func(p *ProgramRow){
		func(p *ProgramRow) { p.Stages = 1 }, func(p *ProgramRow) { p.Stages = 3 },
		func(p *ProgramRow) { p.Function = 3 }, func(p *ProgramRow) { p.Type = uint8(data.F16) },
		func(p *ProgramRow) { p.Stage[0] = uint8(epilogue.Quantise) }, func(p *ProgramRow) { p.Stage[0] = 9 },
		func(p *ProgramRow) { p.Stage[1] = uint8(epilogue.Cast) }, func(p *ProgramRow) { p.Stage[0] = uint8(epilogue.Bias) },
	} {
		bad := good
		if change(&bad); bad.checkThen() == nil {
			t.Errorf("change %d is taken: %v", i, bad.Then())
		}
	}
}
