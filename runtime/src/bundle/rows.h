// This file lays out a bundle: programs, kernels and rules, for communicators of some GPU. bundle/rows.go holds the
// same structs in Go, and a test compares sizes and offsets. All numbers are little-endian; offsets are multiples of
// BUNDLE_ALIGN, and count from the beginning of the file, or of the section where a row says so.
//
// A bundle is a header, a table of sections, and sections. Each section has its SHA-256 in the table, and the header
// has the table's, so that a reader checks only the sections that it uses.
#pragma once
#include "../../../kernels/abi/rows_onesided.h"

enum {
  BUNDLE_VERSION = 5,
  BUNDLE_ALIGN = 64,
  BUNDLE_NCCL = 0xffffffffu,  // a rule's program: the call is NCCL's; any other is the number of a SECTION_PROGRAM
  BUNDLE_NONE = 0xffffffffu,  // a number of a section that there is not
  BUNDLE_ANY = 255,           // a type, an operation or a root of a rule
  BUNDLE_RANKS = ONE_RANKS    // the most ranks of a set
};
#define BUNDLE_MAGIC "MSCCLCB\n"

// The kinds of collectives that rules and programs are of, as ir.Kind. KIND_NONE is none of them. No rule is for calls
// of KIND_SENDRECV or KIND_CUSTOM: their programs have names.
enum {
  KIND_ALLREDUCE,
  KIND_ALLGATHER,
  KIND_REDUCESCATTER,
  KIND_ALLTOALL,
  KIND_BROADCAST,
  KIND_REDUCE,
  KIND_GATHER,
  KIND_SCATTER,
  KIND_SENDRECV,
  KIND_COUNT,
  KIND_CUSTOM = KIND_COUNT,
  KIND_NONE = 255
};
inline bool kind_rooted(u32 kind) { return kind >= KIND_BROADCAST && kind <= KIND_SCATTER; }

struct bundle_header {
  u8 magic[8];
  u32 version, sections;
  u64 bytes;      // of the file
  u8 abi[32];     // SHA-256 of the kernel's sources: of all that host and kernel agree on
  u8 table[32];   // SHA-256 of the table of sections, which follows the header
  u8 pad[40];
};
ABI_SIZE(bundle_header, 128);

// The kinds of sections. number is: of a set, its ranks, and 1 << 16 for each set before it for as many; of programs,
// their sources and images, a count from 0 in the bundle. SECTION_ABOUT is JSON for people: who made the bundle, of
// what. SECTION_SOURCE is the program file of the program of the same number, for proofs and for messages.
// SECTION_WHERE is the text of where each step of the program of the same number stands: a line "file:line" a step, in
// the order of the whole program. SECTION_NET is what the program of the same number sends between nodes, if its ranks
// are on several. SECTION_NAMED has the names of the program of the same number, if jobs run it by its name.
enum {
  SECTION_ABOUT = 1,
  SECTION_SET = 2,
  SECTION_PROGRAM = 3,
  SECTION_SOURCE = 4,
  SECTION_IMAGE = 5,
  SECTION_WHERE = 6,
  SECTION_NET = 7,
  SECTION_NAMED = 8
};
struct bundle_section {
  u32 kind, number;
  u64 offset, bytes;
  u8 sha256[32];
  u64 pad;
};
ABI_SIZE(bundle_section, 64);

// A set is what communicators of so many ranks run: rules, and where each program's memory lies. Rows of rules follow
// it, then the numbers of its programs (u32 each). image is, by type, the image of what is reduced, and copier of what
// is only moved, or BUNDLE_NONE. node is the node of each rank, from 0, and 0 where all are on one. Of sets for as many
// ranks, that for one node is the first, and the images of the others are net_* ones.
struct bundle_set {
  u32 ranks, rules, programs, ctas;  // ctas: the most that a rule has
  u64 arena;                         // bytes of a rank's memory that others reach: the same on all ranks
  u32 image[DT_COUNT], copier[DT_COUNT];
  char device[64];                   // as the driver has its name, with zeros behind it
  u8 node[ONE_RANKS];
  u64 pad;
};
ABI_SIZE(bundle_set, 208);

