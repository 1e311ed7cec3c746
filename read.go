package mscclc

import (
	"errors"
	"io"

	"mscclc/codegen"
	"mscclc/codegen/msccl"
	"mscclc/codegen/mscclpp"
	"mscclc/codegen/mscclpp/lower"
	"mscclc/codegen/program"
	"mscclc/files"
	"mscclc/ir/diag"
	"mscclc/ir/either"
)

// ReadFile reads the program in a file: MSCCL-IR XML, or a program file of mscclc in either form. It looks at the
// content, not at the name. It fails as ReadProgram does, and for a file that cannot be read.
func ReadFile(name string, opt codegen.ReadOptions) (*either.Program, error) {
	f, err := files.Open(name)
	if err != nil {
		var list diag.List
		if !errors.As(err, &list) {
			err = diag.List{diag.New(diag.Io, diag.FileSpan(name), "%v", err)}
		}
		return nil, err
	}
	defer f.Close()
	r := codegen.NewHead(codegen.LimitFile(name, f, opt))
	head, err := codegen.Head(r)
	if err != nil {
		return nil, err
	}
	return ReadProgram(codegen.Detect(head), name, r, opt)
}

// ReadProgram reads a program of a kind that codegen.Detect found. Messages call r name. The error is a diag.List, also
// for a kind that is no compiled program: Compile makes programs of source, and mscclpp.Read reads execution plans of
// MSCCL++.
func ReadProgram(kind codegen.FileKind, name string, r io.Reader, opt codegen.ReadOptions) (
	p *either.Program, err error) {
	if !kind.Compiled() {
		return nil, noProgram(kind, name)
	}
	p, err = forms[kind].read(name, r, opt)
	if t := opt.Target; err == nil && t != nil && t.Format == codegen.FormatMSCCLPP {
		err = Fits(p, t).Err()
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// WriteProgram writes p, which t can run (Fits), as a file whose name ends in ending: in the form of this ending, or in
// t's usual one. Execution plans have their own writer: PlanMSCCLPP and mscclpp.Write.
func WriteProgram(w io.Writer, p *either.Program, t *codegen.Target, ending string) error {
	return forms[t.Kind(ending)].write(w, p, t)
}

// A form reads and writes files of a kind.
type form struct {
	read  func(name string, r io.Reader, opt codegen.ReadOptions) (*either.Program, error)
	write func(w io.Writer, p *either.Program, t *codegen.Target) error
}

// forms has the forms of compiled programs. Those without a target have no write.
var forms = map[codegen.FileKind]form{
	codegen.KindXML:         {readXML, msccl.Write},
	codegen.KindProgram:     {program.Read, writeProgram},
	codegen.KindProgramJSON: {read: program.ReadJSON},
}

func readXML(name string, r io.Reader, opt codegen.ReadOptions) (*either.Program, error) {
	p, err := msccl.Read(name, r, opt)
	return either.OfFifo(p), err
}

// writeProgram is program.Write for any target.
func writeProgram(w io.Writer, p *either.Program, _ *codegen.Target) error {
	return program.Write(w, p)
}

// noProgram returns the error for a file of a kind that is no compiled program.
func noProgram(kind codegen.FileKind, name string) error {
	what := kind.String()
	if kind == codegen.KindUnknown {
		what = "binary data"
	}
	d := diag.New(diag.Malformed, diag.FileSpan(name), "this is %s, and not a compiled program", what)
	return diag.List{d.WithHint("give MSCCL-IR XML, or a program file of mscclc")}
}

// Fits returns what of p target t cannot run, each with a way out: the worst excess of every limit, or nothing.
func Fits(p *either.Program, t *codegen.Target) diag.List {
	if t.Format != codegen.FormatMSCCLPP {
		return codegen.CheckLimits(p, t)
	}
	c, err := lower.Channels(p.OneSided, lower.Options{})
	if err == nil {
		_, err = mscclpp.PlanOf(c)
	}
	found, _ := err.(diag.List)
	return found
}
