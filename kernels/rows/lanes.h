// This file finishes rows on a GPU: what a Move of a program with an epilogue does that writes output (abi.h). A block
// takes one row after the other. All its threads go to the same barriers, also those that gave up.
#pragma once
#include "../moves/lanes_onesided.h"
#include "room.h"
#include "outputs.h"

// The unit of a chunk that has a byte, beside what Pairs and Lines say of units. A row's units begin with a whole line:
// each of its PARTS is a certain lane's.
struct RowPairs : Pairs {
  enum { PARTS = 1 };
  KD u64 unit_of(u64 byte) { return byte / 16; }
};
struct RowLines : Lines {
  enum { PARTS = LINE_PARTS };
  KD u64 unit_of(u64 byte) {
    const u64 line = byte / (LINE_HALVES * 8);
    return line * LINE_PARTS + least((byte - line * (LINE_HALVES * 8)) / 16, LINE_PARTS - 1);
  }
};

// A MovedRow is a row that a step of the general kernel finishes, of chunk i. W says how its packets lie.
template <class W> struct MovedRow : Row {
  One &t;
  const abi_one_step &s;
  u32 i;

  // source says where the row begins in operand o of the step, or of lines where those of the first row do.
  KD_MEMBER RowSource source(u32 o) const {
    const u64 where = one_local.where[s.first + o];
    const bool packets = ((u32)where & PLACE_BITS) == PLACE_PACKETS;
    if (W::LINES && packets) return RowSource{where - PLACE_PACKETS + i * t.a.packet_stride, true};
    return RowSource{where_at(where, 0), packets};
  }
  // where_at is where unit u of the row lies, of an operand that is at `where`: for all types alike.
  KD_MEMBER u64 where_at(u64 where, u32 u) const {
    return Quick<Units<float>, RED_SUM>::template spot<u64>(t, where, i, 2 * ((u32)(begin / 16) + u));
  }
  template <int U, class T> KD_MEMBER void bring(const Whole<T, U> &h, u32 o, u64 first, v16 (&v)[U]) {
    if constexpr (W::LINES) take_lines(*this, h, o, first, v);
    else take_row(*this, h, o, first, v);
  }
  template <int N> KD_MEMBER void take(u32 o, u64 (&from)[N], u64 (&halves)[N]) {
    t.operand = o;
    if (!take_halves(t, from, (1u << N) - 1, halves)) leave();
  }
  KD_MEMBER void leave() { give_up(t); }
};

