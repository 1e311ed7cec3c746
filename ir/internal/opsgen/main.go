// Command opsgen writes kernels/abi/ops_gen.h for the interpreter kernel. This header has the numbers of ir's
// operations, buffers, protocols and step flags. For each column of ir.Ops, it has a mask of the operations that have
// this property. The header includes nothing.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
	"unicode"

	"mscclc/ir"
)

func main() {
	out := flag.String("o", "", "the file to write")
	flag.Parse()
	if err := os.WriteFile(*out, header(), 0o644); err != nil {
		log.Fatal(err)
	}
}

// masks are the columns of ir.Ops that the kernel branches on.
var masks = []struct {
	name, doc string
	has       func(*ir.OpInfo) bool
}{
	{"OPS_RECEIVE", "consume the next message of the receive connection", func(o *ir.OpInfo) bool { return o.Receives }},
	{"OPS_SEND", "produce the next message of the send connection", func(o *ir.OpInfo) bool { return o.Sends }},
	{"OPS_READ_SRC", "read src in the rank's own memory", func(o *ir.OpInfo) bool { return o.ReadsSrc }},
	{"OPS_READ_DST", "read dst in the rank's own memory", func(o *ir.OpInfo) bool { return o.ReadsDst }},
	{"OPS_WRITE", "write dst in the rank's own memory", func(o *ir.OpInfo) bool { return o.Writes }},
	{"OPS_REDUCE", "combine two values with the reduction", func(o *ir.OpInfo) bool { return o.Reduces }},
}

func header() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Code generated from ir.Ops by \"go generate ./ir\"; DO NOT EDIT.\n#pragma once\n")

	fmt.Fprintf(&b, "\n// What one step does; recv is the next message of the receive connection.\nenum Op {\n")
	for op := range ir.NumOps {
		info := op.Info()
		fmt.Fprintf(&b, "  %-30s // %s: %s\n", fmt.Sprintf("OP_%s = %d,", snake(info.Name), op), info.Mnemonic, info.Doc)
	}
	fmt.Fprintf(&b, "  OP_COUNT = %d\n};\n", ir.NumOps)

	fmt.Fprintf(&b, "\n// Sets of operations: bit 1 << op.\nenum OpMask {\n")
	for i, m := range masks {
		set := 0
		for op := range ir.NumOps {
			if m.has(op.Info()) {
				set |= 1 << op
			}
		}
		end := ","
		if i == len(masks)-1 {
			end = ""
		}
		fmt.Fprintf(&b, "  %-22s // %s\n", fmt.Sprintf("%s = 0x%03x%s", m.name, set, end), m.doc)
	}
	fmt.Fprintf(&b, "};\n")

	var moves []string
	for op := range ir.NumOps {
		if op.Moves() {
			moves = append(moves, fmt.Sprintf("(op) == OP_%s", snake(op.Info().Name)))
		}
	}
	fmt.Fprintf(&b, "\n// Whether a one-sided operation moves chunks. The operands of the others are flags.\n")
	fmt.Fprintf(&b, "#define OP_MOVES(op) (%s)\n", strings.Join(moves, " || "))

	fmt.Fprintf(&b, "\n// A buffer of a rank; BUF_NONE is an operand that the operation does not have.\n")
	fmt.Fprintf(&b, "enum Buf { BUF_INPUT = %d, BUF_OUTPUT = %d, BUF_SCRATCH = %d, BUF_PACKETS = %d, BUF_FLAGS = %d, BUF_NONE = %d };\n",
		ir.Input, ir.Output, ir.Scratch, ir.Packets, ir.Flags, ir.NoBuf)

	fmt.Fprintf(&b, "\n// How data is flagged on the wire.\nenum Protocol {")
	for p := range ir.NumProtocols {
		fmt.Fprintf(&b, " PROTO_%s = %d,", strings.ToUpper(p.String()), p)
	}
	fmt.Fprintf(&b, " PROTO_COUNT = %d };\n", ir.NumProtocols)

	fmt.Fprintf(&b, "\n// Flags of a step: some step waits for it; it makes the complete sum; it runs together with\n")
	fmt.Fprintf(&b, "// the one before it; in a launch's first tile iteration only; in its last only.\n")
	fmt.Fprintf(&b, "enum StepFlag { STEP_HAS_DEP = %d, STEP_FINAL = %d, STEP_JOINT = %d, STEP_ENTER = %d, STEP_LEAVE = %d };\n",
		ir.HasDep, ir.Final, ir.Joint, ir.Enter, ir.Leave)
	return b.Bytes()
}

// snake turns RecvCopySend into RECV_COPY_SEND.
func snake(s string) string {
	var b strings.Builder
	for i, r := range s {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}
