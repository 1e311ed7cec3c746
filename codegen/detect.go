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

// MaxFile is how many bytes the largest program has that is read, of any kind, where ReadOptions do not say.
const MaxFile = 512 << 20

// LimitFile gives the bytes of a program that messages call name, and behind the first opt.MaxFile bytes an error if there are more.
func LimitFile(name string, r io.Reader, opt ReadOptions) io.Reader {
	return files.LimitHint(name, r, "a program", opt.maxFile(), opt.moreFile())
}

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

// headBytes is how many bytes of a file, behind its leading blanks, say what it holds, and MostBlanks how many blanks are looked behind.
const (
	headBytes  = 512
	MostBlanks = 64 << 10
)

// NewHead returns a buffered reader of r for Head.
func NewHead(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, MostBlanks) }

// Head returns what Detect needs of a file, which r goes on to give from its beginning. r is of NewHead.
func Head(r *bufio.Reader) ([]byte, error) {
	for n := headBytes; ; n = min(2*n, MostBlanks) {
		head, err := r.Peek(n)
		if err == io.EOF {
			return head, nil
		}
		if err != nil || n == MostBlanks || len(bytes.TrimLeft(head, blanks)) >= headBytes {
			return head, err
		}
	}
}

const blanks = " \t\r\n"

// Detect tells from the first bytes of a file, those of Head or all, what it
// holds. Names say nothing: text that is nothing else is a source file, and
// what is no text is unknown.
func Detect(head []byte) FileKind {
	start := len(head) - len(bytes.TrimLeft(head, blanks))
	head = head[:min(len(head), start+headBytes)]
	if bytes.HasPrefix(head, []byte(planMagic)) {
		return KindPlan
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), blanks)
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
	r := NewHead(LimitFile(name, f, opt))
	head, err := Head(r)
	if err != nil {
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
