// Code generated from package bundle by "go generate ./bundle"; DO NOT EDIT.
// Comments have Go's names: RuleRow is bundle_rule, and WhenEager is RULE_EAGER.
#pragma once
#include "../../../kernels/abi/rows_onesided.h"
#include "../why.h"

const u64 LIMIT_FILE = 1073741824ull;          // the most bytes of a file
const u64 LIMIT_SECTIONS = 65536ull;           // the most sections of a file
const u64 LIMIT_RANKS = 16ull;                 // the most ranks of a set: a launch carries one address for each
const u64 LIMIT_NAME = 63ull;                  // the most bytes in the name of a device or of a program
const u64 LIMIT_IMAGE_NAME = 39ull;            // the most bytes in the name of an image
const u64 LIMIT_LEAST_TARGET = 50ull;          // the lowest GPU version of an image, as in sm_50
const u64 LIMIT_MOST_TARGET = 999ull;          // the highest GPU version of an image
const u64 LIMIT_RULES = 65536ull;              // the most rules of a set
const u64 LIMIT_PROGRAMS = 4096ull;            // the most programs of a set
const u64 LIMIT_ARENA = 268435456ull;          // the most bytes of a rank's arena, which other ranks write to
const u64 LIMIT_PINNED = 268435456ull;         // the most bytes of host memory of a rank, in a set for several nodes
const u64 LIMIT_PART_ALIGN = 256ull;           // offsets of scratch, packets and flags in an arena are multiples of it
const u64 LIMIT_CHUNK_ALIGN = 128ull;          // the bytes from one chunk of scratch to the next are a multiple of it
const u64 LIMIT_ADDRESS = 281474976710656ull;  // the most bytes of scratch, packets or flags: addresses have 48 bits
const u64 LIMIT_CTAS = 4096ull;                // the most CTAs of a launch on a rank
const u64 LIMIT_BLOCKS = 65536ull;             // the most thread blocks of a program, over all ranks
const u64 LIMIT_REPLICAS = 4096ull;            // the most replicas of a launch: the transport counts them in 16 bits
const u64 LIMIT_THREADS = 512ull;              // the most threads of a thread block: kernels are compiled for it
const u64 LIMIT_WARP = 32ull;                  // the threads of a thread block are a multiple of it
const u64 LIMIT_TILE = 1073741824ull;          // the most bytes of a tile
const u64 LIMIT_TILE_ALIGN = 16ull;            // the bytes of a tile are a multiple of it, and not 0
const u64 LIMIT_CHUNKS = 65535ull;             // the most chunks of a piece: a step counts them in 16 bits
const u64 LIMIT_DEPTH = 65536ull;              // the most copies of scratch: the transport numbers them in 16 bits
const u64 LIMIT_STAGES = 8ull;                 // the most stages of an epilogue
const u64 LIMIT_SCALE_BLOCK = 1048576ull;      // the most elements of a row that share a scale
enum { BUNDLE_RANKS = LIMIT_RANKS };
static_assert(DT_COUNT == 12 && RED_COUNT == 5, "kernels/abi/rows.h has the types and reductions of Go");

// The element types, as data.DTypes, and the reductions: names, or null, and the bytes of an element, or 0.
inline const char *dtype_name(u32 n) {
  static const char *const all[DT_COUNT] = {"f16", "bf16", "f32", "f64", "i8", "u8", "i32", "u32", "i64", "u64", "e4m3", "e5m2"};
  return n < DT_COUNT ? all[n] : nullptr;
}
inline u32 size_of(u32 n) {
  static u32 const all[DT_COUNT] = {2, 2, 4, 8, 1, 1, 4, 4, 8, 8, 1, 1};
  return n < DT_COUNT ? all[n] : 0;
}
inline const char *redop_name(u32 n) {
  static const char *const all[RED_COUNT] = {"sum", "prod", "min", "max", "avg"};
  return n < RED_COUNT ? all[n] : nullptr;
}

