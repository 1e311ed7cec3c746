package codegen

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// A Format is a file format of programs.
type Format uint8

// The formats of targets.
const (
	FormatXML     Format = iota // MSCCL-IR XML
	FormatProgram               // mscclc's own
	FormatMSCCLPP               // an execution plan of MSCCL++
)

// A Target is a runtime that mscclc writes programs for: its limits, and what
// its dialect of XML is like.
type Target struct {
	Name   string
	Doc    string // one line
	Format Format
	Limits ir.Limits
	Use    string // the line that has the runtime use a file: shell, or Python; see UseLine

	// Of XML:
	Kinds     map[ir.Kind]string // its names of the collectives; an absent one it does not have
	Custom    bool               // has coll="custom"
	Inclusive bool               // minBytes, maxBytes and outofplace are mandatory, and maxBytes is in the range
}

// Targets lists the targets of `compile`.
//
// msccl runs 256 steps a block and 216 blocks a rank, of which a step can wait
// for the first 128 only (the field has 8 bits and a sign). Channels are 0 to
// 31, though its reader lets 32 pass. Chunk indices have 16 bits and a sign. A
// step moves at most 71 chunks. Its reader keeps 4,096 nodes, one of which must
// stay free: the algorithm, the ranks, and the blocks and steps of the rank
// that reads. It handles 1,024 children of a node, so 1,024 ranks. A chain of
// reductions overruns its arrays at 17 sources, and with Simple drops the
// destination at 16. A file without maxBytes is for less than 128 MiB.
//
// rccl runs 64 steps a block, 64 blocks and 128 channels (its reader lets one
// more pass, too), loops over the sources of a chain, has no default size, and
// rejects receives that reduce or forward.
//
// mscclpp has no steps of this kind: what its executor has room for is in codegen/mscclpp, and
// codegen/mscclpp/lower keeps to it.
//
// program is mscclc's own executor, whose bounds are those of its 32-bit fields. It
// promises nothing of how many chunks a message holds: one, at least.
var Targets = []*Target{
	{
		Name: "msccl", Doc: "MSCCL-IR XML for microsoft/msccl", Format: FormatXML,
		Use: "export MSCCL_XML_FILES={path} NCCL_ALGO=MSCCL,RING,TREE",
		Limits: ir.Limits{Target: "msccl", Steps: 256, Blocks: 216, Channels: 32, Count: 71, Index: 32767, Peers: 32,
			DepBlock: 127, Nodes: 4096, ReduceChain: 15, ReceiveFused: true, MaxBytes: 1 << 27},
		Kinds: map[ir.Kind]string{ir.AllReduce: "allreduce", ir.AllGather: "allgather", ir.ReduceTo: "reduce",
			ir.Broadcast: "broadcast", ir.AllToAll: "alltoall", ir.ReduceScatter: "reduce_scatter"},
		Custom: true,
	},
	{
		Name: "rccl", Doc: "MSCCL-IR XML for ROCm/rccl", Format: FormatXML,
		Use: "export MSCCL_ALGO_DIR={folder} RCCL_MSCCL_FORCE_ENABLE=1",
		Limits: ir.Limits{Target: "rccl", Steps: 64, Blocks: 64, Channels: 128, Count: 71, Index: 32767, Peers: 32,
			Nodes: 4096},
		Kinds: map[ir.Kind]string{ir.AllReduce: "allreduce", ir.AllGather: "allgather", ir.ReduceTo: "reduce",
			ir.Broadcast: "broadcast", ir.AllToAll: "alltoall", ir.ReduceScatter: "reducescatter",
			ir.Gather: "gather", ir.Scatter: "scatter"},
		Inclusive: true,
	},
	{
		Name: "mscclpp", Doc: "a plan of microsoft/mscclpp", Format: FormatMSCCLPP,
		Use:    "plan = mscclpp.ExecutionPlan({quoted}, rank)",
		Limits: ir.Limits{Target: "mscclpp"},
	},
	{
		Name: "program", Doc: "mscclc's own executor", Format: FormatProgram,
		Use:    "mscclc run {file}",
		Limits: ir.Limits{Target: "program", ReceiveFused: true},
	},
}

// UseLine returns the line that has t's runtime use the file that was written to path. The variables of msccl and RCCL
// hold a path from the root, which begins with $PWD where path is relative.
func (t *Target) UseLine(path string) string {
	return strings.NewReplacer("{path}", shellPath(path), "{folder}", shellPath(filepath.Dir(path)),
		"{quoted}", strconv.Quote(path), "{file}", shellWord(path, "")).Replace(t.Use)
}

// shellPath writes a path from the root for a shell.
func shellPath(path string) string {
	switch {
	case filepath.IsAbs(path):
		return shellWord(path, "")
	case path == ".":
		return shellWord("", "$PWD")
	}
	return shellWord("/"+filepath.Clean(path), "$PWD")
}

// plainWord is a word that a shell takes as it stands.
var plainWord = regexp.MustCompile(`^[\w/.,:@%+=-]*$`)

// shellWord writes text, after a variable or nothing, as one word of a shell.
func shellWord(text, variable string) string {
	if plainWord.MatchString(text) {
		return variable + text
	}
	return `"` + variable + strings.NewReplacer("\\", "\\\\", `"`, `\"`, "$", `\$`, "`", "\\`").Replace(text) + `"`
}

// Takes reports whether files of a kind can be programs for t. Our own executor runs all programs. A program file can
// become XML where t's limits allow it. Text is compiled for t. An unknown kind may be anything: its reader refuses it.
func (t *Target) Takes(kind FileKind) bool {
	switch {
	case kind == KindSource || kind == KindUnknown || t.Format == FormatProgram:
		return true
	case t.Format == FormatMSCCLPP:
		return kind == KindMSCCLPP
	}
	return kind != KindMSCCLPP
}

// MaxRanks is the number of ranks that the readers of XML and of execution plans have room for.
const MaxRanks = 1024

// TargetByName finds a target, or says why there is none of that name.
func TargetByName(name string) (*Target, error) {
	names := make([]string, len(Targets))
	for i, t := range Targets {
		if t.Name == name {
			return t, nil
		}
		names[i] = t.Name
	}
	d := diag.New(diag.Unsupported, diag.Span{}, "%q is no target", name).WithHint("the targets are %s",
		strings.Join(names, ", "))
	return nil, diag.List{d}
}