// A rule says what runs a call. The first that fits counts: the kind is equal, dtype, redop and root are equal or
// BUNDLE_ANY, the call's flags are in `when`, the group has at most `calls` calls (0: any), the communicator has the
// CTAs of the launch, and the call has at most up_to bytes, counted as nccl-tests counts: those of the larger of input
// and output.
enum {
  RULE_EAGER = 1, RULE_CAPTURED = 2,  // when: one is set at least, unless RULE_NAMED is
  RULE_WINDOWS = 4,                   // only where all buffers lie in registered windows; no rule with a root has it
  RULE_CANDIDATE = 8,                 // nobody measured it: it counts without NCCL, and else only learning chooses it
  RULE_NAMED = 16                     // alone: no call fits, and the program is run by its name
};
struct bundle_rule {
  u8 kind, dtype, redop, root, when, pad0[3];
  u32 program, calls;
  u32 columns, threads;  // replicas; threads of a block
  u64 tile, up_to;       // bytes
};
ABI_SIZE(bundle_rule, 40);

// A program as the kernel has it. The section begins with this row; parts of all ranks follow, then the tables that
// these name. Memory is made for `columns` replicas and tile iterations of `tile` bytes (OneImage.Layout in
// executor/abi), and lies at scratch_at, packets_at and flags_at of a rank's arena. No two programs of a set share any
// of it.
//
// direct is 0 of staged programs, whose remote steps reach scratch, packets and flags only. It is 1 where steps may
// reach input and output of other ranks, too. Only rules with RULE_WINDOWS name such a program. It has no root, since a
// call with one may leave buffers out on some ranks. It is right where all ranks are in place, and where none is.
struct bundle_program {
  u32 kind, ranks, root, chunks;  // chunks of a piece
  u32 protocol, depth;
  u8 one_pass, copies, lines, even, inplace, outofplace, bitwise, direct;
  u32 scratch, packets, flags;    // chunks that a rank has of them; flags without the runtime's
  u32 blocks;                     // of all ranks
  u32 columns, nodes;             // nodes: how many the ranks are on, or 0 for one
  u64 tile;
  u64 scratch_at, packets_at, flags_at, end_at;
  char name[64];                  // allreduce/ring LL128, with zeros behind it
  u64 pad2[4];
};
ABI_SIZE(bundle_program, 192);

// A rank's part of a program, as OnePart: its tables lie at these offsets of the section.
struct bundle_part {
  u32 blocks, steps, operands, pad;
  u64 blocks_at, steps_at, operands_at, pad1;
};
ABI_SIZE(bundle_part, 48);

// What the program of the same number sends between nodes: rows of net_message and net_segment (transport/proxy.h)
// follow. inbox is how many chunks of scratch the inbox of a rank has at most. Operands of such a program may have the
// buffers BUF_INBOX and BUF_INBOX_FLAGS (rows_net.h).
struct bundle_net {
  u32 messages, segments, inbox, pad;
};
ABI_SIZE(bundle_net, 16);

// The names of the program of the same number, which jobs run by its name; rows of bundle_buffer follow. Such a program
// is staged, is for ranks of one node, and has one rule in its set, which has RULE_NAMED. No other program of the set
// has the name. It is for calls in place, out of place, or both.
struct bundle_named {
  char name[64];
  u32 buffers, pad;  // buffers: input and output, in this order
};
ABI_SIZE(bundle_named, 72);

// A buffer of a named program. units is how many units each rank has of it: pieces or, of a custom collective, chunks.
// A call says how many elements a unit has.
enum { BUFFER_INPUT = 1, BUFFER_OUTPUT = 2, BUFFERS = 2 };
struct bundle_buffer {
  char name[32];
  u32 direction, pad;
  u32 units[ONE_RANKS];
};
ABI_SIZE(bundle_buffer, 104);

// An image is code for a GPU: this row, then PTX, ended by a zero byte, or a cubin. target is 80 of sm_80.
enum { IMAGE_PTX = 0, IMAGE_CUBIN = 1 };
struct bundle_image {
  u32 form, target, dtype, pad;
  u64 bytes;  // behind this row
  char name[40];  // onesided_bf16
};
ABI_SIZE(bundle_image, 64);
