// This file says how the threads of a GPU's block hold a row of a sum, as f32, and what goes to and from memory by it.
// Both ways have the same functions, which stages of lanes.h call: Whole has U units of 16 bytes of a thread in
// registers, where all is aligned; Pieced has elements of any place, and is slow.
#pragma once
#include "../values/units.h"
#include "reduce.h"
#include "stages.h"

// rows_of is the second half of a launch of a program with an epilogue.
KD const abi_rows &rows_of(const abi_one_launch &a) { return ((const abi_rows_launch *)(const void *)&a)->rows; }

// magnitude_of is an element's magnitude as a number that is larger where the element is; NaN is above all.
KD u32 magnitude_of(float x) { return word_of(x) & 0x7fffffffu; }

// row_memory is an address of a rank: word `word` of its abi_row_memory.
KD u64 row_memory(const abi_rows &rows, u32 rank, u32 word) {
  if (!rows.ranks) return ((const u64 *)&rows.rank)[word];
  return load_global<u64>(at_address<const u64>(rows.ranks) + rank * (u32)(sizeof(abi_row_memory) / 8) + word);
}

// What a stage reads first: nothing, a vector, or a row of what has rows as the output.
constexpr KD bool row_reads(u32 kind) {
  return kind == ROW_BIAS || kind == ROW_RESIDUAL || kind == ROW_RMS_NORM || kind == ROW_LAYER_NORM;
}

// near_stage_of is what is needed of stage j. bytes are a row's.
KD near_stage near_stage_of(const abi_rows &rows, u32 j, u64 first, u64 second, u32 bytes) {
  const abi_row_stage &g = rows.stage[j];
  near_stage s = {};
  s.first = first, s.second = second;
  s.stride = g.kind == ROW_RESIDUAL ? bytes : 0;
  s.block = g.block, s.value = (float)g.value;
  s.kind = g.kind, s.function = g.function, s.type = g.type;
  return s;
}

// bring_rows_near has the first threads of a block bring a stage each near it, and another the rest. bytes are a
// row's. The next barrier shows all threads what they brought.
KD void bring_rows_near(const abi_rows &rows, u32 rank, u32 bytes) {
  near_rows &m = rows_near();
  const u32 j = tid();
  if (j < rows.stages) {
    m.stage[j] = near_stage_of(rows, j, row_memory(rows, rank, j), row_memory(rows, rank, ROW_STAGES + j), bytes);
    u32 before = 0;
#pragma nounroll
    for (u32 i = 0; i < j; i++) before += row_reads(rows.stage[i].kind);
    if (row_reads(rows.stage[j].kind)) m.reader[before] = (u8)j;
  } else if (j == ROW_STAGES) {
    m.stages = rows.stages, m.length = rows.length, m.output_type = rows.output_type;
    m.output_bytes = rows.length * rows.output_size, m.scales_of_row = rows.scales_of_row;
    u32 reads = 0;
#pragma nounroll
    for (u32 i = 0; i < rows.stages; i++) reads += row_reads(rows.stage[i].kind);
    m.reads = reads;
  }
}

// A Row is a row that a Move finishes: bytes [begin, begin + bytes) of what it moves of a chunk, and row `number` of
// the output, which is at `output`. gone is whether this thread gave up.
struct Row {
  const near_rows &rows;
  bool &gone;
  u64 begin, number, output;
  u32 bytes;

  // operand is where what a stage reads first lies, and ahead where number N of all such operands does, or 0.
  KD_MEMBER u64 operand(u32 stage) const { return rows.stage[stage].first + number * rows.stage[stage].stride; }
  template <u32 N> KD_MEMBER u64 ahead() const { return N < rows.reads ? operand(rows.reader[N]) : 0; }
};

// row_output is where a row of the output lies, and row_scales where its scales do.
KD u64 row_output(const Row &p) { return p.output + p.number * p.rows.output_bytes; }
KD u64 row_scales(const Row &p, u32 stage) { return p.rows.stage[stage].second + p.number * p.rows.scales_of_row * 4; }

template <u32 BYTES> struct Packed;
template <> struct Packed<4> { typedef u32 type; };
template <> struct Packed<8> { typedef u64 type; };
template <> struct Packed<16> { typedef v16 type; };

// put_pair writes two elements side by side. The hardware converts both at once, where it can.
template <class O> KD void put_pair(O *to, float low, float high) { put_row(to, low), put_row(to + 1, high); }
#ifdef HARD_PAIRS
KD void put_pair(f16 *to, float low, float high) {
  const u32 pair = f16_pair(low, high);
  to[0].v = (u16)pair, to[1].v = (u16)(pair >> 16);
}
KD void put_pair(bf16 *to, float low, float high) {
  const u32 pair = bf16_pair(low, high);
  to[0].v = (u16)pair, to[1].v = (u16)(pair >> 16);
}
#endif

