// Kernels of hand.cc that the bulk copy engine of an SM moves data for.
#pragma once
#include "plain.h"

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