// The collectives, as ir.Kind. KIND_NONE is none of them.
enum {
  KIND_ALLREDUCE = 0,
  KIND_ALLGATHER = 1,
  KIND_REDUCESCATTER = 2,
  KIND_ALLTOALL = 3,
  KIND_BROADCAST = 4,
  KIND_REDUCE = 5,
  KIND_GATHER = 6,
  KIND_SCATTER = 7,
  KIND_SENDRECV = 8,
  KIND_CUSTOM = 9,
  KIND_COUNT = KIND_CUSTOM,
  KIND_NONE = 255
};
inline const char *kind_name(u32 n) {
  static const char *const all[KIND_CUSTOM + 1] = {"allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce", "gather", "scatter", "sendrecv", "custom"};
  return n < KIND_CUSTOM + 1 ? all[n] : "another";
}
inline bool kind_rooted(u32 kind) { return kind <= KIND_CUSTOM && 0xf0u >> kind & 1; }
inline bool kind_reduces(u32 kind) { return kind <= KIND_CUSTOM && 0x25u >> kind & 1; }
inline bool kind_has_in_place(u32 kind) { return kind <= KIND_CUSTOM && 0x2f7u >> kind & 1; }

// The stages of epilogues, as package ir/epilogue has them. argument is what their parentheses hold.
struct stage_kind {
  const char *name, *argument, *value;
  bool block, last;
  u8 reads, wants, writes;
};
enum { STAGE_NOTHING, STAGE_VECTOR, STAGE_ROWS, STAGE_SCALES };
static const stage_kind stage_kinds[] = {
    {"scale", "", "factor", false, false, 0, 0, 0},
    {"bias", "", "", false, false, 1, 0, 0},
    {"residual", "", "", false, false, 2, 0, 2},
    {"rms_norm", "eps", "eps", false, false, 1, 0, 0},
    {"layer_norm", "eps", "eps", false, false, 1, 1, 0},
    {"activation", "function", "", false, false, 0, 0, 0},
    {"quantise", "type", "", true, true, 0, 0, 3},
    {"cast", "type", "", false, true, 0, 0, 0},
};
enum { STAGE_KINDS = 8, STAGE_FUNCTIONS = 3, STAGE_TYPES = 6 };
static const char *const stage_functions[] = {"relu", "gelu", "silu", };
struct stage_type {
  const char *name;
  u8 dtype, kind;
};
static const stage_type stage_types[] = {
    {"e4m3", 10, 6},
    {"e5m2", 11, 6},
    {"i8", 4, 6},
    {"f16", 0, 7},
    {"bf16", 1, 7},
    {"f32", 2, 7},
};

bool blank(const void *data, u64 bytes);                // all bytes are 0
bool check_name(const char *name, u64 room, Why *why);  // a text that ends, with zeros after it

// Version is the version of the format, and Align the alignment of sections and of the tables in them.
enum {
  BUNDLE_VERSION = 6,
  BUNDLE_ALIGN = 64,
};

// Magic is what a bundle begins with.
#define BUNDLE_MAGIC "MSCCLCB\n"

// NCCLRow is the program of a rule whose calls NCCL runs; any other is the number of a program. none is the number of a
// section that the bundle does not have. Any is a rule's type, operation or root where it is for all of them.
enum {
  BUNDLE_NCCL = 0xffffffff,
  BUNDLE_NONE = 0xffffffff,
  BUNDLE_ANY = 255,
};

// A header begins a bundle. ABI is the SHA-256 of the kernel's sources: of all that host and kernel agree on. Table is
// that of the table of sections, which follows.
struct bundle_header {
  char magic[8];
  u32 version, sections;
  u64 bytes;  // of the file
  u8 abi[32], table[32];
  u8 pad0[40];
};
inline bool blank(const bundle_header &r) { return blank(&r.pad0, sizeof r.pad0); }

// The kinds of sections, in the order in which a bundle has them.
enum {
  SECTION_ABOUT = 1,  // JSON for people: who made the bundle, of what
  SECTION_SET = 2,
  SECTION_PROGRAM = 3,
  SECTION_SOURCE = 4,  // the program file of the program of the same number, for proofs and for messages
  SECTION_IMAGE = 5,
  SECTION_WHERE = 6,  // a line "file:line" for each step of the program of the same number, by rank
  SECTION_NET = 7,  // what the program of the same number sends between nodes, if its ranks are on several
  SECTION_NAMED = 8,  // the names of the program of the same number, if jobs run it by its name
};

