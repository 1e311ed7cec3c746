// Kernels of hand.cc that move data by plain stores, which flags tell of.
#pragma once
#include "common.h"

// Flags: of kind `which`, from rank `from`, of this replica, in the memory of rank `at`.
KD u64 *flag_of(const hand &a, u32 at, u32 which, u32 from) {
  return (u64 *)(a.flags[at] + ((u64)(which * MAX_REPLICAS + bid()) * MAX_RANKS + from) * FLAG_BYTES);
}
// signal_all signals all others, and await_all awaits the signals of all others, each with a thread a peer.
// The barrier before makes the release cover the block; the one after hands on the acquire.
template <int N, bool RELEASE> KD void signal_all(const hand &a, u32 which, u64 count) {
  if (tid() < N - 1) {
    u64 *f = flag_of(a, (a.rank + 1 + tid()) % N, which, a.rank);
    if (RELEASE) st_release64(f, count);
    else st_relaxed64(f, count);
  }
}
template <int N> KD void await_all(const hand &a, u32 which, u64 count, u32 &polls) {
  if (tid() < N - 1) {
    const u64 *f = flag_of(a, a.rank, which, (a.rank + 1 + tid()) % N);
    while (ld_acquire64(f) < count)
      if (lost(a, polls)) break;
  }
  bar();
}

KD v16 ld16_stream(u64 at) {
  u32 x, y, z, w;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0,%1,%2,%3},[%4];"
               : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
               : "l"(global_at((const u8 *)at))
               : "memory");
  return v16{x, y, z, w};
}
KD void st16(u64 at, v16 v) { store_global<v16>((u8 *)at, v); }

// for_units calls body(unit, units that are there) for the units [0, n) of a replica, U of a lane at
// once, LANES apart.
template <int U, class Body> KD void for_units(u32 n, Body body) {
  const u32 whole = n / (U * LANES) * (U * LANES), warp = tid() / LANES, lane = tid() % LANES;
#pragma nounroll
  for (u32 b = warp * U * LANES; b < whole; b += ntid() * U) body(b + lane, U);
  if (whole < n) {
#pragma nounroll
    for (u32 b = whole + tid(); b < n; b += ntid()) body(b, 1);
  }
}

// put_in_turn is put_each, one rank after the other: all GPUs write to another one at any time.
template <int N, int U> KD void put_in_turn(const hand &a, u64 from, u64 bytes, u64 slot, const u64 (&to)[MAX_RANKS]) {
#pragma nounroll
  for (int p = 1; p < N; p++) {
    const u32 r = (a.rank + p) % N;
    const u64 in = a.in + r * a.part + from, out = to[r] + slot;
    for_units<U>((u32)(bytes / 16), [&](u32 u, int have) {
      v16 v[U];
#pragma unroll
      for (int k = 0; k < U; k++)
        if (k < have) v[k] = ld16_stream(in + (u64)u * 16 + k * LANES * 16);
#pragma unroll
      for (int k = 0; k < U; k++)
        if (k < have) st16(out + (u64)u * 16 + k * LANES * 16, v[k]);
    });
  }
}

// put_each writes the tile of each other rank's part to its scratch.
template <int N, int U> KD void put_each(const hand &a, u64 from, u64 bytes, u64 slot, const u64 (&to)[MAX_RANKS]) {
  const u32 me = a.rank;
  for_units<U>((u32)(bytes / 16), [&](u32 u, int have) {
    v16 v[N - 1][U];
#pragma unroll
    for (int p = 1; p < N; p++)
#pragma unroll
      for (int k = 0; k < U; k++)
        if (k < have) v[p - 1][k] = ld16_stream(a.in + (me + p) % N * a.part + from + (u64)u * 16 + k * LANES * 16);
#pragma unroll
    for (int p = 1; p < N; p++)
#pragma unroll
      for (int k = 0; k < U; k++)
        if (k < have) st16(to[(me + p) % N] + slot + (u64)u * 16 + k * LANES * 16, v[p - 1][k]);
  });
}

