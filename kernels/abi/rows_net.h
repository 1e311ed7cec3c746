// This file lays out what a kernel writes for the proxy of its process (transport/proxy.h), where a Signal is for a
// rank of another node; executor/abi/rows_net.go holds the same structs in Go.
//
// Each block's replica has a lane in memory of the host. Row n of all that it ever wrote is row n % NET_DEPTH. Thread i
// of a block writes the row of destination i of a Signal, and all threads count, so rows have their order without any
// lock. A row is there when its seq is n + 1. A kernel writes a row when taken says that the one before in its place
// was taken.
#pragma once
#include "rows_onesided.h"

enum { NET_DEPTH = 32 };

// A row says what the flag is to be, and what a tile iteration moves of a chunk: bytes [first, end) of it, of which it
// has chunk bytes, or fewer where a piece of elems bytes ends. operand is the flag's row, counted from the block's
// first. copy is that of scratch in its replica, of as many replicas as the launch has, and flag the flag's number in
// its replica, of `rank`. All replicas of a block write the same rows in the same order, but for counts and bytes: the
// proxy makes one message of a row of each.
struct abi_net_row {
  u64 seq, count;
  u64 first, end, elems, chunk;
  u32 operand;
  u16 copy, replicas;
  u32 rank, flag;
};
ABI_SIZE(abi_net_row, 64);

struct abi_net_lane {
  u64 taken, pad[7];  // rows that the proxy has taken
  struct abi_net_row row[NET_DEPTH];
};
ABI_SIZE(abi_net_lane, 64 + 32 * 64);

// An operand of these buffers is scratch, or a flag, of which a rank's inbox is: memory of the host that the proxies on
// both sides of the network reach. Chunks of scratch that ranks of other nodes write are in the inbox of their rank.
// There they have numbers of their own, as close as can be: index is that number. A kernel that writes an inbox of
// another node's writes its mirror, which this node has. Flags that ranks of other nodes signal have their own numbers.
enum { BUF_INBOX = 5, BUF_INBOX_FLAGS = 6 };

// Where a rank's inbox is. A copy of scratch, of all replicas, begins inbox_copy bytes after the one before. There
// each chunk has room for a tile of each replica, side by side: chunk i of replica c begins (i * max_replicas + c) *
// scratch_stride bytes after the copy's begin. flags are as in abi_one_memory; 0 of a mirror.
struct abi_inbox {
  u64 scratch, flags;
};
ABI_SIZE(abi_inbox, 16);

// What a launch knows of other nodes. Block b and replica c have lane b * max_replicas + c of `lanes`. In memory of the
// device, at `sent`, each lane has an u64: the rows that its launches so far have written. `inboxes` is an abi_inbox of
// each rank, there too. An abi_net lies in the first words of `code` of abi_one_launch, whose tables then are in
// memory.
//
// A CTA holds `together` replicas of a block whose bit is set in `narrow`, bit b % 32 of word b / 32, each with its
// part of the threads, and one replica of any other block. together is a power of two, and 1 where no bit is set.
// Blocks after the last bit have none.
enum { NET_TOGETHER = 4, NET_NARROW = 64 };
struct __attribute__((may_alias)) abi_net {
  u64 lanes, sent, inboxes, inbox_copy;
  u32 together, pad;
  u32 narrow[NET_NARROW];
};
ABI_SIZE(abi_net, 40 + 4 * NET_NARROW);
