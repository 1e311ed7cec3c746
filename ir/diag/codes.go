package diag

import "strings"

// A Code names one kind of error, for ever. Each has an entry in explanations.
type Code string

// The codes of verified programs; see "Verification" in ARCHITECTURE.md.
const (
	Malformed     Code = "malformed"     // not of its format
	Limit         Code = "limit"         // larger than a target or a stated budget allows
	OutOfBounds   Code = "out-of-bounds" // a chunk beyond its buffer, a rank beyond the last
	Unmatched     Code = "unmatched"     // a send without its receive, or with another count
	Deadlock      Code = "deadlock"      // steps that wait for each other
	Race          Code = "race"          // two conflicting accesses that nothing orders
	AcrossNodes   Code = "across-nodes"  // data of another node that need not have arrived, or cannot
	Uninitialized Code = "uninitialized" // a chunk is read before anything writes it
	WrongResult   Code = "wrong-result"  // an output chunk does not hold what the collective says
	Uneven        Code = "uneven"        // chunks of different lengths where sizes do not divide
	NotFinal      Code = "final"         // a step marked as making a complete sum that does not, or the reverse
	Finished      Code = "finished"      // a finished row used as a sum, or a raw sum in place of a finished row
	Undecided     Code = "undecided"     // not decided within the stated budget, or by time alone
)

// The codes of what MSCCL++'s executor does wrong with a plan that is right; see Code.Warning. MSCCLPPZero alone is of
// an error.
const (
	MSCCLPPFlush     Code = "mscclpp-flush"     // a flush, which waits for nothing
	MSCCLPPGet       Code = "mscclpp-get"       // a get between different chunks, which it swaps
	MSCCLPPPut       Code = "mscclpp-put"       // a put from several buffers, all of which it takes for the first
	MSCCLPPReduce    Code = "mscclpp-reduce"    // min and max, which it sums
	MSCCLPPSize      Code = "mscclpp-size"      // sizes from 4 GiB on, which wrap
	MSCCLPPGraph     Code = "mscclpp-graph"     // packets, whose flag a captured graph repeats
	MSCCLPPDouble    Code = "mscclpp-double"    // plain data in scratch of two halves
	MSCCLPPScratch   Code = "mscclpp-scratch"   // packets in scratch that is sized for plain data
	MSCCLPPZero      Code = "mscclpp-zero"      // a division by zero
	MSCCLPPAlign     Code = "mscclpp-align"     // an alignment of less than 16 bytes
	MSCCLPPPort      Code = "mscclpp-port"      // a put through a port from memory that it takes for other memory
	MSCCLPPLoop      Code = "mscclpp-loop"      // an operation that does not go through a loop as the loop does
	MSCCLPPReuse     Code = "mscclpp-reuse"     // a sum with a put, where scratch is reused
	MSCCLPPSemaphore Code = "mscclpp-semaphore" // a semaphore that two blocks acquire
	MSCCLPPName      Code = "mscclpp-name"      // plans of one name that are not equal
	MSCCLPPHalves    Code = "mscclpp-halves"    // halves of scratch that ranks find in different places
	MSCCLPPPart      Code = "mscclpp-part"      // in place, memory of another rank that is named through a part of it
	MSCCLPPRoom      Code = "mscclpp-room"      // messages for which scratch that is reused has no room
	MSCCLPPThreads   Code = "mscclpp-threads"   // fewer threads than an operation has channels
	MSCCLPPFirst     Code = "mscclpp-first"     // other ranks' buffers, where resources are reused
	MSCCLPPKey       Code = "mscclpp-key"       // a key of a plan that it ignores
)

// The codes of what is slow or fragile in a plan of MSCCL++, which mscclc lint finds; see Code.Warning.
const (
	LintMeet     Code = "lint-meet"     // unneeded block barriers
	LintFuse     Code = "lint-fuse"     // two operations that could be one
	LintCopy     Code = "lint-copy"     // a copy of a chunk onto itself
	LintFence    Code = "lint-fence"    // a signal that releases nothing
	LintIdle     Code = "lint-idle"     // blocks that wait for others
	LintUnused   Code = "lint-unused"   // channels, semaphores and scratch that nothing uses
	LintResident Code = "lint-resident" // more blocks than a GPU may run at once
	LintThreads  Code = "lint-threads"  // threads that idle
)

// Ignored is the code of what the runtimes of a file ignore in it; see Code.Warning.
const Ignored Code = "ignored"

// Warning reports whether the code is of a warning: what has it is right as it stands, and slow, fragile or wrong in a
// runtime that is not ours. A List with nothing else rejects nothing.
func (c Code) Warning() bool {
	return c == Ignored || strings.HasPrefix(string(c), "mscclpp-") && c != MSCCLPPZero ||
		strings.HasPrefix(string(c), "lint-")
}

// The codes of the language.
const (
	Syntax        Code = "syntax"       // the text is not of the grammar
	Lexical       Code = "lexical"      // a character or a literal that is none
	Undefined     Code = "undefined"    // a name that nothing declares
	Redefined     Code = "redefined"    // a name declared twice, or one that is taken
	Kind          Code = "kind"         // a value of another kind than is needed
	Assign        Code = "assign"       // a name that cannot be assigned
	Arguments     Code = "arguments"    // wrong, missing or repeated arguments
	Arithmetic    Code = "arithmetic"   // division by zero, overflow, no power of two
	AssertFailed  Code = "assert"       // an assert of the file, with its text
	Stale         Code = "stale"        // a reference to a chunk that was overwritten
	ReadOnlyInput Code = "read-only"    // a write to input in a file written out of place
	Counts        Code = "counts"       // operands of different counts
	Overlap       Code = "overlap"      // source and destination overlap in part
	Recursion     Code = "recursion"    // a function that calls itself
	ImportFailed  Code = "import"       // a file that cannot be imported
	Declaration   Code = "declaration"  // a declaration missing, misplaced or repeated
	Parameter     Code = "parameter"    // a -p that does not fit the file
	Hint          Code = "hint"         // a hint that cannot be followed
	Unused        Code = "unused"       // a value that nothing uses where that is an error
	Mixed         Code = "mixed"        // statements of two levels in one algorithm
	Channel       Code = "channel"      // what a channel, or the thread block that uses it, cannot do
	NotInPlace    Code = "not-in-place" // a collective or file that has no in-place form
	Unsupported   Code = "unsupported"  // what a target, a format or a program cannot do
	Unavailable   Code = "unavailable"  // what this machine or this build of mscclc cannot do
	Io            Code = "io"           // a file that cannot be read or written
	Usage         Code = "usage"        // a command line that is none
	Internal      Code = "internal"     // a fault of mscclc itself
	Timeout       Code = "timeout"      // a wait that outlasted its deadline

	NothingCompared Code = "nothing-compared" // a run whose data nobody could compare
)
