package choose

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/selection"
)

// The simulation has programs of all packets in common.
func TestPacketsLowerAlike(t *testing.T) {
	for _, kind := range Collectives() {
		call := Call{Kind: kind, Ranks: 4}
		for _, v := range Candidates(kind) {
			if v.Protocol != ir.LL {
				continue
			}
			others := []ir.Protocol{ir.LL16, ir.LL128}
			if v.Sided != selection.OneSided {
				others = others[1:]
			}
			first, err := call.Compile(v)
			if err != nil {
				continue
			}
			for _, name := range others {
				v.Protocol = name
				other, err := call.Compile(v)
				if err != nil {
					t.Fatal(err)
				}
				p := other.Copy()
				p.Protocol = first.Protocol
				if !reflect.DeepEqual(p, first) {
					t.Errorf("%v is another program than in LL", v)
				}
			}
		}
	}
}

func TestCandidates(t *testing.T) {
	for _, kind := range Collectives() {
		list := Candidates(kind)
		if len(list) == 0 {
			t.Errorf("%v has no candidates", kind)
		}
		for _, v := range list {
			if strings.Contains(v.Program, "hierarchical") || strings.Contains(v.Program, "switch") {
				t.Errorf("%s takes nodes, or the switch's memory", v.Program)
			}
		}
	}
	if !IsCollective("allreduce") || IsCollective("ring") || IsCollective("custom") {
		t.Error("collectives are mistaken")
	}
}

// Programs that only copy have a form whose copies a port makes, which nothing but a table chooses.
func TestPorted(t *testing.T) {
	for program, want := range map[string]bool{"allgather/allpairs": true, "alltoall/one_step": true,
		"broadcast/direct": true, "sendrecv/direct": true, "allreduce/ring": false} {
		v, ok := Ported(selection.Choice{Program: program, Protocol: ir.Simple})
		if !ok {
			t.Fatal("Simple has packets")
		}
		kind, _ := ir.KindByName(strings.Split(program, "/")[0])
		p, err := Call{Kind: kind, Ranks: 4, Inplace: kind == ir.Broadcast}.Compile(v)
		if (err == nil) != want {
			t.Errorf("%v: %v", v, err)
		}
		if err != nil {
			continue
		}
		for i, s := range p.Steps {
			rank, _, _ := p.Place(int32(i))
			for _, o := range p.OneSided.Dests(&s) {
				if s.Op == ir.Move && int(o.Rank) != rank && o.Via != ir.ViaPort {
					t.Errorf("%v: step %d of rank %d goes by way %d", v, i, rank, o.Via)
				}
			}
		}
	}
	if _, ok := Ported(selection.Choice{Program: "allgather/allpairs", Protocol: ir.LL}); ok {
		t.Error("a port takes packets")
	}
	if v, _, err := new(Chooser).Choose(Call{Kind: ir.AllGather, Ranks: 4}, 1<<30, 2); err != nil || v.Via != ir.ViaAny {
		t.Errorf("the simulation chose %v: %v", v, err)
	}
	const text = `{"version": 2, "entries": [
  {"device":"Some GPU","ranks":4,"collective":"allgather","inplace":false,"rules":[
    {"program":"allgather/allpairs","protocol":"Simple","via":"port"}]}
]}
`
	table, err := ReadTable("t", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	c := &Chooser{Table: table, Device: "Some GPU"}
	v, measured, err := c.Choose(Call{Kind: ir.AllGather, Ranks: 4}, 1<<30, 2)
	if err := table.Write(&b); err != nil || b.String() != text {
		t.Errorf("%v\n%s", err, b.String())
	}
	if err != nil || !measured || v.String() != "allpairs Simple port" || v.Via != ir.ViaPort {
		t.Errorf("by a table: %v %v %v", v, measured, err)
	}
	if _, err := ReadTable("t", strings.NewReader(strings.Replace(text, `"port"`, `"air"`, 1))); err == nil {
		t.Error("a table has a way that there is none of")
	}
}
