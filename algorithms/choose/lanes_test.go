package choose

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/selection"
	"mscclc/topology"
)

// TestTableOfLanes: a table's lanes stay through writing and reading, one is none, and a chooser compiles that many.
func TestTableOfLanes(t *testing.T) {
	text := strings.Replace(someTable, `"protocol":"Simple","replicas":32`, `"protocol":"Simple","lanes":4,"replicas":32`, 1)
	if text == someTable {
		t.Fatal("the table has no such rule")
	}
	table, err := ReadTable("t", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := table.Write(&b); err != nil || b.String() != text {
		t.Errorf("%v\n%s", err, b.String())
	}
	c, call := &Chooser{Table: table, Device: "Some GPU"}, Call{Kind: ir.AllReduce, Ranks: 4}
	v, measured, err := c.Choose(call, 1<<20, 2)
	if err != nil || !measured || v.String() != "ring Simple 4 lanes 32x512/64K" {
		t.Fatalf("%v %v %v", v, measured, err)
	}
	for lanes, want := range map[int]int{4: 4, 0: 1} {
		v.Lanes = lanes
		p, err := c.Program(v, call)
		if err != nil || len(p.TBsOf(0)) != want {
			t.Errorf("%d lanes: %v, %v", lanes, p.TBsOf(0), err)
		}
	}
	table, err = ReadTable("t", strings.NewReader(strings.Replace(text, `"lanes":4`, `"lanes":4,"copies":5`, 1)))
	if err != nil || table.Entries[0].Rules[1].InLanes != (selection.InLanes{Lanes: 4, Copies: 5}) {
		t.Fatal(err)
	}
	c = &Chooser{Table: table, Device: "Some GPU"}
	if v, _, err = c.Choose(call, 1<<20, 2); err != nil || v.String() != "ring Simple 4 lanes 5 copies 32x512/64K" {
		t.Fatalf("%v %v", v, err)
	}
	if p, err := c.Program(v, call); err != nil || p.OneSided.Depth != 5 {
		t.Errorf("%v copies: %v", v, err)
	}
	for lanes, want := range map[string]string{`"copies":5`: "which are for several lanes", `"lanes":4,"copies":9`: "copies",
		`"lanes":1,"copies":2`: "which are for several lanes"} {
		_, err := ReadTable("t", strings.NewReader(strings.Replace(text, `"lanes":4`, lanes, 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", lanes, err)
		}
	}
	table, err = ReadTable("t", strings.NewReader(strings.Replace(text, `"lanes":4`, `"lanes":1`, 1)))
	if err != nil || table.Entries[0].Rules[1].Lanes != 0 {
		t.Errorf("%v", err)
	}
}

// TestOnlineLanes: a program with several lanes is another one to be tried.
func TestOnlineLanes(t *testing.T) {
	o := &Online{Chooser: &Chooser{Device: "Some GPU"}}
	one := selection.Choice{Program: "allreduce/ring", Protocol: ir.Simple}
	several := one
	several.Lanes = 4
	call := Call{Kind: ir.AllReduce, Ranks: 4}
	if !o.alike(call, one, one) || o.alike(call, one, several) {
		t.Error("lanes do not count")
	}
}

// laneCollectives are those of simulate/LANES.md, and laneMachines its machines, those of two nodes first.
var (
	laneCollectives = []ir.Kind{ir.AllGather, ir.ReduceScatter, ir.AllReduce, ir.AllToAll}
	laneMachines    = []string{"dgx_h100:nodes=2", "ndv4:nodes=2", "mi300x:nodes=2", "dgx_h100:nodes=4", "ndv4:nodes=4",
		"dgx_h100:nodes=8"}
)

const twoNodes = 3

// choices returns what is chosen at some sizes, and its times.
func choices(t *testing.T, spec string, kind ir.Kind, oneLane bool, sizes []int64) (list []timed) {
	s := selector(t, spec, "program")
	s.Call.Kind, s.oneLane = kind, oneLane
	s.Call.On = InBlocks(s.Call.Ranks, s.Call.Nodes)
	forms, _ := s.list()
	seen := make([]past, len(forms))
	for _, n := range sizes {
		ranked, err := s.rank(n, seen)
		if err != nil {
			t.Fatalf("%s, %v: %v", spec, kind, err)
		}
		list = append(list, ranked[0])
	}
	return list
}

const choicesFile = "../../simulate/CHOICES.md"

// TestLanesChosen: from 1K to 64K the choice is what it is without lanes, for larger calls it is no slower, and at 1 GB
// several lanes are chosen where they are faster. Each collective is tried on
// one machine of two nodes, or with MSCCLC_PAPERS=full on all machines. MSCCLC_UPDATE=1 writes CHOICES.md.
func TestLanesChosen(t *testing.T) {
	update := os.Getenv("MSCCLC_UPDATE") != ""
	full := update || os.Getenv("MSCCLC_PAPERS") == "full"
	sizes := []int64{1 << 10, 64 << 10, 512 << 10, 1 << 30}
	if full {
		sizes = []int64{1 << 10, 8 << 10, 64 << 10, 512 << 10, 1 << 20, 16 << 20, 128 << 20, 1 << 30}
	}
	text, tried, several := choicesHead, 0, 0
	for m, spec := range laneMachines {
		if _, err := topology.Open(spec); err != nil {
			t.Fatal(err)
		}
		for k, kind := range laneCollectives {
			if !full && (m >= twoNodes || k%twoNodes != m) {
				continue
			}
			tried++
			today, now := choices(t, spec, kind, true, sizes), choices(t, spec, kind, false, sizes)
			for i, bytes := range sizes {
				a, b := today[i], now[i]
				if bytes <= 64<<10 && (a.Form != b.Form || a.micros != b.micros) || b.micros > a.micros {
					t.Errorf("%s, %v of %d bytes: %v takes %g us, and %v %g without lanes", spec, kind, bytes, b.Form, b.micros,
						a.Form, a.micros)
				}
				if bytes == 1<<30 && b.Several() {
					several++
				}
				text += fmt.Sprintf("| %s | %v | %s | %.1f | %v | %.1f | %v | %.2fx |\n", spec, kind, sizeName(bytes), a.micros,
					a.Form, b.micros, b.Form, a.micros/b.micros)
			}
		}
	}
	if several < tried/2 {
		t.Errorf("of %d calls of 1 GB, %d are run in several lanes", tried, several)
	}
	if update && !t.Failed() {
		if err := os.WriteFile(choicesFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func sizeName(bytes int64) string {
	units := []string{"", "K", "M", "G"}
	i := 0
	for ; bytes >= 1<<10 && i+1 < len(units); i++ {
		bytes >>= 10
	}
	return fmt.Sprint(bytes, units[i])
}

const choicesHead = `# What is chosen with lanes

What ` + "`mscclc select`" + ` chooses of the catalog on machines of several nodes, by the latency of one call of bf16, without
programs of several lanes and with them. From 1K to 64K both are the same: programs of several lanes are tried from 256K
on. All times are simulated, in us, with the costs of simulate/devices, which are partly guesses. MSCCLC_UPDATE=1 has
TestLanesChosen of package choose write this page; the test itself holds the choices against each other, not the page.

A name is the program, its protocol, its lanes, and its replicas with the tile.

| machine | collective | bytes | without lanes | by | with lanes | by | faster |
|---|---|---|---|---|---|---|---|
`

// TestCopiesChosen: other copies of scratch than the usual ones are tried in the lanes that are best, and taken where
// they are faster. No form has more scratch than there may be.
func TestCopiesChosen(t *testing.T) {
	s := selector(t, "ndv4:nodes=2", "program")
	s.Call.Kind = ir.AllReduce
	s.Call.On = InBlocks(s.Call.Ranks, s.Call.Nodes)
	ranked, err := s.rank(16<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	tried, usual := map[int]bool{}, 0.
	for _, f := range ranked {
		if f.Program == ranked[0].Program && f.Lanes == ranked[0].Lanes && f.Protocol == ranked[0].Protocol &&
			f.Sided == selection.OneSided {
			if tried[f.Copies] = true; f.Copies == 0 {
				usual = f.micros
			}
		}
		if p, err := s.form(f.Form); err != nil || f.Several() && lanedScratch(p, f.Choice) > lanedMemory {
			t.Errorf("%v: %v", f.Form, err)
		}
	}
	for _, n := range append([]int{0}, triedCopies...) {
		if !tried[n] {
			t.Errorf("%d copies are not tried", n)
		}
	}
	if ranked[0].Copies == 0 || usual < ranked[0].micros {
		t.Errorf("%v takes %g us, and %g with the usual copies", ranked[0].Form, ranked[0].micros, usual)
	}
	t.Logf("%v: %.1f us, with the usual copies %.1f", ranked[0].Form, ranked[0].micros, usual)
	small, err := s.rank(64<<10, nil)
	if i := slices.IndexFunc(small, func(f timed) bool { return f.Several() }); err != nil || i >= 0 {
		t.Errorf("64K: form %d, %v", i, err)
	}
}

// TestLanesTooLong: fewest stretches take no program of several lanes for small calls.
func TestLanesTooLong(t *testing.T) {
	s := selector(t, "mi300x:nodes=2", "program")
	s.Call.Kind, s.Most = ir.AllGather, 2
	s.Call.On = InBlocks(s.Call.Ranks, s.Call.Nodes)
	list, err := s.Sizes([]int64{1 << 10, 1 << 14, 4 << 20, 16 << 20, 64 << 20, 256 << 20})
	if err != nil || len(list) > 2 {
		t.Fatal(list, err)
	}
	if i := slices.IndexFunc(list, func(r Stretch) bool { return r.Several() && r.From < LanesFrom }); i >= 0 {
		t.Errorf("%v from %d bytes on", list[i].Form, list[i].From)
	}
	if !list[len(list)-1].Several() {
		t.Errorf("%v of large calls", list[len(list)-1].Form)
	}
}

// TestLanesReturn holds that a program that is much slower in small calls is tried in several lanes for large ones: it
// may be good there alone.
func TestLanesReturn(t *testing.T) {
	const bytes = 64 << 20
	s := selector(t, "dgx1v", "program")
	s.Call.Kind = ir.AllGather
	alone, err := s.rank(bytes, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !alone[0].Several() {
		t.Fatalf("%v is the fastest", alone[0].Form)
	}
	forms, _ := s.list()
	seen := make([]past, len(forms))
	for i, f := range forms {
		if f.Program == alone[0].Program && f.Protocol == alone[0].Protocol && !f.Several() {
			seen[i] = past{bytes: 64 << 10, micros: 100, ratio: 3, replicas: 1, slow: true}
		}
	}
	after, err := s.rank(bytes, seen)
	if err != nil {
		t.Fatal(err)
	}
	if after[0].micros > alone[0].micros {
		t.Errorf("%v in %.1f us, where %v takes %.1f", after[0].Form, after[0].micros, alone[0].Form, alone[0].micros)
	}
}