// A section is a row of the table of sections. Number is: of a set, its ranks, and 1 << 16 for each set before it for
// as many; of programs, their sources and images, a count from 0 in the bundle.
struct bundle_section {
  u32 kind, number;
  u64 offset, bytes;
  u8 sha256[32];
  u64 pad0;
};
inline bool blank(const bundle_section &r) { return blank(&r.pad0, sizeof r.pad0); }

// A setRow begins the section of a set: of what communicators run whose number of ranks is Ranks. Its rules follow it,
// then the numbers of its programs (uint32). Of sets for as many ranks, that for one node is the first. One for
// invariant bits may follow it, which is for one node, too. The images of the others are net_* ones. Images that finish
// rows, one for each type, follow each other: they run programs with an epilogue.
struct bundle_set {
  u32 ranks, rules, programs, ctas;  // CTAs is the most that a rule has
  u64 arena;  // bytes of a rank's memory that others reach, on any rank
  u32 image[DT_COUNT], copier[DT_COUNT];  // by type: for what is reduced; for what is only moved; or none
  char device[64];  // as the driver has its name
  u8 node[LIMIT_RANKS];  // of each rank, from 0; 0 where all are on one
  u32 invariant;  // 1: sums are added in the order of ranks
  u32 finishers;  // 1 + the first image that finishes rows; 0: none
};

inline bool check(const bundle_set &s, Why *why) {
  if (s.rules > LIMIT_RULES || s.programs > LIMIT_PROGRAMS)
    return say(why, "it has %llu rules and %llu programs, and a set has at most %llu and %llu", (u64)(s.rules), (u64)(s.programs), (u64)(LIMIT_RULES), (u64)(LIMIT_PROGRAMS)), false;
  if (s.ranks < 2 || s.ranks > LIMIT_RANKS)
    return say(why, "it is for %llu ranks", (u64)(s.ranks)), false;
  if (s.invariant > 1)
    return say(why, "a switch of it is not 0 or 1"), false;
  if (s.arena > LIMIT_ARENA)
    return say(why, "its arena has %llu bytes, and %llu are the most", (u64)(s.arena), (u64)(LIMIT_ARENA)), false;
  return check_name(s.device, sizeof s.device, why);
}

// A partRow says where the tables of a rank lie in the section of its program.
struct bundle_part {
  u32 blocks, steps, operands, pad0;
  u64 blocks_at, steps_at, operands_at;
  u64 pad1;
};
inline bool blank(const bundle_part &r) { return blank(&r.pad0, sizeof r.pad0) && blank(&r.pad1, sizeof r.pad1); }

// A netRow begins the section of what a program sends between nodes. Rows of abi.NetMessage and abi.NetSegment follow.
// Operands of such a program may have the buffers of inboxes (rows_net.h).
struct bundle_net {
  u32 messages, segments, inbox, pad0;  // Inbox: the most chunks of scratch that the inbox of a rank has
};
inline bool blank(const bundle_net &r) { return blank(&r.pad0, sizeof r.pad0); }

// check refuses what no program has whose scratch has scratch chunks.
inline bool check(const bundle_net &n, u32 scratch, Why *why) {
  if (!blank(n)) return say(why, "a field that is not used is not 0"), false;
  if (n.inbox > scratch)
    return say(why, "an inbox of %llu chunks has more than scratch", (u64)(n.inbox)), false;
  return true;
}

// The directions of the buffers of a named program, which has one of each.
enum {
  BUFFER_INPUT = 1,
  BUFFER_OUTPUT = 2,
  BUNDLE_NUM_BUFFERS = 2,
};

// A namedRow begins the section of a program that jobs run by its name. Rows of bufferRow follow, for input and output.
// Such a program is staged, is for ranks of one node, and has one rule in its set, which has WhenNamed. No other
// program of the set has the name.
struct bundle_named {
  char name[64];
  u32 buffers, pad0;
};
inline bool blank(const bundle_named &r) { return blank(&r.pad0, sizeof r.pad0); }

