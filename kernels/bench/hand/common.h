// What all kernels of hand.cc use: waits that end, sums, and the share of a replica.
#pragma once
#include "../../platform/nv.h"
#include "../../abi/layout.h"
#include "../../values/units.h"
#include "../../abi/rows_onesided.h"
#include "hand.h"

KD u32 replicas() { return __nvvm_read_ptx_sreg_nctaid_x(); }
KD u32 ld_volatile32(const u32 *p) {
  u32 v;
  asm volatile("ld.volatile.global.u32 %0,[%1];" : "=r"(v) : "l"(global_at(p)) : "memory");
  return v;
}
KD void st_volatile32(u32 *p, u32 v) {
  asm volatile("st.volatile.global.u32 [%0],%1;" ::"l"(global_at(p)), "r"(v) : "memory");
}

// Every wait ends: after POLLS polls the launch is given up, and so are all that follow.
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

// A Share is the units of `size` bytes that a replica has of each part.
struct Share {
  u32 begin, end;
};
KD Share share_of(u64 part, u32 size) {
  const u32 units = (u32)(part / size), each = ((units + replicas() - 1) / replicas() + 31) / 32 * 32;
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