// store_unit_as stores the elements of a unit as type O.
template <class O, class Acc, int N> KD void store_unit_as(u64 at, const Acc &x) {
  struct {
    O e[N];
  } to;
#pragma unroll
  for (int i = 0; i < N; i += 2) put_pair(&to.e[i], x.x[i], x.x[i + 1]);
  if constexpr (sizeof to <= 16) {
    typedef typename Packed<sizeof to>::type V;
    store_global<V>(at_address<u8>(at), same_bits<V>(to));
  } else {
    struct {
      v16 v[2];
    } two = same_bits<decltype(two)>(to);
    store_global<v16>(at_address<u8>(at), two.v[0]);
    store_global<v16>(at_address<u8>(at + 16), two.v[1]);
  }
}

// Whole holds units tid() + k * ntid() of a row. Units after the end are the last one again, which are neither counted
// nor stored. The first AHEAD operands of stages are loaded before the sum is there, since packets take longer: with
// more units, the compiler has no registers for them.
template <class T, int U> struct Whole {
  typedef Units<T> R;
  typedef typename R::Acc Acc;
  enum { N = R::N, AHEAD = U > 2 ? 0 : 2 };
  const Row &p;
  u32 units;
  Acc x[U];
  v16 ahead[2][U], operand[U];

  template <class P> KD_MEMBER Whole(const P &p) : p(p), units(p.bytes / 16), x{}, ahead{}, operand{} {
    if constexpr (AHEAD > 0) {
      if (const u64 from = p.template ahead<0>()) load(from, ahead[0]);
      if (const u64 from = p.template ahead<1>()) load(from, ahead[1]);
    }
  }
  KD_MEMBER u32 at(u32 k) const { return tid() + k * ntid(); }
  KD_MEMBER bool has(u32 k) const { return at(k) < units; }
  KD_MEMBER u32 unit(u32 k) const { return (u32)least(at(k), units - 1); }
  KD_MEMBER void load(u64 from, v16 (&v)[U]) const {
#pragma unroll
    for (u32 k = 0; k < U; k++) v[k] = load_global<v16>(at_address<const u8>(from + 16ull * unit(k)));
  }

  template <class F> KD_MEMBER void each(F f) {
#pragma unroll
    for (u32 k = 0; k < U; k++)
#pragma unroll
      for (u32 i = 0; i < N; i++) x[k].x[i] = f(x[k].x[i]);
  }
  // take takes the operand of a stage, which is number n of those that stages read first; with does f of each element
  // and what the operand has there.
  KD_MEMBER void take(u32 n, u64 from) {
    if (n >= AHEAD) {
      load(from, operand);
      return;
    }
#pragma unroll
    for (u32 k = 0; k < U; k++) operand[k] = n ? ahead[1][k] : ahead[0][k];
  }
  template <class F> KD_MEMBER void with(F f) {
#pragma unroll
    for (u32 k = 0; k < U; k++) {
      const Acc w = R::open(operand[k]);
#pragma unroll
      for (u32 i = 0; i < N; i++) x[k].x[i] = f(x[k].x[i], w.x[i]);
    }
  }
  // sum is that of f of all elements of the row.
  template <class F> KD_MEMBER float sum(u32 *turn, F f) const {
    float all = 0;
#pragma unroll
    for (u32 k = 0; k < U; k++) {
      float one = 0;
#pragma unroll
      for (u32 i = 0; i < N; i++) one += f(x[k].x[i]);
      all += has(k) ? one : 0;
    }
    return float_of(over_block<Added>(word_of(all), turn));
  }
  KD_MEMBER u32 largest(u32 k) const {
    u32 most = 0;
#pragma unroll
    for (u32 i = 0; i < N; i++) most = Largest::of(most, magnitude_of(x[k].x[i]));
    return has(k) ? most : 0;
  }
  KD_MEMBER void quantise(u32 *turn, const near_stage &g, u64 scales) {
    if (g.block == 0) {
      u32 most = 0;
#pragma unroll
      for (u32 k = 0; k < U; k++) most = Largest::of(most, largest(k));
      const float scale = scale_of(float_of(over_block<Largest>(most, turn)), g.type), factor = 1.0f / scale;
      each([=](float v) { return v * factor; });
      if (tid() == 0 && !p.gone) store_global<u32>(at_address<u8>(scales), word_of(scale));
      return;
    }
    const u32 lanes = g.block / N;
#pragma unroll
    for (u32 k = 0; k < U; k++) {
      const float scale = scale_of(float_of(over_lanes<Largest>(largest(k), lanes)), g.type), factor = 1.0f / scale;
#pragma unroll
      for (u32 i = 0; i < N; i++) x[k].x[i] *= factor;
      if (at(k) % lanes == 0 && has(k) && !p.gone)
        store_global<u32>(at_address<u8>(scales + at(k) / lanes * 4ull), word_of(scale));
    }
  }
  template <class O> KD_MEMBER void put_as(u64 to) const {
    if (p.gone) return;
#pragma unroll
    for (u32 k = 0; k < U; k++)
      if (has(k)) store_unit_as<O, Acc, N>(to + at(k) * (u64)(N * sizeof(O)), x[k]);
  }
};

