#include "sha256.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace {

alignas(16) const u32 primes[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

u32 turn(u32 x, int by) { return x >> by | x << (32 - by); }

void block(u32 state[8], const u8 *p) {
  u32 w[64], s[8];
  for (int i = 0; i < 16; i++, p += 4) w[i] = (u32)p[0] << 24 | (u32)p[1] << 16 | (u32)p[2] << 8 | p[3];
  for (int i = 16; i < 64; i++) {
    const u32 a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
  }
  memcpy(s, state, sizeof s);
  for (int i = 0; i < 64; i++) {
    const u32 e = s[4], a = s[0];
    const u32 t = s[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + primes[i] + w[i];
    const u32 u = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    for (int k = 7; k > 0; k--) s[k] = s[k - 1];
    s[4] += t;
    s[0] = t + u;
  }
  for (int i = 0; i < 8; i++) state[i] += s[i];
}

void plain_blocks(u32 state[8], const u8 *p, u64 count) {
  for (; count; count--, p += 64) block(state, p);
}

#if defined(__x86_64__)
// quick_blocks does the same by the instructions of most processors since 2017: all images of a bundle are hashed when
// a job starts. The instructions have the state as a, b, e, f and c, d, g, h.
__attribute__((target("sha,sse4.1"))) void quick_blocks(u32 state[8], const u8 *p, u64 count) {
  const __m128i bytes = _mm_set_epi64x(0x0c0d0e0f08090a0bll, 0x0405060700010203ll);
  __m128i *const at = (__m128i *)state;
  const __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(at), 0xb1);
  const __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(at + 1), 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; count; count--, p += 64) {
    const __m128i first = abef, second = cdgh;
    __m128i w[4];
    for (int i = 0; i < 4; i++) w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)p + i), bytes);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
      const __m128i m = _mm_add_epi32(w[i % 4], _mm_load_si128((const __m128i *)primes + i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, m);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(m, 0x0e));
      const __m128i before = _mm_alignr_epi8(w[(i + 3) % 4], w[(i + 2) % 4], 4);
      const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]), before);
      w[i % 4] = _mm_sha256msg2_epu32(sum, w[(i + 3) % 4]);
    }
    abef = _mm_add_epi32(abef, first), cdgh = _mm_add_epi32(cdgh, second);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(at, _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(at + 1, _mm_alignr_epi8(dchg, feba, 8));
}

// has_quick asks the processor once: to ask is slow in a virtual machine.
bool has_quick() {
  static int known;  // 0: not yet, 1: no, 2: yes
  int has = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (has) return has == 2;
  u32 a, b, c, d;
  const bool sse = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_1);
  has = sse && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA) ? 2 : 1;
  __atomic_store_n(&known, has, __ATOMIC_RELAXED);
  return has == 2;
}
#else
void quick_blocks(u32 state[8], const u8 *p, u64 count) { plain_blocks(state, p, count); }
bool has_quick() { return false; }
#endif

}  // namespace

void sha256(const void *data, u64 bytes, u8 out[32], bool plain) {
  void (*const blocks)(u32 *, const u8 *, u64) = plain || !has_quick() ? plain_blocks : quick_blocks;
  u32 state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const u8 *p = (const u8 *)data;
  const u64 left = bytes % 64;
  blocks(state, p, bytes / 64);
  p += bytes - left;
  u8 last[128] = {};
  if (left) memcpy(last, p, left);
  last[left] = 0x80;
  const u64 end = left < 56 ? 64 : 128, bits = bytes * 8;
  for (int i = 0; i < 8; i++) last[end - 1 - (u64)i] = (u8)(bits >> 8 * i);
  blocks(state, last, end / 64);
  for (int i = 0; i < 32; i++) out[i] = (u8)(state[i / 4] >> (24 - 8 * (i % 4)));
}