inline bool check(const bundle_named &n, Why *why) {
  if (!blank(n)) return say(why, "a field that is not used is not 0"), false;
  if (!check_name(n.name, sizeof n.name, why)) return false;
  if (n.buffers != BUNDLE_NUM_BUFFERS)
    return say(why, "%s has %llu buffers", (n.name), (u64)(n.buffers)), false;
  return true;
}

// A bufferRow is a buffer of a named program. Units says how many units a rank has of it, by rank: pieces or, of a
// custom collective, chunks. A call has as many elements a unit as it says.
struct bundle_buffer {
  char name[32];
  u32 direction, pad0;
  u32 units[LIMIT_RANKS];
};
inline bool blank(const bundle_buffer &r) { return blank(&r.pad0, sizeof r.pad0); }

// The forms of images: PTX, which ends in a zero byte, and machine code.
enum {
  IMAGE_PTX = 0,
  IMAGE_CUBIN = 1,
};

// An imageRow begins the section of an image, before its code.
struct bundle_image {
  u32 form, target, dtype, pad0;  // Target is 80 of sm_80
  u64 bytes;  // of the code
  char name[40];  // onesided_bf16
};
inline bool blank(const bundle_image &r) { return blank(&r.pad0, sizeof r.pad0); }

// check refuses an image that cannot be. Its code has a length of bytes, and ends with last.
inline bool check(const bundle_image &i, u64 bytes, u8 last, Why *why) {
  if (!blank(i)) return say(why, "a field that is not used is not 0"), false;
  if (i.form > IMAGE_CUBIN || i.target < LIMIT_LEAST_TARGET || i.target > LIMIT_MOST_TARGET || i.dtype >= (u32)(DT_COUNT))
    return say(why, "an image of form %llu for sm_%llu and type %llu is out of range", (u64)(i.form), (u64)(i.target), (u64)(i.dtype)), false;
  if (i.bytes != bytes || bytes == 0 || (i.form == IMAGE_PTX && last != 0))
    return say(why, "an image of %llu bytes has %llu, or does not end", (u64)(i.bytes), (u64)(bytes)), false;
  return check_name(i.name, sizeof i.name, why);
}

// A ProgramRow begins the section of a program: what a reader of bundles needs to know of it beside its tables. Rows of
// all ranks' parts follow, then the tables that these name. Scratch, Packets, Flags, Replicas and Tile say what memory
// it needs (abi.OneImage), and the fields after these where that lies in a rank's arena. No two programs of a set
// share any of it. Direct is 1 where steps may reach input and output of other ranks. Only rules for windows name such
// a program. It is right where all ranks are in place, and where none is.
//
// Stages to Block are the program's epilogue (ir/epilogue), if it has one: what becomes of each row of a complete sum
// on its way to the output. Such a program is staged, and for calls out of place. Type is what the output ends as, if
// the last stage is a Quantise or a Cast, and Block is of a Quantise.
struct bundle_program {
  u32 kind, ranks, root, chunks;  // Chunks: of a piece
  u32 protocol, depth;
  u8 one_pass, copies, lines, even;
  u8 inplace, outofplace, bitwise, direct;
  u32 scratch, packets, flags;  // chunks that a rank has of them; Flags without the runtime's
  u32 blocks;  // of all ranks
  u32 replicas, nodes;  // Nodes: how many the ranks are on, or 0 for one
  u64 tile;
  u64 scratch_at, packets_at, flags_at, end_at;
  char name[64];  // allreduce/ring LL128
  u32 ordered;  // 1: it adds in the order of ranks (bitwise.InRankOrder)
  u32 block;  // elements that share a scale; 0: all of a row
  u8 stage[8];  // epilogue.Kind
  u8 stages, function, type;  // how many; epilogue.Function of an Activation; data.DType
  u8 pad0[5];
  u64 pad1;
};
inline bool blank(const bundle_program &r) { return blank(&r.pad0, sizeof r.pad0) && blank(&r.pad1, sizeof r.pad1); }

