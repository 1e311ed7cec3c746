// Kernels of hand.cc that move packets: data and a flag, which are stored at once.
#pragma once
#include "common.h"

KD u64 pack(u32 data, u32 flag) { return (u64)data | (u64)flag << 32; }
KD void send(u64 to, u64 data, u32 flag) {
  st_pair((u8 *)to, pair64{pack((u32)data, flag), pack((u32)(data >> 32), flag)});
}
KD bool came(const pair64 &p, u32 flag) { return (u32)(p.low >> 32) == flag && (u32)(p.high >> 32) == flag; }
KD u64 data_of(const pair64 &p) { return (p.low & 0xffffffffu) | p.high << 32; }

// take waits for packets of all senders but `me`, U units each, `apart` bytes from one another.
template <int N, int U>
KD bool take(const hand &a, u64 base, u64 slot, u32 me, u64 apart, u32 have, u32 flag, u32 &polls, u64 (&v)[N][U]) {
  for (;;) {
    bool all = true;
    pair64 p[N][U];
#pragma unroll
    for (int r = 0; r < N; r++)
#pragma unroll
      for (int k = 0; k < U; k++)
        if (r != (int)me && (U == 1 || k < (int)have)) p[r][k] = ld_pair((const u8 *)(base + r * slot + k * apart));
#pragma unroll
    for (int r = 0; r < N; r++)
#pragma unroll
      for (int k = 0; k < U; k++)
        if (r != (int)me && (U == 1 || k < (int)have)) {
          all &= came(p[r][k], flag);
          v[r][k] = data_of(p[r][k]);
        }
    if (all) return true;
    if (lost(a, polls)) return false;
  }
}

// One phase: who needs a unit gets it as a packet. WHAT says which unit goes to rank p
// and what is done with those that come.
template <int N, int U, int WHAT> KD void one_phase(const hand &a) {
  const u32 me = a.rank, T = ntid();
  const Share s = share_of(a.part, 8);
  u32 polls = 0;
  if (ld_volatile32((u32 *)a.abort)) return;
  const u32 e = ld_volatile32((u32 *)a.state + bid()), flag = e + 1;
  const u64 slots = (e & 1) * N * a.slot;
  for (u32 u = s.begin + tid(); u < s.end; u += T * U) {
    const u32 have = (s.end - u + T - 1) / T;
    u64 w[N][U];
    if (WHAT == ALLREDUCE || WHAT == ALLGATHER) {
      u64 own[U];
#pragma unroll
      for (int k = 0; k < U; k++)
        if (U == 1 || k < (int)have) own[k] = load_global<u64>((u8 *)a.in + ((u64)u + k * T) * 8);
#pragma unroll
      for (int p = 1; p < N; p++)
#pragma unroll
        for (int k = 0; k < U; k++)
          if (U == 1 || k < (int)have)
            send(a.packets[(me + p) % N] + slots + me * a.slot + ((u64)u + k * T) * 16, own[k], flag);
#pragma unroll
      for (int r = 0; r < N; r++)
#pragma unroll
        for (int k = 0; k < U; k++)
          if (r == (int)me) w[r][k] = own[k];
    } else {
#pragma unroll
      for (int r = 0; r < N; r++)
#pragma unroll
        for (int k = 0; k < U; k++)
          if (U == 1 || k < (int)have) w[r][k] = load_global<u64>((u8 *)a.in + r * a.part + ((u64)u + k * T) * 8);
#pragma unroll
      for (int r = 0; r < N; r++)
#pragma unroll
        for (int k = 0; k < U; k++)
          if (r != (int)me && (U == 1 || k < (int)have))
            send(a.packets[r] + slots + me * a.slot + ((u64)u + k * T) * 16, w[r][k], flag);
    }
    if (!take<N, U>(a, a.packets[me] + slots + (u64)u * 16, a.slot, me, (u64)T * 16, have, flag, polls, w)) return;
#pragma unroll
    for (int k = 0; k < U; k++) {
      if (U != 1 && k >= (int)have) continue;
      const u64 at = ((u64)u + k * T) * 8;
      if (WHAT == ALLREDUCE || WHAT == REDUCESCATTER) {
        u64 x[N];
#pragma unroll
        for (int r = 0; r < N; r++) x[r] = w[r][k];
        store_global<u64>((u8 *)a.out[me] + at, fold(x));
      } else {
#pragma unroll
        for (int r = 0; r < N; r++) store_global<u64>((u8 *)a.out[me] + r * a.part + at, w[r][k]);
      }
    }
  }
  next_epoch(a, e);
}

