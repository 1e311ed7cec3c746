package codegen

import (
	"cmp"

	"mscclc/internal/strictjson"
	"mscclc/ir/diag"
	"mscclc/ir/form"
)

// ReadOptions say what the readers of all formats accept.
type ReadOptions struct {
	// Target, where not nil, is the runtime whose spelling, limits and reader's
	// habits the file must keep. Nil takes both dialects of XML, within bounds of our own.
	Target *Target
	// MaxCells bounds the chunks of all buffers of all ranks, and MaxMoved those
	// that all steps move: a file can ask for far more work than it has bytes. 0
	// is 4 million and 1,024 a step, up to 64 and 128 million.
	MaxCells, MaxMoved int64
	// Strict has keys of a plan's JSON that MSCCL++ ignores be errors.
	Strict bool
	// MaxFile bounds the bytes of the file; 0 is the constant of that name.
	MaxFile int64
	// Warn, where not nil, sees what the file's runtimes ignore in it.
	Warn func(diag.Diagnostic)
}

func (o ReadOptions) maxFile() int64 { return cmp.Or(o.MaxFile, MaxFile) }

// moreFile returns the hint of a message that a file is too large.
func (o ReadOptions) moreFile() string { return diag.MoreHint("file", o.maxFile(), MaxFile) }

// JSON returns how a plan's JSON is read.
func (o ReadOptions) JSON() strictjson.Options {
	return strictjson.Options{What: "plan", MaxBytes: o.maxFile(), MaxMemory: o.maxFile() / 2, Smaller: o.moreFile()}
}

// Bounds returns what a file of a given number of steps may ask for.
func (o ReadOptions) Bounds(steps int) form.Bounds {
	usual := leastBound + boundPerStep*int64(steps)
	b := form.Bounds{Cells: o.MaxCells, Moved: o.MaxMoved}
	if b.Cells == 0 {
		b.Cells = min(usual, mostCells)
	}
	if b.Moved == 0 {
		b.Moved = min(usual, MostMoved)
	}
	b.Memory = b.Cells
	return b
}

// MostMoved is how many chunks all steps of a file may move together if ReadOptions do not say.
const MostMoved = 128 << 20

// What else a file may ask for if the options do not say.
const (
	leastBound   = 4 << 20
	boundPerStep = 1 << 10
	mostCells    = 64 << 20
)

// WriteError returns an error of a writer as a diag.List, nil if err is nil.
func WriteError(err error) error {
	if err == nil {
		return nil
	}
	return diag.List{diag.New(diag.Io, diag.Span{}, "cannot write: %v", err)}
}
