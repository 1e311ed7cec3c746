// Reference kernels, written by hand for one collective each, with which the
// interpreter is compared. Block c of each rank is column c: it moves the same share of
// every part on all ranks, and meets only the columns c of other ranks.
#include "../platform/nv.h"
#include "../abi/layout.h"
#include "../values/units.h"
#include "../abi/rows_onesided.h"
#include "hand.h"

KD u32 columns() { return __nvvm_read_ptx_sreg_nctaid_x(); }
KD u32 ld_volatile32(const u32 *p) {
  u32 v;
  asm volatile("ld.volatile.global.u32 %0,[%1];" : "=r"(v) : "l"(global_at(p)) : "memory");
  return v;
}
KD void st_volatile32(u32 *p, u32 v) {
  asm volatile("st.volatile.global.u32 [%0],%1;" ::"l"(global_at(p)), "r"(v) : "memory");
}

// Every wait ends: after so many polls the launch is given up, and so are all that follow.
enum { POLLS = 1 << 19 };
KD bool lost(const hand &a, u32 &polls) {
  if (++polls < POLLS) return false;
  st_volatile32((u32 *)a.abort, 1 + a.rank);
  return true;
}

// f32 sums of units of 8 bytes (packets) and 16 bytes (plain), of bf16.
template <int N> struct Sum32 {
  float x[N];
  KD_MEMBER void add(const u32 (&v)[N / 2], bool first) {
#pragma unroll
    for (int i = 0; i < N / 2; i++) {
      const float lo = bits<float>(v[i] << 16), hi = bits<float>(v[i] & 0xffff0000u);
      x[2 * i] = first ? lo : x[2 * i] + lo;
      x[2 * i + 1] = first ? hi : x[2 * i + 1] + hi;
    }
  }
  KD_MEMBER u32 word(int i) const {
    u32 v;
    asm("cvt.rn.bf16x2.f32 %0,%1,%2;" : "=r"(v) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
    return v;
  }
};

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

// A Share is the units of `size` bytes that a column has of each part.
struct Share {
  u32 begin, end;
};
KD Share share_of(u64 part, u32 size) {
  const u32 units = (u32)(part / size), each = ((units + columns() - 1) / columns() + 31) / 32 * 32;
  return Share{(u32)least(units, bid() * each), (u32)least(units, (bid() + 1) * each)};
}

KD void next_epoch(const hand &a, u32 e) {
  bar();
  if (tid() == 0) st_volatile32((u32 *)a.state + bid(), e + 1);
}

template <int N> KD u64 fold(const u64 (&w)[N]) {
  Sum32<4> s;
#pragma unroll
  for (int r = 0; r < N; r++) {
    const u32 v[2] = {(u32)w[r], (u32)(w[r] >> 32)};
    s.add(v, r == 0);
  }
  return (u64)s.word(0) | (u64)s.word(1) << 32;
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
// column sends all of its share before it takes anything.
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

// Flags: of kind `which`, from rank `from`, of this column, in the memory of rank `at`.
KD u64 *flag_of(const hand &a, u32 at, u32 which, u32 from) {
  return (u64 *)(a.flags[at] + ((u64)(which * MAX_COLUMNS + bid()) * MAX_RANKS + from) * FLAG_BYTES);
}
// signal_all tells all others, and await_all waits until all others have told, each with a thread a peer.
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

// for_units calls body(unit, units that are there) for the units [0, n) of a column, U of a lane at
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

// Exchange in turn: AllToAll, where all of a column goes to one rank after the other.
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
  const u32 me = a.rank, lines = (u32)((a.part + 119) / 120), each = ((lines + columns() - 1) / columns() + 3) / 4 * 4;
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

// Exchange by the bulk copy engine of an SM: one thread moves blocks of `tile` bytes through shared memory.
enum { STAGES = 6 };
extern "C" __shared__ __attribute__((aligned(128))) u8 stage_memory[];
KD u32 shared_address(const void *p) { return (u32)(u64)(__attribute__((address_space(3))) const void *)p; }
template <int N, int WHAT> KD void bulk(const hand &a) {
  __shared__ static u64 arrived[STAGES];
  const u32 me = a.rank, T = (u32)a.tile;
  const Share s = share_of(a.part, 16);
  u32 polls = 0;
  if (ld_volatile32((u32 *)a.abort)) return;
  const u32 e = ld_volatile32((u32 *)a.state + bid());
  const u32 memory = shared_address(stage_memory), bars = shared_address(arrived);
  if (tid() == 0) {
    for (int i = 0; i < STAGES; i++)
      asm volatile("mbarrier.init.shared::cta.b64 [%0],1;" ::"r"(bars + i * 8) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
  }
  signal_all<N, false>(a, FLAGS_A, e + 1);
  await_all<N>(a, FLAGS_A, e + 1, polls);
  if (tid() == 0) {
    const u64 begin = (u64)s.begin * 16, end = (u64)s.end * 16;
    const u32 tiles = (u32)((end - begin + T - 1) / T), items = WHAT == ALLGATHER ? tiles : tiles * N;
    auto where = [&](u32 i, u64 &at, u32 &bytes, u32 &to) {
      const u32 t = WHAT == ALLGATHER ? i : i / N;
      to = WHAT == ALLGATHER ? 0 : (me + i % N) % N;
      at = begin + (u64)t * T;
      bytes = (u32)least(T, end - at);
    };
    for (u32 i = 0; i < items + STAGES / 2; i++) {
      if (i < items) {
        const u32 st = i % STAGES;
        // The stores of item i - STAGES have read their stage: at most STAGES/2 younger groups are under way.
        if (i >= STAGES) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(STAGES / 2 - 1) : "memory");
        u64 at;
        u32 bytes, to;
        where(i, at, bytes, to);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _,[%0],%1;" ::"r"(bars + st * 8), "r"(bytes)
                     : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0],[%1],%2,[%3];" ::"r"(
                         memory + st * T),
                     "l"(a.in + (WHAT == ALLGATHER ? 0 : to * a.part) + at), "r"(bytes), "r"(bars + st * 8)
                     : "memory");
      }
      if (i >= STAGES / 2) {
        const u32 j = i - STAGES / 2, st = j % STAGES, phase = j / STAGES & 1;
        u32 done = 0;
        for (; !done;) {
          asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p,[%1],%2; selp.u32 %0,1,0,p;}"
                       : "=r"(done)
                       : "r"(bars + st * 8), "r"(phase)
                       : "memory");
          if (!done && lost(a, polls)) return;
        }
        u64 at;
        u32 bytes, to;
        where(j, at, bytes, to);
#pragma unroll
        for (int p = 0; p < (WHAT == ALLGATHER ? N : 1); p++) {
          const u32 r = WHAT == ALLGATHER ? (me + p) % N : to;
          asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0],[%1],%2;" ::"l"(a.out[r] + me * a.part + at),
                       "r"(memory + st * T), "r"(bytes)
                       : "memory");
        }
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      }
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("fence.acq_rel.sys;" ::: "memory");
  }
  bar();
  signal_all<N, true>(a, FLAGS_B, e + 1);
  await_all<N>(a, FLAGS_B, e + 1, polls);
  next_epoch(a, e);
}