// Two phases of packets: to the owner of each part, and from it to all. AHEAD says that a
// replica sends all of its share before it takes anything.
template <int N, int U> KD void two_phase(const hand &a) {
  const u32 me = a.rank, T = ntid();
  const Share s = share_of(a.part, 8);
  u32 polls = 0;
  if (ld_volatile32((u32 *)a.abort)) return;
  const u32 e = ld_volatile32((u32 *)a.state + bid()), flag = e + 1;
  const u64 first = (e & 1) * 2 * N * a.slot, second = first + N * a.slot;
  for (u32 u = s.begin + tid(); u < s.end; u += T * U) {
    const u32 have = (s.end - u + T - 1) / T;
    u64 w[N][U];
#pragma unroll
    for (int r = 1; r < N; r++)
#pragma unroll
      for (int k = 0; k < U; k++)
        if (U == 1 || k < (int)have)
          w[r][k] = load_global<u64>((u8 *)a.in + (me + r) % N * a.part + ((u64)u + k * T) * 8);
#pragma unroll
    for (int r = 1; r < N; r++)
#pragma unroll
      for (int k = 0; k < U; k++)
        if (U == 1 || k < (int)have)
          send(a.packets[(me + r) % N] + first + me * a.slot + ((u64)u + k * T) * 16, w[r][k], flag);
  }
  for (u32 u = s.begin + tid(); u < s.end; u += T * U) {
    const u32 have = (s.end - u + T - 1) / T;
    u64 w[N][U], own[U];
#pragma unroll
    for (int k = 0; k < U; k++)
      if (U == 1 || k < (int)have) own[k] = load_global<u64>((u8 *)a.in + me * a.part + ((u64)u + k * T) * 8);
    if (!take<N, U>(a, a.packets[me] + first + (u64)u * 16, a.slot, me, (u64)T * 16, have, flag, polls, w)) return;
#pragma unroll
    for (int k = 0; k < U; k++) {
      if (U != 1 && k >= (int)have) continue;
      u64 x[N];
#pragma unroll
      for (int r = 0; r < N; r++) x[r] = r == (int)me ? own[k] : w[r][k];
      const u64 sum = fold(x);
#pragma unroll
      for (int r = 1; r < N; r++)
        send(a.packets[(me + r) % N] + second + me * a.slot + ((u64)u + k * T) * 16, sum, flag);
      store_global<u64>((u8 *)a.out[me] + me * a.part + ((u64)u + k * T) * 8, sum);
    }
  }
  for (u32 u = s.begin + tid(); u < s.end; u += T * U) {
    const u32 have = (s.end - u + T - 1) / T;
    u64 w[N][U];
    if (!take<N, U>(a, a.packets[me] + second + (u64)u * 16, a.slot, me, (u64)T * 16, have, flag, polls, w)) return;
#pragma unroll
    for (int r = 0; r < N; r++)
#pragma unroll
      for (int k = 0; k < U; k++)
        if (r != (int)me && (U == 1 || k < (int)have))
          store_global<u64>((u8 *)a.out[me] + r * a.part + ((u64)u + k * T) * 8, w[r][k]);
  }
  next_epoch(a, e);
}

