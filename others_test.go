package mscclc_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
)

// TestOthersPrograms judges and runs programs that other compilers wrote: those
// of the repository's fixtures, and those of the data folder beside the clone
// (dataFolder), which has for each a verdict: ok, or codes that must be among
// ours. What is good runs on the CPU, with 0 wrong, in every way that its file
// says it is for.
func TestOthersPrograms(t *testing.T) {
	verdicts := map[string]string{}
	files, _ := filepath.Glob(filepath.Join("codegen", "testdata", "xml", "*.xml"))
	if dir := dataFolder(t); dir != "" {
		table, err := os.ReadFile(filepath.Join(dir, "expected.tsv"))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
			f := strings.Split(line, "\t")
			verdicts[f[0]] = f[2]
			files = append(files, filepath.Join(dir, f[0]))
		}
	}
	ran := 0
	for _, file := range files {
		name := filepath.Base(file)
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := codegen.ReadMSCCL(name, bytes.NewReader(src), codegen.ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, found := verify.Check(p, verify.Options{})
		if verdict := verdicts[name]; verdict != "" && verdict != "ok" {
			for _, code := range strings.Split(verdict, ",") {
				if !slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return string(d.Code) == code }) {
					t.Errorf("%s: %s is not found: %v", name, code, error(found))
				}
			}
			continue
		}
		for _, inplace := range []bool{false, true} {
			if inplace && p.InPlace || !inplace && p.OutOfPlace {
				ran++
				err := runOther(p, inplace)
				if l := (diag.List{}); verdicts[name] == "" && errors.As(err, &l) {
					continue // a fixture that shows a form, and was refused
				}
				if err != nil {
					t.Errorf("%s, in place %v: %v", name, inplace, err)
				}
			}
		}
	}
	t.Logf("%d files, %d runs", len(files), ran)
	if ran < 7 || len(verdicts) > 0 && ran < 43-6 {
		t.Errorf("%d runs are too few", ran)
	}
}

func runOther(p *ir.Program, inplace bool) error {
	q := *p
	coll := *p.Coll
	coll.Inplace = inplace
	q.Coll = &coll
	r, err := execute(&q, int64(37*coll.Chunks), executor.Options{}, func(a *executor.Args) { a.TileBytes = 64 })
	if err != nil {
		return err
	}
	if q.ModifiesInput() {
		r.Changed = nil
	}
	if coll.Kind != ir.Opaque && r.Checked == 0 {
		return errors.New("nothing was compared")
	}
	return r.Err()
}
