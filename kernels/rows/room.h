// This file brings a row from lines to where a Whole has it. Lines have 120 bytes, and units 16: so a block lays the
// row into memory near it, and each thread takes its units from there.
#pragma once
#include "../protocol/lines.h"
#include "fold.h"

// row_room is memory near a block for the longest row that threads hold as a Whole.
enum { ROW_ROOM_UNITS = 4 * 512 };
#ifndef HOST_ROW_PARTS
__shared__ static v16 row_room_units[ROW_ROOM_UNITS];
KD v16 *row_room() { return row_room_units; }
#else
static_assert(ROW_ROOM_UNITS * sizeof(v16) <= HOST_ROW_ROOM, "a host has room for a row");
KD v16 *row_room() { return (v16 *)row_room_bytes(); }
#endif

// lay_row waits for bytes [begin, begin + bytes) of what lines bring, and lays them into the room. The lines begin at
// base. Lanes without a line wait for another one. false: a line did not come.
template <class T> KD bool lay_row(T &t, u64 base, u32 begin, u32 bytes) {
  enum { LINE = LINE_HALVES * 8, U = 3 };  // 512 threads have three lines each of a row of 16 KB
  const u32 first = begin / LINE, lines = (begin + bytes - 1) / LINE + 1 - first;
  const u32 mine = tid() / LINE_PARTS, dealt = ntid() / LINE_PARTS, lead = mine % (LANES / LINE_PARTS);
#pragma nounroll
  for (u32 n = mine; n - lead < lines; n += U * dealt) {
    u64 from[U];
    pair64 v[U];
#pragma unroll
    for (u32 k = 0; k < U; k++) {
      const u32 line = n + k * dealt, some = line - lead < lines ? line : n;  // all lanes of a bundle look alike
      from[k] = base + (first + (u32)least(some, lines - 1)) * LINE_WIRE + part_of() * 16;
    }
    if (!take_parts(t, from, v, [](int) {})) return false;
#pragma unroll
    for (u32 k = 0; k < U; k++) {
      const u32 line = n + k * dealt, at = (first + line) * LINE + part_of() * 16 - begin;  // below 0: the row before
      u64 *const room = (u64 *)row_room();
      if (line < lines && at < bytes) room[at / 8] = v[k].low;
      if (line < lines && at + 8 < bytes && part_of() != LINE_PARTS - 1) room[(at + 8) / 8] = v[k].high;
    }
  }
  return true;
}

// take_lines is take_row of lines, which begin at first with those of the rows before it.
template <class P, class T, int U> KD void take_lines(P &p, const Whole<T, U> &h, u32 o, u64 first, v16 (&v)[U]) {
  p.t.operand = o;
  bar();  // all have what was in the room before
  if (!p.gone && !lay_row(p.t, first, (u32)p.begin, p.bytes)) p.leave();
  bar();
#pragma unroll
  for (u32 k = 0; k < U; k++) v[k] = row_room()[h.unit(k)];
}
