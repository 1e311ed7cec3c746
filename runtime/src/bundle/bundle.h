// This file is what the engine knows of a bundle: sections that were checked, and views of them.
#pragma once
#include "../../../kernels/abi/ops_gen.h"
#include "../../../transport/proxy.h"
#include "../../../transport/system.h"
#include "open.h"

static_assert(LIMIT_RANKS == ONE_RANKS, "a launch carries the addresses of all ranks");
static_assert(LIMIT_NAME + 1 == sizeof bundle_set::device && LIMIT_NAME + 1 == sizeof bundle_program::name &&
                  LIMIT_IMAGE_NAME + 1 == sizeof bundle_image::name,
              "a name ends with a zero byte");

enum { THEN_TEXT = 256 };  // bytes of the text of an epilogue

// A Program is a view of a program's section, all of which was checked (program.cc). The section stays in memory
// until the process ends.
struct Program {
  const u8 *base;  // of the section
  const bundle_program *row;
  const bundle_part *part;  // by rank
  u32 number;               // in the bundle
  const bundle_net *net;    // of ranks on several nodes, with its messages and segments
  const net_message *message;
  const net_segment *segment;
  const bundle_named *named;  // of a program that is run by its name, with its buffers
  const bundle_buffer *buffer;
  char then[THEN_TEXT];     // its epilogue as a program has it, "" without one
  bool final;               // some step is STEP_FINAL: averages of integers can be computed
  bool fresh;               // some operand is ONE_FRESH: averages of floats can be computed
};
static inline const abi_one_block *blocks_of(const Program &p, u32 rank) {
  return (const abi_one_block *)(p.base + p.part[rank].blocks_at);
}
static inline const abi_one_step *steps_of(const Program &p, u32 rank) {
  return (const abi_one_step *)(p.base + p.part[rank].steps_at);
}
static inline const abi_one_operand *operands_of(const Program &p, u32 rank) {
  return (const abi_one_operand *)(p.base + p.part[rank].operands_at);
}

// A Set is a view of a set's section. program is indexed as `programs`; it is allocated, and freed by set_close.
// set_open takes the set for ranks that lie on nodes so, or on one where node is null: of two, the one for invariant
// bits or the other. A null device is any.
struct Set {
  const bundle_set *row;
  const bundle_rule *rules;
  const u32 *programs;
  Program *program;
};
bool set_open(Bundle *b, u32 ranks, const u8 *node, bool invariant, const char *device, Set *set, Why *why);
void set_close(Set *set);

// set_find returns the index of a program in a set, or BUNDLE_NONE.
u32 set_find(const Set *set, u32 program);

// set_image checks the image by which calls of a type are reduced, or those that only move, which a set must have.
bool set_image(Bundle *b, const Set *set, u32 dtype, bool moves, Why *why);

// set_finisher gives the number of the image that finishes rows of sums of a type, or BUNDLE_NONE. The result is false
// if the images that finish rows are not as the set says.
bool set_finisher(Bundle *b, const Set *set, u32 dtype, u32 *number, Why *why);

// In then.cc: epilogues of programs (ir/epilogue). check_then checks that of a program's row. then_text writes it as a
// program has it: residual, rms_norm(eps). same_list says whether ir/epilogue reads a text as such a list. out_of is
// the type of the output, where the sum has the type dtype, and scales_of how many scales a row of a length has.
bool check_then(const bundle_program &p, Why *why);
void then_text(const bundle_program &p, char text[THEN_TEXT]);
bool same_list(const char *text, const char *list);
u32 out_of(const bundle_program &p, u32 dtype);
u32 scales_of(const bundle_program &p, u32 length);

// trusted says whether only the user, root or whom the machine's configuration names can have written a bundle's file
// (trust.cc). It gives the file's length.
bool trusted(int file, const char *path, u64 *bytes, Why *why);

// bundle_forget frees a bundle that nobody uses.
void bundle_forget(Bundle *b);

// Sections says how many sections of each kind a bundle has. check_sections checks their order and numbers; sets_check
// checks the rows of all sets.
struct Sections {
  u32 sets, programs, sources, images, wheres, nets, named;
};
bool check_sections(const bundle_section *table, u32 sections, Sections *count, Why *why);
const Sections *sections_of(const Bundle *b);
bool sets_check(Bundle *b, Why *why);

// section_of finds a section, and reads and checks it where nobody did so before. It gives null where there is none, or
// it is damaged.
const u8 *section_of(Bundle *b, u32 kind, u32 number, u64 *bytes, Why *why);

bool section_there(const Bundle *b, u32 kind, u32 number);

// set_at is section_of for the sets, which it counts from 0. It gives the section's number, too.
const bundle_set *set_at(Bundle *b, u32 set, Why *why, u32 *number = nullptr, u64 *bytes = nullptr);

// program_open checks all tables of a program's section, so that no kernel that runs them leaves its memory.
// node has the node of each rank. check_part checks those of a rank, whose blocks are numbered from *number on;
// check_net checks what the program sends between nodes. pinned_of is the bytes of memory of the host that it takes on
// the rank that needs most.
bool program_open(Bundle *b, u32 number, u32 ranks, const u8 *node, Program *p, Why *why);
bool check_part(const Program &p, u32 rank, const u8 *node, u32 *number);
bool check_net(const Program &p, const u8 *node);
u64 pinned_of(const Program &p);

// pieces_of is how many pieces a rank's input and output have, as Collective.Pieces in ir.
void pieces_of(const bundle_program &p, u32 rank, u32 *in, u32 *out);

// named_open reads and checks the names of a program, if it has some. named_units says whether the units of a named
// program can be. named_check checks the names and rules of a whole set.
bool named_open(Bundle *b, Program *p, Why *why);
bool named_units(const Program &p, const u8 *node);
bool named_check(const Set &set, Why *why);

// ctas_of is how many CTAs the rank has that has most, in a number of replicas. shared_of is how many replicas share a
// CTA, of the blocks whose replicas do; 1 where there are none.
u32 ctas_of(const Program &p, u32 replicas);
u32 shared_of(const Program &p);

bool image_open(Bundle *b, u32 number, const bundle_image **row, Why *why);

// where_open gives the text of the source positions of a program's steps: a line each.
const char *where_open(Bundle *b, const Program &p, u64 *bytes, Why *why);

// A Layout says where the parts of a rank's scratch, packets and flags lie, as OneLayout in executor/abi.
struct Layout {
  u64 scratch_stride, scratch_copy, packet_stride, packet_copy;
  u64 flags;                    // of a replica
  u64 scratch, packets, flag_mem;  // bytes, of a rank
};
bool layout_of(const bundle_program *p, Layout *l);
