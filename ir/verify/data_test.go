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
	"mscclc/ir"
	"mscclc/ir/verify"
)

// dataFolder is the folder of programs by other compilers, which lies beside
// the clone, or where MSCCLC_DATA says. It is not part of the repository.
func dataFolder(t *testing.T) string {
	dir := filepath.Join("..", "..", "..", "shared", "data", "msccl-xml")
	set := os.Getenv("MSCCLC_DATA")
	if set != "" {
		dir = filepath.Join(set, "msccl-xml")
	}
	if _, err := os.Stat(dir); err != nil {
		if set != "" {
			t.Fatalf("MSCCLC_DATA is set, and there is no %s", dir)
		}
		t.Logf("no folder %s: only a program of the repository is judged", dir)
		return ""
	}
	return dir
}

// Programs of other compilers are judged as their authors' runtimes would find
// out: expected.tsv has, for each file, ok or codes that must be among ours.
func TestVerdictsOfOthersPrograms(t *testing.T) {
	verdicts := map[string]string{}
	if dir := dataFolder(t); dir != "" {
		table, err := os.ReadFile(filepath.Join(dir, "expected.tsv"))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
			f := strings.Split(line, "\t")
			verdicts[filepath.Join(dir, f[0])] = f[2]
		}
	}
	judge(t, program(t, twoRanks), "ok")
	for file, want := range verdicts {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := codegen.ReadMSCCL(filepath.Base(file), bytes.NewReader(src), codegen.ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		judge(t, p, want)
	}
	t.Logf("%d programs and one of the repository", len(verdicts))
}

func judge(t *testing.T, p *ir.Program, want string) {
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
	if err := ir.Classify(p); err != nil {
		t.Errorf("%s: %v", p.Name, err)
	}
	if err := ir.MarkFinal(p); err != nil {
		t.Errorf("%s: %v", p.Name, err)
	}
	finals := slices.ContainsFunc(p.Steps, func(s ir.Step) bool { return s.Flags&ir.Final != 0 })
	if want == "ok" && finals != (p.Coll.Reduces() && p.Coll.Kind != ir.Opaque) {
		t.Errorf("%s: steps that make complete sums: %v", p.Name, finals)
	}
}