#define BOUNDS(threads) __attribute__((launch_bounds(threads)))
#define ENTRY(name, n, threads, call) \
  extern "C" __global__ BOUNDS(threads) void name##_##n(hand a) { call; }
#define ALL(n)                                                               \
  ENTRY(ar1_u1, n, 1024, (one_phase<n, 1, ALLREDUCE>(a)))                    \
  ENTRY(ar1_u2, n, 1024, (one_phase<n, 2, ALLREDUCE>(a)))                    \
  ENTRY(ar2_u1, n, 1024, (two_phase<n, 1>(a)))                               \
  ENTRY(ar2_u2, n, 1024, (two_phase<n, 2>(a)))                               \
  ENTRY(ar2_u4, n, 512, (two_phase<n, 4>(a)))                                \
  ENTRY(arp_u1, n, 1024, (push<n, 1, 1, ALLREDUCE>(a)))                      \
  ENTRY(arp_u2, n, 1024, (push<n, 2, 2, ALLREDUCE>(a)))                      \
  ENTRY(arp_u4, n, 512, (push<n, 4, 4, ALLREDUCE>(a)))                       \
  ENTRY(ag1_u1, n, 1024, (one_phase<n, 1, ALLGATHER>(a)))                    \
  ENTRY(rs1_u1, n, 1024, (one_phase<n, 1, REDUCESCATTER>(a)))                \
  ENTRY(aa1_u1, n, 1024, (one_phase<n, 1, ALLTOALL>(a)))                     \
  ENTRY(rsp_u2, n, 1024, (push<n, 2, 2, REDUCESCATTER>(a)))                  \
  ENTRY(rsp_u4, n, 512, (push<n, 4, 4, REDUCESCATTER>(a)))                   \
  ENTRY(agp_u2, n, 1024, (exchange<n, 2, ALLGATHER>(a)))                     \
  ENTRY(agp_u4, n, 1024, (exchange<n, 4, ALLGATHER>(a)))                     \
  ENTRY(agp_u8, n, 512, (exchange<n, 8, ALLGATHER>(a)))                      \
  ENTRY(aap_u1, n, 1024, (exchange<n, 1, ALLTOALL>(a)))                      \
  ENTRY(aap_u2, n, 1024, (exchange<n, 2, ALLTOALL>(a)))                      \
  ENTRY(aap_u4, n, 512, (exchange<n, 4, ALLTOALL>(a)))                       \
  ENTRY(ar3, n, 512, (two_phase_lines<n>(a)))                                \
  ENTRY(arq_u4, n, 512, (push<n, 4, 4, ALLREDUCE, true>(a)))                 \
  ENTRY(aaq_u4, n, 1024, (exchange_in_turn<n, 4>(a)))                        \
  ENTRY(agb, n, 128, (bulk<n, ALLGATHER>(a)))                                \
  ENTRY(aab, n, 128, (bulk<n, ALLTOALL>(a)))
