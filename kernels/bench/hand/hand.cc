// Reference kernels, written by hand for one collective each, with which the
// interpreter is compared. Block c of each rank is replica c: it moves the same share of
// every part on all ranks, and meets only the replicas c of other ranks.
#include "bulk.h"
#include "packets.h"

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
  for (u64 i = (u64)bid() * ntid() + tid(); i < elems; i += (u64)replicas() * ntid())
    store_global<u16>((u16 *)a.in + i, (u16)element(a.rank, i));
}
// check counts in *wrong the elements of the output that differ from those of the collective `what`.
extern "C" __global__ void check(hand a, u64 elems, u32 what, u32 *wrong) {
  const u64 part = a.part / 2;
  for (u64 i = (u64)bid() * ntid() + tid(); i < elems; i += (u64)replicas() * ntid()) {
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
