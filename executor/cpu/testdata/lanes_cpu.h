// This file has what GPUs' platform layers have beside the host's, so that the kernel's layer
// of lanes (kernels/onesided_moves_lanes.h) runs in threads of a host: which lanes of a bundle run together is not
// kept, and what they share is in the team of the thread.
#pragma once
#define KERNEL_LANES 1
enum { LANES = 4 };

void *team_near();
bool team_any(bool here);
#define one_local (*(one_near *)team_near())

struct v16 {
  u32 x, y, z, w;
};
struct pair64 {
  u64 low, high;
};
template <class T> KD T load_global(const void *p) {
  T v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class T> KD void store_global(void *p, T v) { __builtin_memcpy(p, &v, sizeof v); }
KD v16 load_stream(const void *p) { return load_global<v16>(p); }
KD pair64 ld_pair(const u8 *p) {
  const u64 *words = (const u64 *)p;
  return pair64{ld_relaxed64(words), ld_relaxed64(words + 1)};
}
KD void st_pair(u8 *p, pair64 v) {
  st_relaxed64((u64 *)p, v.low);
  st_relaxed64((u64 *)p + 1, v.high);
}
KD bool bar_any(bool here) { return team_any(here); }
KD v16 whole_words(v16 v) { return v; }
KD u64 whole_words(u64 v) { return v; }
KD double inverse_of(u32 n) { return 1.0 / n; }
