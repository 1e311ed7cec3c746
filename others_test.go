package mscclc_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mscclc/codegen"
	"mscclc/codegen/msccl"
	"mscclc/executor"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
)

// notes say what is wrong with the programs of the data folder that are judged
// wrong, by file.
var notes = map[string]string{
	"a2next_fwd_2n_i1":           "MSCCLang knows nothing of input and output that are one memory (custom with inplace = 1): one block receives over the chunks that another still sends, as in its AllToAll in place.",
	"ag_rd_8g_i1_Simple":         "MSCCLang orders steps as if connections had slots without end: both ends of a pair send 4 chunks before they receive any, which fit 2 slots only as long as a message holds 2 chunks.",
	"ag_rd_8g_i2_Simple":         "MSCCLang cuts runs of several chunks into instances that interleave: single chunks then wait for the wrong instance. The deadlock is that of one instance.",
	"ar_pciehier_4g_i1_LL":       "The author's: a copy to scratch without an index goes after all others, and the second phase adds what the first one left at index 0. MSCCLang writes the file all the same.",
	"ar_pipeline_ring_4g_ch1_i1": "The author's: the file calls itself an AllReduce of 8 ranks, and moves the sums of ranks 0 to 3 to ranks 4 to 7. MSCCLang writes the file all the same.",
	"ar_rhd_16g_i2_Simple":       "MSCCLang orders steps as if connections had slots without end: both ends of a pair send 8 chunks before they receive any.",
}

// A judgedFile is a program of the data folder with what verify says of it.
type judgedFile struct {
	name, verdict string // ok, or codes
	program       *either.Program
	steps, slots  int
	chunks        int // that a message holds at least
	codes         []string
}

// othersPrograms reads and judges the programs of the data folder, in the order
// of its table.
func othersPrograms(t *testing.T, dir string) (files []judgedFile) {
	for _, f := range irtest.Table(t, dir) {
		p, err := readMSCCL(filepath.Join(dir, f.File))
		if err != nil {
			t.Fatalf("%s: %v", f.File, err)
		}
		report, found := verify.Check(p, verify.Options{})
		j := judgedFile{name: strings.TrimSuffix(f.File, ".xml"), verdict: f.Verdict, program: p, steps: report.Steps,
			slots: report.Slots, chunks: report.MessageChunks}
		for _, d := range found {
			j.codes = append(j.codes, string(d.Code))
		}
		slices.Sort(j.codes)
		j.codes = slices.Compact(j.codes)
		files = append(files, j)
	}
	return files
}

func readMSCCL(file string) (*either.Program, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p, err := msccl.Read(filepath.Base(file), bytes.NewReader(src), codegen.ReadOptions{})
	return either.OfFifo(p), err
}

// TestVerdicts compares verify's codes for the programs of the data folder with
// the folder's table, line by line, and keeps them in testdata/JUDGED.md, with a
// note on each that is wrong. None is undecided. The repository's own programs are judged in the same way.
func TestVerdicts(t *testing.T) {
	for _, f := range othersPrograms(t, irtest.Own(t, irtest.XML)) {
		if !f.agrees() {
			t.Errorf("%s: %v, want %s", f.name, f.codes, f.verdict)
		}
	}
	t.Run("others", testJudged)
}

func testJudged(t *testing.T) {
	dir := irtest.Others(t, irtest.XML)
	var b, wrong strings.Builder
	b.WriteString("# Programs by other compilers, judged\n\nMade by TestVerdicts (`MSCCLC_UPDATE=1` writes it): what verify says of the files of the data folder, 37 of MSCCLang's and 6 of\n" +
		"RCCL's, at the slots of their protocol and the fewest chunks that a message holds at a size that the file is for.\n\n" +
		"| file | steps | slots | chunks a message | verdict |\n|---|---|---|---|---|\n")
	files := othersPrograms(t, dir)
	for _, f := range files {
		verdict := strings.Join(f.codes, ", ")
		if verdict == "" {
			verdict = "proven"
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %s |\n", f.name, f.steps, f.slots, f.chunks, verdict)
		if !f.agrees() {
			t.Errorf("%s: %s, want %s", f.name, verdict, f.verdict)
		}
		note := notes[f.name]
		if (note != "") != (len(f.codes) > 0) {
			t.Errorf("%s: %s, and a note: %q", f.name, verdict, note)
		}
		if note != "" {
			fmt.Fprintf(&wrong, "| %s | %s | %s |\n", f.name, verdict, note)
		}
	}
	fmt.Fprintf(&b, "\n%d files. What is wrong with those that are not proven:\n\n| file | verdict | why |\n|---|---|---|\n%s", len(files), wrong.String())
	const kept = "testdata/JUDGED.md"
	if update && !t.Failed() {
		if err := os.WriteFile(kept, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(kept); err != nil || string(text) != b.String() {
		t.Errorf("%s is not what verify says now (%v); MSCCLC_UPDATE=1 writes it", kept, err)
	}
}

// agrees reports whether f is judged as the table says: ok, or at least these codes.
func (f *judgedFile) agrees() bool {
	if f.verdict == "ok" {
		return len(f.codes) == 0
	}
	for _, code := range strings.Split(f.verdict, ",") {
		if !slices.Contains(f.codes, code) {
			return false
		}
	}
	return !slices.Contains(f.codes, string(diag.Undecided))
}

// BenchmarkVerdicts reads and proves each file of the data folder; ms/file is
// what one takes.
func BenchmarkVerdicts(b *testing.B) {
	for _, file := range irtest.Files(b, irtest.XML) {
		b.Run(strings.TrimSuffix(filepath.Base(file), ".xml"), func(b *testing.B) {
			for b.Loop() {
				p, err := readMSCCL(file)
				if err != nil {
					b.Fatal(err)
				}
				verify.Check(p, verify.Options{})
			}
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms/file")
		})
	}
}

// TestOthersPrograms runs programs that other compilers wrote: those of the
// repository's fixtures, and of its own programs and those of other compilers
// the good ones. They run on the CPU, with 0 wrong, in every way
// that the file says it is for.
func TestOthersPrograms(t *testing.T) {
	ran := 0
	try := func(name string, p *either.Program, good bool) {
		for _, inplace := range []bool{false, true} {
			if inplace && p.InPlace || !inplace && p.OutOfPlace {
				ran++
				err := runOther(p, inplace)
				if l := (diag.List{}); !good && errors.As(err, &l) {
					continue // a fixture that shows a form, and was refused
				}
				if err != nil {
					t.Errorf("%s, in place %v: %v", name, inplace, err)
				}
			}
		}
	}
	fixtures, _ := filepath.Glob(filepath.Join("codegen", "msccl", "testdata", "*.xml"))
	for _, file := range fixtures {
		p, err := readMSCCL(file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		try(file, p, false)
	}
	irtest.Each(t, irtest.XML, func(t *testing.T, dir string) {
		good := 0
		for _, f := range othersPrograms(t, dir) {
			if f.verdict == "ok" {
				try(f.name, f.program, true)
				good++
			}
		}
		if good < 10 || good < 37 && dir != irtest.Own(t, irtest.XML) {
			t.Errorf("%d good programs are too few", good)
		}
	})
	t.Logf("%d fixtures, %d runs", len(fixtures), ran)
	if ran < 17 {
		t.Errorf("%d runs are too few", ran)
	}
}

func runOther(p *either.Program, inplace bool) error {
	q := p.Called(inplace)
	coll := q.Coll
	r, err := execute(q, int64(37*coll.Chunks), executor.Options{}, func(a *executor.Args) { a.TileBytes = 64 })
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
