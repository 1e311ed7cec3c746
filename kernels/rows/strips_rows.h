// This file moves data of programs with an epilogue on a host, as moves/strips_onesided.h does for all others. A Move
// that writes output finishes rows, or moves finished ones; all other Moves are those of OneStrips.
//
// A thread finishes whole units of rows. A unit is one row, or two where a row is no multiple of 4 bytes: so no packet
// has bytes of two units. A thread has room in f32 for a unit of sums, and for the row that it finishes.
#pragma once
#include "../moves/strips_onesided.h"
#include "stages.h"

enum { ROW_ROOM = 3 };  // rows of f32 that a thread has

// host_rows is the room of this thread, of ROW_ROOM rows of f32.
float *host_rows();

// rows_of is what a launch with an epilogue has beside the launch that a step sees.
KD const abi_rows &rows_of(const One &t) { return ((const abi_rows_launch *)&t.a)->rows; }

// memory_of is what the stages of a rank read and write.
KD const abi_row_memory &memory_of(const abi_rows &r, u32 rank) {
  return r.ranks ? at_address<const abi_row_memory>(r.ranks)[rank] : r.rank;
}

// output_row is which row of its rank's output is the first that this iteration moves of chunk i of an operand.
KD u64 output_row(const One &t, const abi_one_operand &o, u32 i) {
  const abi_one_launch &a = t.a;
  u32 piece = (u32)o.a, k = o.b + i;
  if (k >= a.chunks) piece += k / a.chunks, k %= a.chunks;
  return (u64)piece * a.elems + least((u64)k * a.chunk, a.elems) + t.first / a.elem_size;
}

// A Finished is where a finished row lies: the memory of a rank, and the number of the row in its output.
struct Finished {
  const abi_rows &r;
  const abi_row_memory &m;
  u64 output, row;
};
KD Finished finished_at(const One &t, u32 rank, u64 row) {
  const abi_rows &r = rows_of(t);
  return Finished{r, memory_of(r, rank), t.at.ranks[rank].output, row};
}

// gather gathers n elements, in as many parts as a processor has in a vector.
template <class G> KD_CALL float gather(const float *x, u32 n, float mean) {
  enum { PARTS = 16 };
  float part[PARTS] = {}, all = 0;
  u32 i = 0;
  for (; i + PARTS <= n; i += PARTS)
    for (u32 k = 0; k < PARTS; k++) part[k] = G::of(part[k], x[i + k], mean);
  for (u32 k = 0; i < n; i++, k++) part[k] = G::of(part[k], x[i], mean);
  for (u32 k = 0; k < PARTS; k++) all = G::both(all, part[k]);
  return all;
}

// add adds a vector to a row, and keeps the sum too where `updated` is not nullptr.
template <class T> KD_CALL void add(float *x, const T *by, T *updated, u32 n) {
  for (u32 i = 0; i < n; i++) x[i] += up(by[i]);
  for (u32 i = 0; updated && i < n; i++) down(updated + i, x[i]);
}

// normalise is ROW_RMS_NORM, and ROW_LAYER_NORM where bias is not nullptr.
template <class T> KD_CALL void normalise(float *x, const T *weights, const T *bias, u32 n, double eps) {
  const float mean = bias ? gather<GatherSum>(x, n, 0) / (float)n : 0.0f;
  const float by = norm_factor(gather<GatherSquares>(x, n, mean), n, eps);
  for (u32 i = 0; i < n; i++) x[i] = (x[i] - mean) * by * up(weights[i]);
  for (u32 i = 0; bias && i < n; i++) x[i] += up(bias[i]);
}

// quantise divides the blocks of a row by their scales.
KD_CALL void quantise(float *x, float *scales, u32 n, const abi_row_stage &s) {
  const u32 block = s.block ? s.block : n;
  for (u32 first = 0; first < n; first += (u32)least(block, n - first), scales++) {
    const u32 count = (u32)least(block, n - first);
    const float scale = scale_of(gather<GatherLargest>(x + first, count, 0), s.type);
    for (u32 i = first; i < first + count; i++) x[i] /= scale;
    *scales = scale;
  }
}

template <class T> KD_CALL void put_all(u64 to, const float *x, u32 n) {
  for (u32 i = 0; i < n; i++) put_row(at_address<T>(to) + i, x[i]);
}

// put_output writes a row to the output.
KD_CALL void put_output(const Finished &f, const float *x) {
  const u32 n = f.r.length;
  const u64 to = f.output + f.row * n * f.r.output_size;
  switch (f.r.output_type) {
    case DT_F16: return put_all<f16>(to, x, n);
    case DT_BF16: return put_all<bf16>(to, x, n);
    case DT_F32: return put_all<float>(to, x, n);
    case DT_E4M3: return put_all<e4m3>(to, x, n);
    case DT_E5M2: return put_all<e5m2>(to, x, n);
  }
  put_all<i8>(to, x, n);
}

