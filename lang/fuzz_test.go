package lang

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// seed adds every program and every error case.
func seed(f *testing.F) {
	for _, name := range programs(f) {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	for _, c := range errorCases(f) {
		f.Add(c.src)
	}
}

// small are limits under which any file is done in no time.
var small = Limits{Steps: 20_000, Ops: 1000, Cells: 10_000, File: 1 << 16, List: 1000, Nesting: 60, Parts: 64}

// checkErrors sees that an error is a list of diagnostics that point somewhere.
func checkErrors(t *testing.T, err error) {
	var list diag.List
	if !errors.As(err, &list) || len(list) == 0 || len(list) > maxErrors {
		t.Fatalf("%v is no list of 1 to %d errors", err, maxErrors)
	}
	for _, d := range list {
		if d.Span.Line < 1 || d.Span.Column < 1 || d.Span.Len < 0 || d.Code == "" || d.Text == "" {
			t.Fatalf("%+v lacks something", d)
		}
	}
}

func FuzzParse(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, src string) {
		file, err := ParseLimited("x.mscl", []byte(src), small)
		if err != nil {
			checkErrors(t, err)
			return
		}
		file.Info()
	})
}

func FuzzFormat(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, src string) {
		if _, err := ParseLimited("x.mscl", []byte(src), small); err == nil {
			checkFormat(t, "x.mscl", []byte(src))
		}
	})
}

func FuzzExpand(f *testing.F) {
	seed(f)
	none := func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	f.Fuzz(func(t *testing.T, src string) {
		file, err := ParseLimited("x.mscl", []byte(src), small)
		if err != nil {
			return
		}
		for _, inplace := range []*bool{nil, new(false), new(true)} {
			d, err := Expand(file, Options{Open: none, Limits: small, Inplace: inplace})
			if err != nil {
				checkErrors(t, err)
				continue
			}
			if errs := ir.EvalChunks(d); len(errs) > 0 {
				t.Fatalf("%v", errs)
			}
		}
	})
}
