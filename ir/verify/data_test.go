package verify_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mscclc/codegen"
	"mscclc/codegen/msccl"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
)

// Programs are judged as expected.tsv says: ok, or codes that must be among ours. For those of other compilers these
// are what their authors' runtimes would find out.
func TestVerdictsOfOthersPrograms(t *testing.T) {
	judge(t, irtest.Program(t, irtest.TwoRanksProgram), "ok")
	irtest.Each(t, irtest.XML, func(t *testing.T, dir string) {
		table := irtest.Table(t, dir)
		for _, f := range table {
			p, err := readXML(filepath.Join(dir, f.File))
			if err != nil {
				t.Errorf("%s: %v", f.File, err)
				continue
			}
			judge(t, p, f.Verdict)
		}
		t.Logf("%d programs", len(table))
	})
}

func readXML(file string) (*either.Program, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	name := strings.TrimSuffix(filepath.Base(file), ".xml")
	p, err := msccl.Read(name, bytes.NewReader(src), codegen.ReadOptions{})
	return either.OfFifo(p), err
}

func judge(t *testing.T, p *either.Program, want string) {
	t.Helper()
	_, list := verify.Check(p, verify.Options{})
	got := map[string]bool{}
	for _, d := range list {
		got[string(d.Code)] = true
	}
	ok := len(got) == 0
	if want != "ok" {
		ok = !slices.ContainsFunc(strings.Split(want, ","), func(code string) bool { return !got[code] })
	}
	if !ok {
		t.Errorf("%s: %v, want %s; %v", p.Name, slices.Sorted(maps.Keys(got)), want, list)
	}
	if err := eval.Classify(p.Fifo); err != nil {
		t.Errorf("%s: %v", p.Name, err)
	}
	if err := eval.MarkFinal(p); err != nil {
		t.Errorf("%s: %v", p.Name, err)
	}
	finals := slices.ContainsFunc(p.Steps, func(s ir.Step) bool { return s.Flags&ir.Final != 0 })
	if want == "ok" && finals != p.Coll.SumsKnown() {
		t.Errorf("%s: steps that make complete sums: %v", p.Name, finals)
	}
	if want == "ok" {
		marksAlike(t, p)
	}
}

// marksAlike judges that the proof of p marks the steps that MarkFinal marked.
func marksAlike(t *testing.T, p *either.Program) {
	t.Helper()
	q := p.Copy()
	q.Steps = slices.Clone(p.Steps)
	for i := range q.Steps {
		q.Steps[i].Flags &^= ir.Final
	}
	if _, list := verify.CheckAndMark(q, verify.Options{}); len(list) > 0 {
		t.Errorf("%s: %v", p.Name, list)
	}
	if !slices.Equal(q.Steps, p.Steps) {
		t.Errorf("%s: the proof marks other steps than MarkFinal", p.Name)
	}
}
