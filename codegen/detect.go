package codegen

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"mscclc/files"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// MaxFile is how many bytes the largest program has that is read, of any kind.
const MaxFile = 1 << 30

// A FileKind is what a file holds.
type FileKind uint8

// The kinds of files.
const (
	KindUnknown  FileKind = iota
	KindSource            // .mscl text
	KindXML               // MSCCL-IR
	KindPlan              // a binary plan
	KindPlanJSON          // a plan's JSON
	KindMSCCLPP           // an execution plan of MSCCL++
	KindJSON              // other JSON
)

func (k FileKind) String() string {
	return [...]string{"unknown", "mscl source", "MSCCL-IR XML", "a plan of mscclc", "the JSON of a plan of mscclc",
		"a plan of MSCCL++", "JSON"}[k]
}

// Detect tells from the first bytes of a file, 512 of them or all, what it
// holds. Names say nothing: text that is nothing else is a source file, and
// what is no text is unknown.
func Detect(head []byte) FileKind {
	head = head[:min(len(head), 512)]
	if bytes.HasPrefix(head, []byte(planMagic)) {
		return KindPlan
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case bytes.IndexByte(head, 0) >= 0:
		return KindUnknown
	case bytes.HasPrefix(text, []byte("<")):
		return KindXML
	case bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("[")):
		if bytes.Contains(text, []byte(`"`+jsonFormat+`"`)) {
			return KindPlanJSON
		}
		for _, key := range []string{`"gpus"`, `"reuse_resources"`, `"num_threads_per_block"`} {
			if bytes.HasPrefix(text, []byte("{")) && bytes.Contains(text, []byte(key)) {
				return KindMSCCLPP
			}
		}
		return KindJSON
	}
	return KindSource
}

// ReadFile reads the program in a file: MSCCL-IR XML, or a program file of mscclc in either form. It looks at the
// content, not at the name. It fails as ReadProgram does, and for a file that cannot be read.
func ReadFile(name string, opt ReadOptions) (*ir.Program, error) {
	f, err := files.Open(name)
	if err != nil {
		var list diag.List
		if !errors.As(err, &list) {
			err = diag.List{diag.New(diag.Io, diag.FileSpan(name), "%v", err)}
		}
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(files.Limit(name, f, "a program", MaxFile), 1<<16)
	head, err := r.Peek(512)
	if err != nil && err != io.EOF {
		return nil, err
	}
	return ReadProgram(Detect(head), name, r, opt)
}

// ReadProgram reads a program of a kind that Detect told. Messages call r name. The error is a diag.List, also for a
// kind that is no compiled program: mscclc.Compile makes programs of source, and ReadMSCCLPP reads plans of MSCCL++.
func ReadProgram(kind FileKind, name string, r io.Reader, opt ReadOptions) (*ir.Program, error) {
	switch kind {
	case KindXML:
		return ReadMSCCL(name, r, opt)
	case KindPlan:
		return ReadPlan(name, r, opt)
	case KindPlanJSON:
		return ReadPlanJSON(name, r, opt)
	}
	what := kind.String()
	if kind == KindUnknown {
		what = "binary data"
	}
	d := diag.New(diag.Malformed, diag.FileSpan(name), "this is %s, and not a compiled program", what)
	return nil, diag.List{d.WithHint("give MSCCL-IR XML, or a program file of mscclc")}
}