// finish makes a finished row of a sum, which it overwrites. T is the type of the sum.
template <class T> KD_CALL void finish(const Finished &f, float *x) {
  const u32 n = f.r.length;
  for (u32 k = 0; k < f.r.stages; k++) {
    const abi_row_stage &s = f.r.stage[k];
    const T *first = at_address<const T>(f.m.first[k]);
    switch (s.kind) {
      case ROW_SCALE:
        for (u32 i = 0; i < n; i++) x[i] *= (float)s.value;
        break;
      case ROW_BIAS: add<T>(x, first, nullptr, n); break;
      case ROW_RESIDUAL: add(x, first + f.row * n, at_address<T>(f.m.second[k]) + f.row * n, n); break;
      case ROW_RMS_NORM: normalise<T>(x, first, nullptr, n, s.value); break;
      case ROW_LAYER_NORM: normalise<T>(x, first, at_address<const T>(f.m.second[k]), n, s.value); break;
      case ROW_ACTIVATION:
        for (u32 i = 0; i < n; i++) x[i] = activate(s.function, x[i]);
        break;
      case ROW_QUANTISE: quantise(x, at_address<float>(f.m.second[k]) + f.row * f.r.scales_of_row, n, s);
    }
  }
  put_output(f, x);
}

// sum_unit folds the sources of p, a unit, into f32; false where a packet did not come.
template <class T> KD_CALL bool sum_unit(const Strip &p, float *sum) {
  alignas(16) u8 room[ONE_STRIP];
  for (u32 done = 0; done < p.n; done += ONE_STRIP) {
    const Strip strip{p.t, p.s, p.i, p.at + done, (u32)least(ONE_STRIP, p.n - done)};
    const u32 n = strip.n / sizeof(T);
    float *acc = sum + done / sizeof(T);
    bool begun = false;
    for (u32 o = 0; o < p.s.srcs; o++) {
      const abi_one_operand &from = p.t.at.operands[p.s.first + o];
      for (u32 r = first_rank(from); r < end_rank(p.t, from); r++, begun = true) {
        const T *x = (const T *)source(strip, o, r, room);
        if (!x) return false;
        for (u32 k = 0; k < n; k++) acc[k] = begun ? acc[k] + up(x[k]) : up(x[k]);
      }
    }
  }
  return true;
}

// store_sums writes the sums of a unit to all destinations that are no output, as raw sums.
template <class T> KD_CALL void store_sums(const Strip &p, const float *sum) {
  alignas(16) T room[ONE_STRIP / sizeof(T)];
  for (u32 done = 0; done < p.n; done += ONE_STRIP) {
    const u64 at = p.at + done;
    const u32 bytes = (u32)least(ONE_STRIP, p.n - done);
    for (u32 k = 0; k < bytes / sizeof(T); k++) down(room + k, sum[done / sizeof(T) + k]);
    for (u32 o = p.s.srcs; o < (u32)p.s.srcs + p.s.dsts; o++) {
      const abi_one_operand &to = p.t.at.operands[p.s.first + o];
      if (to.buf == BUF_OUTPUT) continue;
      for (u32 r = first_rank(to); r < end_rank(p.t, to); r++) {
        const u64 base = one_cell(p.t, to, p.t.at.ranks[r], p.i);
        if (to.buf == BUF_PACKETS) LL::put(at_address<u8>(base), at, (const u8 *)room, bytes, p.t.flag);
        else copy_strip(at_address<u8>(base + at), room, bytes);
      }
    }
  }
}

// move_row moves a finished row with its companions.
KD_CALL void move_row(const Finished &from, const Finished &to, u32 sum_size) {
  const abi_rows &r = from.r;
  const auto copy = [&](u64 dst, u64 src, u64 bytes) {
    if (dst + to.row * bytes != src + from.row * bytes)
      copy_bytes(at_address<u8>(dst + to.row * bytes), at_address<u8>(src + from.row * bytes), bytes);
  };
  copy(to.output, from.output, (u64)r.length * r.output_size);
  for (u32 k = 0; k < r.stages; k++) {
    if (r.stage[k].kind == ROW_RESIDUAL) copy(to.m.second[k], from.m.second[k], (u64)r.length * sum_size);
    if (r.stage[k].kind == ROW_QUANTISE) copy(to.m.second[k], from.m.second[k], r.scales_of_row * sizeof(float));
  }
}