// isTile reports whether tiles may have n bytes.
inline bool is_tile(u64 n) {
  return n >= LIMIT_TILE_ALIGN && n <= LIMIT_TILE && (n % LIMIT_TILE_ALIGN) == 0;
}

// Title returns the program's name and protocol: allreduce/ring LL128.
inline const char * title(const bundle_program &p) {
  return p.name;
}

// checkSize refuses a program that is larger than any of a bundle.
inline bool check_size(const bundle_program &p, Why *why) {
  if (p.blocks > LIMIT_BLOCKS)
    return say(why, "it has %llu thread blocks on all ranks, and a program of a bundle has at most %llu", (u64)(p.blocks), (u64)(LIMIT_BLOCKS)), false;
  if (p.chunks > LIMIT_CHUNKS)
    return say(why, "it has %llu chunks, and a program of a bundle has at most %llu", (u64)(p.chunks), (u64)(LIMIT_CHUNKS)), false;
  if (p.depth > LIMIT_DEPTH)
    return say(why, "it has %llu copies of scratch, and a program of a bundle has at most %llu", (u64)(p.depth), (u64)(LIMIT_DEPTH)), false;
  return true;
}

// check refuses numbers that no program of a bundle has. Those of its memory follow from the arena's bounds.
inline bool check(const bundle_program &p, Why *why) {
  if (!blank(p)) return say(why, "a field that is not used is not 0"), false;
  if (p.kind > (u32)(KIND_CUSTOM))
    return say(why, "no program is for collective %llu", (u64)(p.kind)), false;
  if (p.ranks < 2 || p.ranks > LIMIT_RANKS || p.root >= p.ranks || (!kind_rooted(u32(p.kind)) && p.root != 0))
    return say(why, "it is for %llu ranks with root %llu", (u64)(p.ranks), (u64)(p.root)), false;
  if (p.chunks < 1 || p.protocol >= (u32)(4) || p.depth < 1)
    return say(why, "%llu chunks, protocol %llu or depth %llu is out of range", (u64)(p.chunks), (u64)(p.protocol), (u64)(p.depth)), false;
  if (p.one_pass != 0 || p.copies > 1 || p.lines > 1 || p.even > 1 || p.direct > 1 || p.ordered > 1)
    return say(why, "a switch of it is not 0 or 1"), false;
  if (p.nodes == 1 || p.nodes > p.ranks || (p.nodes > 0 && p.direct != 0))
    return say(why, "%llu nodes of its ranks are out of range, or it is direct", (u64)(p.nodes)), false;
  if (p.direct != 0 && kind_rooted(u32(p.kind)))
    return say(why, "it reaches buffers of other ranks, and has a root"), false;
  if (p.outofplace > 1 || p.inplace > 1 || (p.outofplace == 0 && p.inplace == 0))
    return say(why, "it is neither for calls in place nor for calls out of place"), false;
  if (p.stages > LIMIT_STAGES || p.block > LIMIT_SCALE_BLOCK)
    return say(why, "it has %llu stages of an epilogue, and scales of %llu elements", (u64)(p.stages), (u64)(p.block)), false;
  if (p.stages > 0 && (p.kind != (u32)(KIND_ALLREDUCE) || p.copies != 0 || p.nodes > 0 || p.direct != 0 || p.inplace != 0))
    return say(why, "it has an epilogue, and is no staged AllReduce out of place on one node"), false;
  if (p.bitwise > 1 || (u32(p.kind) == KIND_ALLREDUCE && p.bitwise != 1))
    return say(why, "its ranks end with different bits"), false;
  if (p.replicas < 1 || p.replicas > LIMIT_REPLICAS || !is_tile(p.tile))
    return say(why, "%llu replicas or tiles of %llu bytes are out of range", (u64)(p.replicas), (u64)(p.tile)), false;
  if (!check_size(p, why)) return false;
  return check_name(p.name, sizeof p.name, why);
}