// Push: put to the owner's scratch, signal, await, reduce, put the result to all. WHAT may be REDUCESCATTER.
template <int N, int U, int V, int WHAT, bool TURN = false> KD void push(const hand &a) {
  const u32 me = a.rank;
  const Share s = share_of(a.part, 16);
  u32 polls = 0;
  if (ld_volatile32((u32 *)a.abort)) return;
  u32 e = ld_volatile32((u32 *)a.state + bid());
  const u64 end = (u64)s.end * 16;
  for (u64 at = (u64)s.begin * 16; at < end; at += a.tile, e++) {
    const u64 bytes = least(a.tile, end - at), copy = ((u64)bid() * 2 + (e & 1)) * N * a.tile;
    if (TURN) put_in_turn<N, U>(a, at, bytes, copy + me * a.tile, a.scratch);
    else put_each<N, U>(a, at, bytes, copy + me * a.tile, a.scratch);
    bar();
    signal_all<N, true>(a, FLAGS_A, e + 1);
    await_all<N>(a, FLAGS_A, e + 1, polls);
    for_units<V>((u32)(bytes / 16), [&](u32 u, int have) {
      v16 v[N][V];
#pragma unroll
      for (int r = 0; r < N; r++)
#pragma unroll
        for (int k = 0; k < V; k++)
          if (k < have) {
            const u64 own = a.in + me * a.part + at, far = a.scratch[me] + copy + r * a.tile;
            v[r][k] = ld16_stream((r == (int)me ? own : far) + (u64)u * 16 + k * LANES * 16);
          }
#pragma unroll
      for (int k = 0; k < V; k++) {
        if (k >= have) continue;
        Sum32<8> sum;
#pragma unroll
        for (int r = 0; r < N; r++) {
          const u32 x[4] = {v[r][k].x, v[r][k].y, v[r][k].z, v[r][k].w};
          sum.add(x, r == 0);
        }
        const v16 y = {sum.word(0), sum.word(1), sum.word(2), sum.word(3)};
        const u64 off = (u64)u * 16 + k * LANES * 16;
        if (WHAT == REDUCESCATTER) st16(a.out[me] + at + off, y);
        else
#pragma unroll
          for (int p = 0; p < N; p++) st16(a.out[(me + p) % N] + me * a.part + at + off, y);
      }
    });
  }
  if (WHAT == ALLREDUCE) {
    bar();
    signal_all<N, true>(a, FLAGS_B, e);
    await_all<N>(a, FLAGS_B, e, polls);
  }
  next_epoch(a, e - 1);
}

// Exchange: copies into the outputs of all, which may be written once their kernels have begun.
template <int N, int U, int WHAT> KD void exchange(const hand &a) {
  const u32 me = a.rank;
  const Share s = share_of(a.part, 16);
  u32 polls = 0;
  if (ld_volatile32((u32 *)a.abort)) return;
  const u32 e = ld_volatile32((u32 *)a.state + bid());
  const u64 at = (u64)s.begin * 16;
  signal_all<N, false>(a, FLAGS_A, e + 1);
  await_all<N>(a, FLAGS_A, e + 1, polls);
  for_units<U>(s.end - s.begin, [&](u32 u, int have) {
    const u64 off = at + (u64)u * 16;
    if (WHAT == ALLGATHER) {
      v16 v[U];
#pragma unroll
      for (int k = 0; k < U; k++)
        if (k < have) v[k] = ld16_stream(a.in + off + k * LANES * 16);
#pragma unroll
      for (int p = 0; p < N; p++)
#pragma unroll
        for (int k = 0; k < U; k++)
          if (k < have) st16(a.out[(me + p) % N] + me * a.part + off + k * LANES * 16, v[k]);
    } else {
      v16 v[N][U];
#pragma unroll
      for (int p = 0; p < N; p++)
#pragma unroll
        for (int k = 0; k < U; k++)
          if (k < have) v[p][k] = ld16_stream(a.in + (me + p) % N * a.part + off + k * LANES * 16);
#pragma unroll
      for (int p = 0; p < N; p++)
#pragma unroll
        for (int k = 0; k < U; k++)
          if (k < have) st16(a.out[(me + p) % N] + me * a.part + off + k * LANES * 16, v[p][k]);
    }
  });
  bar();
  signal_all<N, true>(a, FLAGS_B, e + 1);
  await_all<N>(a, FLAGS_B, e + 1, polls);
  next_epoch(a, e);
}

// Exchange in turn: AllToAll, where all of a replica goes to one rank after the other.
template <int N, int U> KD void exchange_in_turn(const hand &a) {
  const Share s = share_of(a.part, 16);
  u32 polls = 0;
  if (ld_volatile32((u32 *)a.abort)) return;
  const u32 e = ld_volatile32((u32 *)a.state + bid());
  const u64 at = (u64)s.begin * 16, bytes = (u64)(s.end - s.begin) * 16;
  signal_all<N, false>(a, FLAGS_A, e + 1);
  await_all<N>(a, FLAGS_A, e + 1, polls);
  put_in_turn<N, U>(a, at, bytes, a.rank * a.part + at, a.out);
  for_units<U>((u32)(bytes / 16), [&](u32 u, int have) {
#pragma unroll
    for (int k = 0; k < U; k++)
      if (k < have)
        st16(a.out[a.rank] + a.rank * a.part + at + (u64)u * 16 + k * LANES * 16,
             ld16_stream(a.in + a.rank * a.part + at + (u64)u * 16 + k * LANES * 16));
  });
  bar();
  signal_all<N, true>(a, FLAGS_B, e + 1);
  await_all<N>(a, FLAGS_B, e + 1, polls);
  next_epoch(a, e);
}