// own_output is the operand of a step that is output of the block's rank, or nullptr.
KD_CALL const abi_one_operand *own_output(const One &t, const abi_one_step &s) {
  for (u32 o = s.srcs; o < (u32)s.srcs + s.dsts; o++) {
    const abi_one_operand &to = t.at.operands[s.first + o];
    if (to.buf == BUF_OUTPUT && (u32)to.rank == t.at.block->rank) return &to;
  }
  return nullptr;
}

// finish_unit finishes the rows of a unit in all outputs that a step writes: once, where its own rank gets them.
template <class T> KD_CALL bool finish_unit(const Strip &p) {
  const u32 length = rows_of(p.t).length, row = p.t.a.elem_size, count = p.n / row;
  float *sum = host_rows(), *work = sum + 2 * (u64)length;
  if (!sum_unit<T>(p, sum)) return false;
  store_sums<T>(p, sum);
  const auto finish_in = [&](const abi_one_operand &to) {
    const u64 first = output_row(p.t, to, p.i) + p.at / row;
    for (u32 k = 0; k < count; k++) {
      copy_bytes(work, sum + (u64)k * length, (u64)length * sizeof(float));
      finish<T>(finished_at(p.t, (u32)to.rank, first + k), work);
    }
  };
  const abi_one_operand *own = own_output(p.t, p.s);
  if (own) finish_in(*own);
  for (u32 o = p.s.srcs; o < (u32)p.s.srcs + p.s.dsts; o++) {
    const abi_one_operand &to = p.t.at.operands[p.s.first + o];
    if (to.buf != BUF_OUTPUT || &to == own) continue;
    if (!own) finish_in(to);
    for (u32 k = 0; own && k < count; k++)
      move_row(finished_at(p.t, (u32)own->rank, output_row(p.t, *own, p.i) + p.at / row + k),
               finished_at(p.t, (u32)to.rank, output_row(p.t, to, p.i) + p.at / row + k), sizeof(T));
  }
  return true;
}

KD_CALL bool finish_any(const Strip &p) {
  switch (p.t.a.dtype) {
    case DT_F16: return finish_unit<f16>(p);
    case DT_BF16: return finish_unit<bf16>(p);
  }
  return finish_unit<float>(p);
}

// RowStrips moves data of programs with an epilogue, with the folds of F.
template <class F> struct RowStrips : OneStrips<F> {
  KD_CALL void move(One &t, const abi_one_step &of) {
    const abi_one_step *s = t.at.steps + t.step;
    const u32 count = of.group, first = t.step;
    for (u32 k = 0; k < count && !t.gone; k++) {
      t.step = first + k;
      for (u32 i = 0; i < s[k].count; i++) move_chunk(t, s[k], i);
    }
    t.step = first;
  }

  // A chunk without bytes has no rows: what is left of it is a packet of nothing, if there are packets.
  KD_CALL void move_chunk(One &t, const abi_one_step &s, u32 i) {
    const u64 bytes = iteration_bytes(t, class_of(t, s, i));
    if (bytes == 0 || !writes_output(t, s)) OneStrips<F>::move_chunk(t, s, i);
    else if (t.at.operands[s.first].buf == BUF_OUTPUT) move_finished(t, s, i, bytes / t.a.elem_size);
    else finish_chunk(t, s, i, bytes);
  }

  KD_CALL bool writes_output(const One &t, const abi_one_step &s) {
    for (u32 o = s.srcs; o < (u32)s.srcs + s.dsts; o++)
      if (t.at.operands[s.first + o].buf == BUF_OUTPUT) return true;
    return false;
  }

  KD_CALL void finish_chunk(One &t, const abi_one_step &s, u32 i, u64 bytes) {
    const u64 unit = (u64)t.a.elem_size * (t.a.elem_size % 4 ? 2 : 1);
    for (u64 at = tid() * unit; at < bytes && !t.gone; at += ntid() * unit)
      if (!finish_any(Strip{t, s, i, at, (u32)least(unit, bytes - at)})) give_up(t);
  }

  KD_CALL void move_finished(One &t, const abi_one_step &s, u32 i, u64 rows) {
    const abi_one_operand &from = t.at.operands[s.first];
    const u64 first = output_row(t, from, i);
    const u32 size = t.a.elem_size / rows_of(t).length;
    for (u64 k = tid(); k < rows && !t.gone; k += ntid())
      for (u32 o = s.srcs; o < (u32)s.srcs + s.dsts; o++) {
        const abi_one_operand &to = t.at.operands[s.first + o];
        const u64 row = output_row(t, to, i) + k;
        for (u32 r = first_rank(to); r < end_rank(t, to); r++)
          move_row(finished_at(t, first_rank(from), first + k), finished_at(t, r, row), size);
      }
  }
};