// checkRuled refuses a program that is not for all calls that rules may have. Named programs need not be.
inline bool check_ruled(const bundle_program &p, Why *why) {
  if (p.kind > (u32)(KIND_SCATTER))
    return say(why, "rules have no programs of %s", kind_name(u32(p.kind))), false;
  if (p.stages == 0 && (p.outofplace != 1 || (p.inplace == 1) != kind_has_in_place(u32(p.kind))))
    return say(why, "it is not for calls in place and out of place"), false;
  return true;
}

// The launches that a rule is for: at least one of the first two, unless WhenNamed is set.
enum {
  RULE_EAGER = 1,
  RULE_CAPTURED = 2,
  RULE_WINDOWS = 4,  // only calls whose buffers all lie in registered windows
  RULE_CANDIDATE = 8,  // nobody measured it: it counts without NCCL, and else the library learns whether it is faster
  RULE_NAMED = 16,  // alone: no call finds the rule, and its program is run by its name
  RULE_APART = 32,  // only calls among GPUs that do not reach each other's memory; others are for GPUs that do
  RULE_THEN = 64,  // only calls with the epilogue that its program has; others are for calls without one
  RULE_ALL = RULE_EAGER | RULE_CAPTURED | RULE_WINDOWS | RULE_CANDIDATE | RULE_APART | RULE_THEN,
};

// A RuleRow is a rule of a set: what runs a call. The first that fits a call counts.
struct bundle_rule {
  u8 kind, dtype, redop, root, when;  // DType, RedOp and Root may be Any
  u8 pad0[3];
  u32 program, calls;  // NCCLRow, or a program's number; the most calls of a group, or 0 for any number
  u32 replicas, threads;  // of a launch; of a block
  u64 tile, up_to;  // bytes; UpTo is the most of a call, as nccl-tests counts: of input or output
};
inline bool blank(const bundle_rule &r) { return blank(&r.pad0, sizeof r.pad0); }

// checkNamed refuses a rule of a named program that any other call could find.
inline bool check_named(const bundle_rule &r, Why *why) {
  if (r.when != RULE_NAMED || r.dtype != BUNDLE_ANY || r.redop != BUNDLE_ANY || r.calls != 0 || r.up_to != ~0ull || r.kind > (u8)(KIND_CUSTOM) || r.program == BUNDLE_NCCL)
    return say(why, "it is of a named program, and restricted"), false;
  if (!kind_rooted(u32(r.kind)) && r.root != BUNDLE_ANY)
    return say(why, "it is of a named program without a root, and has one"), false;
  return true;
}

// check refuses a rule that no set for these ranks, on this many nodes, has. 0 is one node.
inline bool check(const bundle_rule &r, u32 ranks, u32 nodes, Why *why) {
  if (!blank(r)) return say(why, "a field that is not used is not 0"), false;
  if ((r.when & RULE_NAMED) != 0)
    return check_named(r, why);
  if (r.kind > (u8)(KIND_SCATTER))
    return say(why, "it is for collective %llu", (u64)(r.kind)), false;
  if ((r.dtype != BUNDLE_ANY && r.dtype >= (u8)(DT_COUNT)) || (r.redop != BUNDLE_ANY && r.redop >= (u8)(RED_COUNT)) || (r.root != BUNDLE_ANY && (u32)(r.root) >= ranks))
    return say(why, "type %llu, operation %llu or root %llu is out of range", (u64)(r.dtype), (u64)(r.redop), (u64)(r.root)), false;
  if ((r.when & (RULE_EAGER | RULE_CAPTURED)) == 0 || r.when > RULE_ALL)
    return say(why, "no launches are %#llx", (u64)(r.when)), false;
  if ((r.when & RULE_APART) != 0 && ((r.when & (RULE_WINDOWS | RULE_CANDIDATE)) != 0 || nodes > 0))
    return say(why, "it is for GPUs that are apart, and for windows or several nodes, or a candidate"), false;
  if ((r.when & RULE_CANDIDATE) != 0 && (r.program == BUNDLE_NCCL || (r.when & RULE_WINDOWS) != 0 || nodes > 0))
    return say(why, "it is a candidate, and not a program for any buffers on one node"), false;
  if ((r.when & RULE_THEN) != 0 && (r.program == BUNDLE_NCCL || (r.when & (RULE_WINDOWS | RULE_CANDIDATE)) != 0 || nodes > 0))
    return say(why, "it is for calls with an epilogue, and not a program for any buffers on one node"), false;
  if ((r.when & RULE_WINDOWS) != 0 && nodes > 0)
    return say(why, "it is for windows, and ranks of several nodes have none"), false;
  if ((r.when & RULE_WINDOWS) != 0 && kind_rooted(u32(r.kind)))
    return say(why, "it is for windows, and for %s, of which ranks may leave out buffers", kind_name(u32(r.kind))), false;
  if (r.program == BUNDLE_NCCL && (r.replicas != 0 || r.threads != 0 || r.tile != 0))
    return say(why, "it is NCCL's, and has replicas, threads or a tile"), false;
  return true;
}