ALL(2)
ALL(4)

extern "C" __global__ void empty(hand) {}
extern "C" __global__ void empty_large(abi_one_launch) {}

// Test data: element i of rank r is a number of [-1, 1) with a bf16's bits.
KD u32 element(u32 rank, u64 i) {
  u32 h = (u32)i * 2654435761u + (u32)(i >> 32) * 97u + rank * 40503u + 12345u;
  h ^= h >> 15, h *= 2246822519u, h ^= h >> 13, h *= 3266489917u, h ^= h >> 16;
  return bits<u32>((float)(i32)h * 4.656612873e-10f) >> 16;
}
extern "C" __global__ void fill(hand a, u64 elems) {
  for (u64 i = (u64)bid() * ntid() + tid(); i < elems; i += (u64)columns() * ntid())
    store_global<u16>((u16 *)a.in + i, (u16)element(a.rank, i));
}
// check counts in *wrong the elements of the output that differ from those of the collective `what`.
extern "C" __global__ void check(hand a, u64 elems, u32 what, u32 *wrong) {
  const u64 part = a.part / 2;
  for (u64 i = (u64)bid() * ntid() + tid(); i < elems; i += (u64)columns() * ntid()) {
    u32 want = 0;
    if (what == ALLGATHER) want = element((u32)(i / part), i % part);
    else if (what == ALLTOALL) want = element((u32)(i / part), a.rank * part + i % part);
    else {
      float sum = 0;
      for (u32 r = 0; r < a.ranks; r++) {
        const float x = bits<float>(element(r, what == REDUCESCATTER ? a.rank * part + i : i) << 16);
        sum = r ? sum + x : x;
      }
      u32 b = bits<u32>(sum);
      want = (b + 0x7fffu + (b >> 16 & 1)) >> 16;
    }
    if (want != load_global<u16>((u16 *)a.out[a.rank] + i))
      asm volatile("red.relaxed.gpu.global.add.u32 [%0],1;" ::"l"(global_at(wrong)) : "memory");
  }
}