// Two phases with lines of 120 bytes and a flag, each stored at once by eight lanes.
struct Part16 {
  u64 low, high;
};
KD Part16 ld_part(u64 base, u64 off, u64 part) {
  Part16 v = {0, 0};
  if (off < part) v.low = load_global<u64>((const u8 *)(base + off));
  if (tid() % 8 != 7 && off + 8 < part) v.high = load_global<u64>((const u8 *)(base + off + 8));
  return v;
}
KD void st_part(u64 base, u64 off, u64 part, Part16 v) {
  if (off < part) store_global<u64>((u8 *)(base + off), v.low);
  if (tid() % 8 != 7 && off + 8 < part) store_global<u64>((u8 *)(base + off + 8), v.high);
}
template <int N> KD bool take_lines(const hand &a, u64 base, u32 me, u64 flag, u32 &polls, Part16 (&v)[N]) {
  for (;;) {
    bool missing = false;
#pragma unroll
    for (int r = 0; r < N; r++) {
      if (r == (int)me) continue;
      const pair64 p = ld_pair((const u8 *)(base + r * a.slot));
      v[r] = Part16{p.low, p.high};
      missing |= tid() % 8 == 7 && p.high != flag;
    }
    if (!any(missing)) return true;
    if (any(lost(a, polls))) return false;
  }
}
template <int N> KD void two_phase_lines(const hand &a) {
  const u32 me = a.rank, lines = (u32)((a.part + 119) / 120);
  const u32 each = ((lines + replicas() - 1) / replicas() + 3) / 4 * 4;
  const u32 begin = bid() * each,
            end = (u32)least((lines + 3) / 4 * 4, begin + each);  // the lines of a warp, all or none
  u32 polls = 0;
  if (ld_volatile32((u32 *)a.abort)) return;
  const u32 e = ld_volatile32((u32 *)a.state + bid()), T = ntid() / 8, mine = tid() % 8;
  const u64 flag = e + 1, first = (e & 1) * 2 * N * a.slot, second = first + N * a.slot;
  for (u32 l = begin + tid() / 8; l < end; l += T) {
    const u64 off = (u64)l * 120 + mine * 16, wire = (u64)l * 128 + mine * 16;
    Part16 v[N];
#pragma unroll
    for (int r = 1; r < N; r++) v[r] = ld_part(a.in + (me + r) % N * a.part, off, a.part);
    gather();
#pragma unroll
    for (int r = 1; r < N; r++)
      st_pair((u8 *)(a.packets[(me + r) % N] + first + me * a.slot + wire),
              pair64{v[r].low, mine == 7 ? flag : v[r].high});
  }
  for (u32 l = begin + tid() / 8; l < end; l += T) {
    const u64 off = (u64)l * 120 + mine * 16, wire = (u64)l * 128 + mine * 16;
    Part16 v[N], own = ld_part(a.in + me * a.part, off, a.part);
    if (!take_lines<N>(a, a.packets[me] + first + wire, me, flag, polls, v)) return;
    u64 x[N], y[N];
#pragma unroll
    for (int r = 0; r < N; r++) x[r] = r == (int)me ? own.low : v[r].low, y[r] = r == (int)me ? own.high : v[r].high;
    const Part16 sum = {fold(x), fold(y)};
    gather();
#pragma unroll
    for (int r = 1; r < N; r++)
      st_pair((u8 *)(a.packets[(me + r) % N] + second + me * a.slot + wire),
              pair64{sum.low, mine == 7 ? flag : sum.high});
    st_part(a.out[me] + me * a.part, off, a.part, sum);
  }
  for (u32 l = begin + tid() / 8; l < end; l += T) {
    const u64 off = (u64)l * 120 + mine * 16, wire = (u64)l * 128 + mine * 16;
    Part16 v[N];
    if (!take_lines<N>(a, a.packets[me] + second + wire, me, flag, polls, v)) return;
#pragma unroll
    for (int r = 0; r < N; r++)
      if (r != (int)me) st_part(a.out[me] + r * a.part, off, a.part, v[r]);
  }
  next_epoch(a, e);
}
