package codegen

import "bytes"

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