// RowLanes are the OneLanes of a launch with an epilogue, of sums of elements of type T. A thread holds MOST units of a
// row at most.
template <class T, class W = RowPairs> struct RowLanes : OneLanes<Units<T>, RED_SUM, W, true> {
  typedef Units<T> R;
  typedef OneLanes<R, RED_SUM, W, true> Lanes;
  enum { MOST = 8 };

  // output_of is which of a step's operands is the first output that it writes, or 0. A Move that finishes rows writes
  // its own rank's output, and others' in the same place (executor/plan/rows_outputs.go).
  KD u32 output_of(const One &t, const abi_one_step &s) {
#pragma nounroll
    for (u32 o = s.srcs; o < (u32)s.srcs + s.dsts; o++)
      if (t.at.operands[s.first + o].buf == BUF_OUTPUT) return o;
    return 0;
  }

  // move does `count` Moves that run together.
  KD void move(One &t, const abi_one_step &first_step) {
    if (!W::EACH) t.gone = any(t.gone);
    const u32 first = t.step, count = first_step.group;
    const abi_one_step *s = t.at.steps + first;
    bool finishes = false;
#pragma nounroll
    for (u32 k = 0; k < count; k++) finishes |= output_of(t, s[k]) != 0;
    if (!finishes) {
      Lanes::move(t, first_step);
      return;
    }
    u32 turn = 0;
#pragma nounroll
    for (u32 k = 0; k < count; k++) {
      t.step = first + k;
#pragma nounroll
      for (u32 i = 0; i < s[k].count; i++) {
        const u64 bytes = iteration_bytes(t, class_of(t, s[k], i));
        const u32 output = output_of(t, s[k]);
        if (bytes > 0 && output) write_output(t, s[k], output, i, bytes, &turn);
        else if (!t.gone) Lanes::move_chunk(t, s[k], i);
      }
    }
    t.step = first;
    bar();  // the next Move begins with the same turn
  }

  // write_output does chunk i of a Move that writes output: what is no finished row yet becomes one, and others get it.
  KD void write_output(One &t, const abi_one_step &s, u32 output, u32 i, u64 bytes, u32 *turn) {
    const bool finished = t.at.operands[s.first].buf == BUF_OUTPUT;
    const abi_one_operand &from = t.at.operands[s.first + (finished ? 0 : output)];
    const u64 number = first_row(t, from, i);
    if (!finished) finish_chunk(t, s, number, i, bytes, turn);
    copy_finished(t, s, finished ? (u32)from.rank : t.at.block->rank, number, i, bytes);
  }

  KD u32 outputs_of(const One &t, const abi_one_step &s) {
    u32 outputs = 0;
#pragma nounroll
    for (u32 o = s.srcs; o < (u32)s.srcs + s.dsts; o++) outputs += t.at.operands[s.first + o].buf == BUF_OUTPUT;
    return outputs;
  }

  KD void finish_chunk(One &t, const abi_one_step &s, u64 number, u32 i, u64 bytes, u32 *turn) {
    const abi_one_launch &a = t.a;
    const u32 units = a.elem_size / 16, outputs = outputs_of(t, s);
    const bool whole = t.quick && units <= 4 * ntid();
    const u64 output_at = t.at.ranks[t.at.block->rank].output;
#pragma nounroll
    for (u64 begin = 0; begin < bytes; begin += a.elem_size, number++) {
      MovedRow<W> p = {{rows_near(), t.gone, begin, number, output_at, a.elem_size}, t, s, i};
      // Of lines there is code for long rows alone: most launches of lines are of few packets.
      if (whole && !W::LINES && units <= 2 * ntid()) finish_whole<2>(p, turn);
      else if (whole) finish_whole<4>(p, turn);
      else finish_pieced(p, turn);
    }
    // Packets may have parts of two rows: raw sums are sent when all has been read.
    const bool raw = outputs < s.dsts && (W::LINES || !whole);
    if (raw || outputs > 1) bar();  // copy_finished reads what other threads wrote
    if (raw && !t.gone) Lanes::move_chunk(t, s, i);
  }

  // place has the block's threads bring near them what it needs of the stages, and finds where operands lie. What
  // stages read and write must be aligned too, and blocks with one scale be lanes side by side: else no iteration is
  // quick.
  KD void place(One &t) {
    const abi_rows &rows = rows_of(t.a);
    bool awry = t.a.elem_size % 16;
    if (t.iteration == 0) {
      if (rows.ranks) bar();  // shows the block's row, which says whose memory it is
      bring_rows_near(rows, t.at.block->rank, t.a.elem_size);
    }
    if (const u32 j = tid(); j < rows.stages) {
      const near_stage &g = rows_near().stage[j];
      const u32 lanes = g.block / R::N;
      awry |= (g.first | (g.kind == ROW_QUANTISE ? 0 : g.second)) % 16 != 0;
      awry |= g.block && !(lanes && g.block % R::N == 0 && lanes <= LANES && !(lanes & (lanes - 1)));
    }
    place_operands<true>(t, awry);
  }

  // stage runs stage j, of a kind, on a row that a Hold has. n counts the operands so far.
  template <class Hold> KD void stage(const Row &p, Hold &h, u32 *turn, u32 j, u32 kind, u32 *n) {
    const near_stage &g = p.rows.stage[j];
    if (row_reads(kind)) h.take((*n)++, p.operand(j));
    switch (kind) {
      case ROW_SCALE: {
        const float factor = g.value;
        h.each([=](float x) { return x * factor; });
        break;
      }
      case ROW_BIAS: h.with([](float x, float w) { return x + w; }); break;
      case ROW_RESIDUAL:
        h.with([](float x, float w) { return x + w; });
        h.template put_as<T>(g.second + p.number * p.bytes);
        break;
      case ROW_RMS_NORM: {
        const float by = norm_factor(h.sum(turn, [](float x) { return x * x; }), p.rows.length, g.value);
        h.with([=](float x, float w) { return x * by * w; });
        break;
      }
      case ROW_LAYER_NORM: {
        const float mean = h.sum(turn, [](float x) { return x; }) / (float)p.rows.length;
        const float squares = h.sum(turn, [=](float x) { return (x - mean) * (x - mean); });
        const float by = norm_factor(squares, p.rows.length, g.value);
        h.with([=](float x, float w) { return (x - mean) * by * w; });
        h.take(~0u, g.second);
        h.with([](float x, float w) { return x + w; });
        break;
      }
      case ROW_ACTIVATION: {
        const u32 f = g.function;
        if (f == ROW_GELU) h.each([](float x) { return activate(ROW_GELU, x); });
        else if (f == ROW_SILU) h.each([](float x) { return activate(ROW_SILU, x); });
        else h.each([](float x) { return activate(ROW_RELU, x); });
        break;
      }
      case ROW_QUANTISE: h.quantise(turn, g, row_scales(p, j)); break;
    }
  }

  // stages runs the stages on a row that a Hold has, and stores what comes of it.
  template <class Hold> KD void stages(const Row &p, Hold &h, u32 *turn) {
    u32 n = 0;
#pragma nounroll
    for (u32 j = 0; j < p.rows.stages; j++) stage(p, h, turn, j, p.rows.stage[j].kind, &n);
    const u64 to = row_output(p);
    switch (p.rows.output_type) {
      case DT_F16: h.template put_as<f16>(to); break;
      case DT_BF16: h.template put_as<bf16>(to); break;
      case DT_F32: h.template put_as<float>(to); break;
      case DT_I8: h.template put_as<i8>(to); break;
      case DT_E4M3: h.template put_as<e4m3>(to); break;
      case DT_E5M2: h.template put_as<e5m2>(to); break;
    }
  }

  template <int U> KD void finish_whole(MovedRow<W> &p, u32 *turn) {
    Whole<T, U> h(p);
    fold_row(p, h, p.s.srcs);
    if (!W::LINES && p.s.dsts > 1 && !p.gone) store_raw(p, h);  // lines have parts of two rows
    stages(p, h, turn);
  }

  // store_raw stores the sum to the destinations that are not output.
  template <int U> KD void store_raw(const MovedRow<W> &p, const Whole<T, U> &h) {
    const u32 end = p.s.first + p.s.srcs + p.s.dsts;
#pragma nounroll
    for (u32 o = p.s.first + p.s.srcs; o < end; o++) {
      if (p.t.at.operands[o].buf == BUF_OUTPUT) continue;
      const u64 where = one_local.where[o];
      const u32 kind = (u32)where & PLACE_BITS;
#pragma unroll
      for (u32 k = 0; k < U; k++) {
        if (!h.has(k)) continue;
        const v16 v = R::close(h.x[k]);
        const u64 at = p.where_at(where, h.unit(k));
        if (kind != PLACE_PACKETS) store_unit(at, kind, v, 0);
        else store_unit(at, kind, low_of(v), p.t.flag), store_unit(at + 16, kind, high_of(v), p.t.flag);
      }
    }
  }

  KD void finish_pieced(const MovedRow<W> &p, u32 *turn) {
    typename R::Acc x[MOST] = {};
    Pieced<T, W, MOST> h(p, x);
#pragma nounroll
    for (u32 k = 0; k < MOST && (W::EACH ? h.has(k) : h.bundle_has(k)); k++) {
      const u64 u = h.at(k);
#pragma nounroll
      for (u32 o = 0; o < p.s.srcs; o++) fold_piece(p, h, k, u, o);
    }
    stages(p, h, turn);
  }

  // fold_piece adds a source's part of a unit to it.
  template <class Hold> KD void fold_piece(const MovedRow<W> &p, Hold &h, u32 k, u64 u, u32 o) {
    One &t = p.t;
    const abi_one_operand &from = t.at.operands[p.s.first + o];
#pragma nounroll
    for (u32 r = first_rank(from); r < end_rank(t, from); r++) {
      const u64 base = one_cell(t, from, t.at.ranks[r], p.i), low = W::at(u), last = p.begin + p.bytes;
      v16 v = {};
      if (from.buf == BUF_PACKETS) {
        t.operand = o;
        if (!t.gone && !W::take(t, base, u, h.has(k), &v)) give_up(t);
      }
      const auto unit = same_bits<typename R::Elements>(whole_words(v));
#pragma unroll
      for (u32 e = 0; e < R::N; e++) {
        const u64 at = low + e * sizeof(T);
        if (!h.has(k) || at < p.begin || at >= last || e * sizeof(T) >= W::room(u)) continue;
        h.x[k].x[e] += from.buf == BUF_PACKETS ? up(unit.e[e]) : h.load(base + at);
      }
    }
  }
};
