// This file lays out the tables that host and kernel share. Every field has a
// fixed width, addresses are 64-bit numbers, and executor/abi/rows.go holds the same
// structs in Go; a test compares sizes and offsets. It is C as well as C++.
#pragma once

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#ifdef __cplusplus
#define ABI_SIZE(T, n) static_assert(sizeof(struct T) == n, #T " has changed its layout")
#else
#define ABI_SIZE(T, n) _Static_assert(sizeof(struct T) == n, #T " has changed its layout")
#endif

// Element types, numbered as data.DType.
enum DType {
  DT_F16, DT_BF16, DT_F32, DT_F64,
  DT_I8, DT_U8, DT_I32, DT_U32, DT_I64, DT_U64,
  DT_E4M3, DT_E5M2,
  DT_COUNT
};

// Reductions, numbered as data.RedOp. RED_AVG sums. Of floats, it multiplies operands that are fresh by 1 / ranks
// (values/ops.h). Of integers, it divides by the number of ranks at steps that are STEP_FINAL.
enum RedOp { RED_SUM, RED_PROD, RED_MIN, RED_MAX, RED_AVG, RED_COUNT };

// Why a launch stopped early.
// STATUS_STUCK is a launch that was watched and in which no block could go on.
enum StatusCode { STATUS_OK, STATUS_TIMEOUT, STATUS_CANCELLED, STATUS_HOST, STATUS_STUCK };

// What a step waited for when its time ran out.
// WAIT_MEET is for all other blocks, where the flags of packets begin anew; WAIT_PORT is for a copy that a
// port makes, and WAIT_NET for the proxy, to take a row of a rank of another node.
enum WaitKind { WAIT_FLAG, WAIT_SLOT, WAIT_MESSAGE, WAIT_PACKET, WAIT_MEET, WAIT_PORT, WAIT_NET };

// One step. Chunk indices and classes count as in ir.Step; chain is the number
// of steps, itself included, that one multi-source reduction does at once. flags are ir.StepFlags and what follows.
enum {
  STEP_FRESH = 64,        // src is fresh: an input that no step has added to another (eval.Fresh)
  STEP_FRESH_WITH = 128,  // what src is combined with is fresh: what is received, or dst
};
struct abi_step {
  u8 op, src_buf, dst_buf, flags;
  u32 count;
  u32 src, dst;
  u32 first_class;
  i32 dep_block, dep_step;
  u32 chain;
};
ABI_SIZE(abi_step, 32);

// One thread block. first_block is block 0 of its rank, from which dep_block
// counts. A connection is -1 where the block has none.
struct abi_block {
  u32 rank, first_block;
  u32 first_step, steps;
  i32 send, recv;
};
ABI_SIZE(abi_block, 24);

// The memory of one rank.
struct abi_rank {
  u64 input, output, scratch;
};
ABI_SIZE(abi_rank, 24);

// What a block carries from launch to launch. flag is 1 + tile * steps + step
// of the last step that was published, with tiles counted since the last reset;
// sent and received count messages since then.
struct abi_state {
  u64 flag, tiles, sent, received;
  u64 pad[4];
};
ABI_SIZE(abi_state, 64);

// The counters of one connection: messages that the receiver is done with, and
// messages that the sender has posted (Simple only; packets carry their own).
struct abi_counters {
  u64 head, pad0[7];
  u64 tail, pad1[7];
};
ABI_SIZE(abi_counters, 128);

// Where a connection's memory is: its slots and its tail at the receiver, its
// head at the sender, so that who polls does so at home.
struct abi_conn {
  u64 slots;       // bytes
  u64 head, tail;  // of abi_counters
};
ABI_SIZE(abi_conn, 24);

// How a launch ended. code is also the abort word, which every wait polls: who
// changes it from STATUS_OK fills in the rest, and everybody else leaves. limit_ns
// is how long one wait may last; the host may change it as long as the launch
// runs. replica and operand are a one-sided program's, whose blocks are numbered as
// in the whole program. leave is the address of a word, or 0: where the word is not 0, long waits end as if they had
// run out of time. It may lie in memory of the host, which is written without the driver.
struct abi_status {
  u32 code, block, step, what;
  u64 want, have, tile, waited_ns;
  u64 limit_ns;
  u32 replica, operand;
  u64 leave, pad;
};
ABI_SIZE(abi_status, 80);

// What a block does at once, for who watches a launch: one message of a step
// that transfers, all of another step, or a chain of re. The table has those of
// a launch, block by block in order. begin and end are of a clock that counts
// both, 0 where it never came to that; seen is what a chosen chunk began with
// after the end.
struct abi_action {
  u32 step, message, tile, pad;
  u64 begin, end, seen;
};
ABI_SIZE(abi_action, 40);

// Where a traced launch of a two-sided program records when actions began and ended: rows
// (struct abi_one_record), and for each block the number of its first (u64); after the last block's
// is the end of all. Actions that a block has no row for are not recorded.
struct abi_trace {
  u64 rows, first;
};
ABI_SIZE(abi_trace, 16);

// One launch. A piece has elems elements in chunks of `chunk` elements, the last
// of the `chunks` of a piece being shorter or empty. A tile iteration moves
// `tile` elements of each chunk.
struct abi_launch {
  u64 steps, blocks, ranks, states, conns, status;
  u64 elems, chunk, tile;
  u64 slot_bytes;   // payload that a message may have
  u64 slot_stride;  // from slot to slot: payload with its flags
  u32 chunks, slots;
  u32 block_count, rank_count;
  u32 proto, dtype, redop, elem_size;
  double inverse;  // 1 / rank_count
};
ABI_SIZE(abi_launch, 128);
