// This file says what proxies send each other. Per direction, two processes have two connections: control, whose
// messages begin with a header, and bulk, which has data alone. All numbers are little-endian.
//
// The first message of each connection is a wire_hello. What follows it on the control connection is a wire_header and
// `inside` bytes. A post is the rows of a block's replicas that go together. Its data are the chunks that its rows tell
// of, in order: inside its message where they are NET_INSIDE bytes or fewer, else on the bulk connection, a message for
// each run of memory that they fill (next_piece), in the order of the posts.
#pragma once
#include "proxy.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "messages are sent as they lie in memory");

enum : u32 { WIRE_MAGIC = 0x4c43534d, WIRE_VERSION = 3 };

// What all versions begin a connection with; the fields after version may change with it.
struct wire_hello {
  u32 magic, version;
  u32 from, to, bulk, pad;  // processes by number; bulk says which of the two connections it is
  unsigned char hash[32];   // of net_program
};
ABI_SIZE(wire_hello, 56);

enum : u32 {
  WIRE_POST = 1,  // a row of each of a block's replicas
  WIRE_BEAT,      // the sender lives
  WIRE_RESET,     // all that follows is of the next epoch
  WIRE_BYE,       // the sender has closed the job and sends no more
  WIRE_FAULT,     // the sender's job has failed: operand is the net_code, rank the process, inside is the text
  WIRE_EXIT,      // as WIRE_BYE, of a process that ends by exit(): elems are its launches, inside are its marks (u64)
  WIRE_KNOWN      // the answer, when all that was sent before has arrived
};
enum : u32 { WIRE_MARKS = NET_INSIDE / 8 };

// number counts the headers of the connection, from 0. Of a post, epoch counts resets, and the rest is what the rows of
// its replicas have alike, from replica on. Replicas beyond NET_REPLICAS go in posts of their own.
struct wire_header {
  u32 magic, kind;
  u64 number;
  u32 epoch, inside;
  u32 block, replica, replicas, operand, rank, flag;
  u64 elems, chunk;
};
ABI_SIZE(wire_header, 64);

// What a post's row has of its own, as in abi_net_row.
struct wire_part {
  u64 count, first, end;
  u32 copy, pad;
};
ABI_SIZE(wire_part, 32);

// A post as its message begins: its parts, one per replica, are followed by the data.
struct wire_post {
  wire_header h;
  wire_part part[NET_REPLICAS];
};
ABI_SIZE(wire_post, 64 + 64 * 32);

// parts_bytes is the length of a post's parts.
inline u32 parts_bytes(const wire_header &h) { return h.replicas * (u32)sizeof(wire_part); }

// The most bytes of a message on the control connection, rounded up.
enum : u32 { WIRE_MOST = 10304 };
static_assert(sizeof(wire_post) + NET_INSIDE <= WIRE_MOST, "the largest message has room");

// A Piece is a run of memory that a post moves: bytes from `at` in scratch of a rank.
struct Piece {
  u64 at, bytes;
};

// A Cursor is how far the chunks of a post were gone through, and each chunk's replicas. It begins zeroed.
struct Cursor {
  u32 segment, chunk, replica;
};

// iteration_bytes_of is what a replica moves of a chunk of class k: iteration_bytes in kernels/moves/cells.h, with
// lengths in bytes.
u64 iteration_bytes_of(const wire_header &h, const wire_part &part, u32 k);

// next_cell gives what the next replica that has any moves of a chunk, or false at the end. next_piece joins cells that
// follow each other in memory. The header has been checked.
bool next_cell(const net_program &p, const net_message &m, const wire_post &post, Cursor *c, Piece *piece);
bool next_piece(const net_program &p, const net_message &m, const wire_post &post, Cursor *c, Piece *piece);

// find_message gives the message of a block and operand, or null.
const net_message *find_message(const net_program &p, u32 block, u32 operand);

// A Checked is what check_post finds: the message, and the bytes that it moves.
struct Checked {
  const net_message *message;
  u64 bytes;
};

// check_post says what is wrong with a post from one process to another, or null. memory is that of the rank, as the
// caller has it: its flags are not checked where it is a mirror. The caller compares `inside`.
const char *check_post(const net_program &p, const wire_post &post, u32 from, u32 to, const net_memory *of_rank,
                       Checked *found);

// check_program says what is wrong with the tables of a job, or null.
const char *check_program(const net_program &p);
