package verifycmd

import (
	"errors"
	"fmt"
	"io"
	"os"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
)

// judgeOrFix is judgeText and, with --fix, writes the file with the hints done that are certain, and judges that.
func judgeOrFix(a *cli.App, s *cli.Source, text []byte, f *verifyFlags, d *verdict) (*either.Program, error) {
	p, err := judgeText(a, s, text, f, d)
	var list diag.List
	if !f.fix || !errors.As(err, &list) || !fixable(s.Name) {
		return p, err
	}
	judged := func(text []byte) diag.List {
		_, err := judgeText(a, s, text, f, &verdict{file: d.file})
		var list diag.List
		if err != nil && !errors.As(err, &list) {
			return append(list, diag.New(diag.Internal, diag.Span{}, "%v", err))
		}
		return list
	}
	mended, gone := diag.Mend(s.Name, text, list, judged)
	if len(gone) == 0 {
		return p, err
	}
	err = a.WriteTo(s.Name, func(w io.Writer) error {
		_, err := w.Write(mended)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range gone {
		e := gone[i].Fix
		d.notes(fmt.Sprintf("line %d: %s is now %s", e.Span.Line, e.Old, e.New))
	}
	d.judged, d.warned = verify.Report{}, nil
	return judgeText(a, s, mended, f, d)
}

// fixable reports whether a source is a file that may be written.
func fixable(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && !cli.IsStdin(name)
}