// uneven reports whether a block of r cannot be divided among the replicas that share it. Their number is shared. Their
// parts are powers of two, of whole warps.
inline bool uneven(const bundle_rule &r, u32 shared) {
  return shared > 1 && (__builtin_popcount(r.threads) > 1 || r.threads < (LIMIT_WARP * shared));
}

// checkProgram refuses a rule that p is not right for: named says whether p has a name, shared how many of its replicas
// share a CTA, and invariant whether the set is for invariant bits.
inline bool check_program(const bundle_rule &r, const bundle_program &p, bool named, u32 shared, u32 invariant, Why *why) {
  if (invariant != 0 && !named && kind_reduces(u32(r.kind)) && p.ordered == 0)
    return say(why, "it is for invariant bits, and %s does not add in the order of ranks", (title(p))), false;
  if (named != (r.when == RULE_NAMED))
    return say(why, "%s has a name and it has none, or the other way around", (title(p))), false;
  if (p.kind != (u32)(r.kind))
    return say(why, "it is for %s, and %s is for %s", kind_name(u32(r.kind)), (title(p)), kind_name(u32(p.kind))), false;
  if (kind_rooted(u32(r.kind)) && (u32)(r.root) != p.root)
    return say(why, "it is for root %llu, and %s for root %llu", (u64)(r.root), (title(p)), (u64)(p.root)), false;
  if ((p.stages > 0) != ((r.when & RULE_THEN) != 0))
    return say(why, "%s has an epilogue and it is for calls without, or the other way around", (title(p))), false;
  if (p.direct != 0 && (r.when & RULE_WINDOWS) == 0)
    return say(why, "%s reaches buffers of other ranks, and it is not for windows", (title(p))), false;
  if (r.replicas < 1 || r.replicas > p.replicas)
    return say(why, "it has %llu replicas, and %s has memory for %llu", (u64)(r.replicas), (title(p)), (u64)(p.replicas)), false;
  if (r.threads < LIMIT_WARP || r.threads > LIMIT_THREADS || (r.threads % LIMIT_WARP) != 0)
    return say(why, "it has blocks of %llu threads", (u64)(r.threads)), false;
  if (uneven(r, shared))
    return say(why, "it has blocks of %llu threads, which %llu replicas do not share evenly", (u64)(r.threads), (u64)(shared)), false;
  if (!is_tile(r.tile))
    return say(why, "it has tiles of %llu bytes", (u64)(r.tile)), false;
  return true;
}

// fits reports whether r is for the call c, which has bytes bytes and is launched as when says. Whether the
// communicator has the CTAs is another matter.
template <class Call>
inline bool fits(const bundle_rule &r, const Call &c, u64 bytes, u8 when) {
  return (u32)(r.kind) == c.kind && (r.when & when) != 0 && bytes <= r.up_to && (r.dtype == BUNDLE_ANY || (u32)(r.dtype) == c.dtype) && (r.redop == BUNDLE_ANY || (u32)(r.redop) == c.redop) && (r.root == BUNDLE_ANY || (u32)(r.root) == c.root) && (r.calls == 0 || c.group <= r.calls) && ((r.when & RULE_WINDOWS) == 0 || c.windows) && ((r.when & RULE_THEN) != 0) == c.then;
}
