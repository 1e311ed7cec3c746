package codegen

import (
	"bufio"
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"mscclc/files"
)

// MaxFile is how many bytes the largest program has that is read, of any kind, where ReadOptions do not say.
const MaxFile = 512 << 20

// LimitFile gives the bytes of a program that messages call name, with a byte order mark, and after the first
// opt.MaxFile bytes an error if there are more.
func LimitFile(name string, r io.Reader, opt ReadOptions) io.Reader {
	return files.LimitHint(name, r, "a program", opt.maxFile(), opt.moreFile())
}

// The marks of our own program files.
const (
	ProgramMagic  = "MSCCLPLN"       // the first bytes of the binary form
	ProgramFormat = "mscclc-program" // the value of the key "format" in the JSON form
)

// A FileKind is what a file holds. FileKinds has a row for each.
type FileKind uint8

// The kinds of files.
const (
	KindUnknown     FileKind = iota
	KindSource               // .mscl text
	KindXML                  // MSCCL-IR
	KindProgram              // a program file, binary
	KindProgramJSON          // a program file's JSON
	KindMSCCLPP              // an execution plan of MSCCL++
	KindJSON                 // other JSON
)

// A FileKindInfo says what files of a kind are called, and what they are for.
type FileKindInfo struct {
	Text     string // for messages
	Ending   string // of their names, or ""
	Target   string // which the ending asks for, if compile writes such files; or ""
	Compiled bool   // mscclc.ReadProgram reads them
}

// FileKinds lists the kinds of files, by FileKind.
var FileKinds = [...]FileKindInfo{
	KindUnknown:     {Text: "unknown"},
	KindSource:      {Text: "mscl source", Ending: files.LibrarySuffix},
	KindXML:         {Text: "MSCCL-IR XML", Ending: ".xml", Target: "msccl", Compiled: true},
	KindProgram:     {Text: "a program file of mscclc", Ending: ".mprog", Target: "program", Compiled: true},
	KindProgramJSON: {Text: "the JSON of a program file of mscclc", Ending: ".json", Compiled: true},
	KindMSCCLPP:     {Text: "a plan of MSCCL++", Ending: ".json", Target: "mscclpp"},
	KindJSON:        {Text: "JSON"},
}

func (k FileKind) String() string { return FileKinds[k].Text }

// Compiled reports whether mscclc.ReadProgram reads files of kind k.
func (k FileKind) Compiled() bool { return FileKinds[k].Compiled }

// CompiledName reports whether a file's name ends as those of compiled programs and of plans do.
func CompiledName(name string) bool {
	ending := strings.ToLower(filepath.Ext(name))
	return slices.ContainsFunc(FileKinds[:], func(i FileKindInfo) bool {
		return i.Ending == ending && (i.Compiled || i.Target != "")
	})
}

// Kind returns the kind of file that t's programs are written as, if the name ends in ending.
func (t *Target) Kind(ending string) FileKind {
	kind := KindUnknown
	for k := range FileKinds {
		i := &FileKinds[k]
		if of, err := TargetByName(i.Target); err != nil || of.Format != t.Format {
			continue
		}
		if kind == KindUnknown || i.Ending == ending {
			kind = FileKind(k)
		}
	}
	return kind
}

// headBytes is how many bytes of a file, after its leading blanks, say what it holds, and MostBlanks how many blanks
// are skipped.
const (
	headBytes  = 512
	MostBlanks = 64 << 10
)

// NewHead returns a buffered reader of r for Head.
func NewHead(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, MostBlanks) }

// Head returns what Detect needs of a file, which r goes on to give from its beginning. r is of NewHead. A byte order
// mark is left out, but for XML: the runtimes that read XML take none.
func Head(r *bufio.Reader) ([]byte, error) {
	head, err := peek(r)
	if text := files.TrimMark(head); err == nil && len(text) < len(head) && Detect(head) != KindXML {
		r.Discard(len(head) - len(text))
		head = text
	}
	return head, err
}

func peek(r *bufio.Reader) ([]byte, error) {
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

// Detect finds from the first bytes of a file, those of Head or all, what it
// holds. Names say nothing: text that is nothing else is a source file, and
// what is no text is unknown.
func Detect(head []byte) FileKind {
	start := len(head) - len(bytes.TrimLeft(head, blanks))
	head = head[:min(len(head), start+headBytes)]
	if bytes.HasPrefix(head, []byte(ProgramMagic)) {
		return KindProgram
	}
	text := bytes.TrimLeft(files.TrimMark(head), blanks)
	switch {
	case bytes.IndexByte(head, 0) >= 0:
		return KindUnknown
	case bytes.HasPrefix(text, []byte("<")):
		return KindXML
	case bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("[")):
		if bytes.Contains(text, []byte(`"`+ProgramFormat+`"`)) {
			return KindProgramJSON
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
