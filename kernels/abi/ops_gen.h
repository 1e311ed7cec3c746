// Code generated from ir.Ops by "go generate ./ir"; DO NOT EDIT.
#pragma once

// What one step does; recv is the next message of the receive connection.
enum Op {
  OP_NOP = 0,                    // nop: waits for one more flag on behalf of the next step
  OP_SEND = 1,                   // s: sends src
  OP_RECV = 2,                   // r: dst = received
  OP_RECV_COPY_SEND = 3,         // rcs: dst = received, and sends it on
  OP_RECV_REDUCE_COPY = 4,       // rrc: dst = src ⊕ received
  OP_RECV_REDUCE_COPY_SEND = 5,  // rrcs: dst = src ⊕ received, and sends it on
  OP_RECV_REDUCE_SEND = 6,       // rrs: sends src ⊕ received, and keeps nothing
  OP_COPY = 7,                   // cpy: dst = src
  OP_REDUCE = 8,                 // re: dst = dst ⊕ src
  OP_MOVE = 9,                   // mv: every dst = src ⊕ src ⊕ ..., anywhere
  OP_SIGNAL = 10,                // signal: adds one to each flag of dsts
  OP_AWAIT = 11,                 // wait: waits for the flags of srcs
  OP_COUNT = 12
};

// Sets of operations: bit 1 << op.
enum OpMask {
  OPS_RECEIVE = 0x07c,   // consume the next message of the receive connection
  OPS_SEND = 0x06a,      // produce the next message of the send connection
  OPS_READ_SRC = 0x3f2,  // read src in the rank's own memory
  OPS_READ_DST = 0x100,  // read dst in the rank's own memory
  OPS_WRITE = 0x3bc,     // write dst in the rank's own memory
  OPS_REDUCE = 0x370     // combine two values with the reduction
};

// Whether a one-sided operation moves chunks. The operands of the others are flags.
#define OP_MOVES(op) ((op) == OP_MOVE)

// A buffer of a rank; BUF_NONE is an operand that the operation does not have.
enum Buf { BUF_INPUT = 0, BUF_OUTPUT = 1, BUF_SCRATCH = 2, BUF_PACKETS = 3, BUF_FLAGS = 4, BUF_NONE = 255 };

// How data is flagged on the wire.
enum Protocol { PROTO_SIMPLE = 0, PROTO_LL = 1, PROTO_LL16 = 2, PROTO_LL128 = 3, PROTO_COUNT = 4 };

// Flags of a step: some step waits for it; it makes the complete sum; it runs together with
// the one before it; in a launch's first tile iteration only; in its last only.
enum StepFlag { STEP_HAS_DEP = 1, STEP_FINAL = 2, STEP_JOINT = 4, STEP_ENTER = 8, STEP_LEAVE = 16 };