// Pieced holds units of what the iteration moves of a chunk, as W deals them, of which a row may have a part only. f of
// all functions is called for the elements of a row alone, with the element's number in the row.
template <class T, class W, int U> struct Pieced {
  typedef Units<T> R;
  typedef typename R::Acc Acc;
  typedef typename R::W Word;
  enum { N = R::N, BYTES = sizeof(T) };
  const Row &p;
  u64 first, end;  // units of the row, with all parts of its lines: one lane of a line sees whether it has come
  Acc *x;          // U of them
  u64 operand;

  KD_MEMBER Pieced(const Row &p, Acc *x)
      : p(p), first(W::unit_of(p.begin) / W::PARTS * W::PARTS),
        end((W::unit_of(p.begin + p.bytes - 1) / W::PARTS + 1) * W::PARTS), x(x), operand(0) {}
  KD_MEMBER u64 at(u32 k) const { return first + tid() + (u64)k * ntid(); }
  KD_MEMBER bool has(u32 k) const { return at(k) < end; }
  // bundle_has says whether some lane of the bundle has a unit k, all of which come to packets at once.
  KD_MEMBER bool bundle_has(u32 k) const { return at(k) - tid() % LANES < end; }

  KD_CALL float load(u64 from) {
    return up(same_bits<T>(load_global<Word>(at_address<const u8>(from))));
  }
  template <class F> KD_MEMBER void visit(F f) {
#pragma nounroll
    for (u32 k = 0; k < U && has(k); k++) {
      const u64 low = W::at(at(k)), high = low + W::room(at(k)), last = p.begin + p.bytes;
#pragma nounroll
      for (u64 b = low < p.begin ? p.begin : low; b < least(high, last); b += BYTES)
        f(x[k].x[(u32)(b - low) / BYTES], (u32)(b - p.begin) / BYTES);
    }
  }
  template <class F> KD_MEMBER void each(F f) {
    visit([&](float &v, u32) { v = f(v); });
  }
  KD_MEMBER void take(u32, u64 from) { operand = from; }
  template <class F> KD_MEMBER void with(F f) {
    visit([&](float &v, u32 e) { v = f(v, load(operand + (u64)e * BYTES)); });
  }
  template <class F> KD_MEMBER float sum(u32 *turn, F f) {
    float all = 0;
    visit([&](float &v, u32) { all += f(v); });
    return float_of(over_block<Added>(word_of(all), turn));
  }
  // quantise has the scales' memory hold the largest magnitudes first.
  KD_MEMBER void quantise(u32 *, const near_stage &g, u64 scales) {
    const u32 block = g.block ? g.block : p.rows.length;
    u32 *at = at_address<u32>(scales);
    if (!p.gone)
      for (u32 b = tid(); b < p.rows.scales_of_row; b += ntid()) set32(at + b, 0);
    bar();
    if (!p.gone) visit([&](float &v, u32 e) { raise32(at + e / block, magnitude_of(v)); });
    bar();
    if (!p.gone) visit([&](float &v, u32 e) { v *= 1.0f / scale_of(float_of(get32(at + e / block)), g.type); });
    bar();
    if (!p.gone)
      for (u32 b = tid(); b < p.rows.scales_of_row; b += ntid())
        set32(at + b, word_of(scale_of(float_of(get32(at + b)), g.type)));
  }
  template <class O> KD_MEMBER void put_as(u64 to) {
    if (p.gone) return;
    visit([&](float &v, u32 e) {
      O rounded;
      put_row(&rounded, v);
      typedef typename ::Word<sizeof(O)>::type Bits;
      store_global<Bits>(at_address<u8>(to + (u64)e * sizeof(O)), same_bits<Bits>(rounded));
    });
  }
};
