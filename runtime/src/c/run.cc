// Runs of programs: by name, and by rules.
#include "handles.h"

#include "../host/host.h"

namespace {

const u64 TELL_AGAIN = 2000000, TELL_TRIES = 500;

// ended gives how a launch on the host has ended that the call waited for.
mscclc_result ended(mscclc_comm_s *c, const Team *t, u32 program) {
  const abi_status *s = (const abi_status *)t->seat[program].status;
  if (__atomic_load_n(&s->code, __ATOMIC_ACQUIRE) == STATUS_OK) return MSCCLC_OK;
  for (u64 i = 0; i < TELL_TRIES; i++, nap_of_engine(TELL_AGAIN))
    if (const mscclc_result r = comm_looked(c)) return r;
  return failed(MSCCLC_SYSTEM, "rank %u: a launch has ended early, with status %u", c->rank, s->code);
}

}  // namespace

mscclc_result launch_failed(mscclc_comm_s *c, int code) {
  if (const mscclc_result r = comm_state(c)) return r;
  if (code == ENGINE_FORKED) return forked(), MSCCLC_FORKED;
  if (code == ENGINE_ARGUMENT)
    return failed(MSCCLC_UNSUPPORTED, "rank %u: the bundle has no kernel for the call", c->rank);
  return failed(MSCCLC_DEVICE, "rank %u: a launch: %s", c->rank, driver_text(code));
}

mscclc_result launch(mscclc_programs_s *p, const Choice &choice, const Call &call, void *stream) {
  mscclc_comm_s *c = p->comm;
  char text[128];
  if (!choice.rule) return failed(MSCCLC_UNSUPPORTED, "rank %u: %s", c->rank, choice.why);
  if (!line_called(c->line, text, sizeof text)) {
    comm_fail(c, MSCCLC_REMOTE, text);
    return comm_state(c);
  }
  if (const int code = team_launch(p->team, &choice, &call, stream)) return launch_failed(c, code);
  return c->host && !stream ? ended(c, p->team, p->team->of_rule[choice.rule - p->team->set.rules]) : MSCCLC_OK;
}

namespace {

// A Buffers is where a call's buffers lie, an input and an output, and how long they are.
struct Buffers {
  const char *in, *out;
  u64 in_bytes, out_bytes, shift, back;  // in place, in is out + shift, or out is in + back
};

// placed says whether buffers are in place or apart, as a program needs them.
const char *placed(const mscclc_program_info &i, const Buffers &b) {
  if (!b.in_bytes || !b.out_bytes) return nullptr;
  const bool inplace = b.back ? b.out == b.in + b.back : b.in == b.out + b.shift;
  const bool apart = b.in + b.in_bytes <= b.out || b.out + b.out_bytes <= b.in;
  if (apart && i.out_of_place) return nullptr;
  if (inplace && !apart) return i.in_place ? nullptr : "the program is for calls out of place, and the buffers are one";
  if (apart) return "the program is for calls in place, and the buffers differ";
  return "the buffers overlap, and are not in place";
}

// check says what is wrong with the arguments of a run, and gives the call.
mscclc_result check(const mscclc_program_s *p, void *const *buffers, size_t count, mscclc_dtype dtype,
                    mscclc_redop redop, Call *call) {
  const Team *t = p->of->team;
  const bundle_program &row = *t->set.program[p->program].row;
  const u32 rank = t->rank, size = size_of((u32)dtype);
  if ((u32)dtype >= DT_COUNT || (u32)redop >= RED_COUNT)
    return failed(MSCCLC_BAD_ARGUMENT, "%s: there is no type %d or reduction %d", p->info.name, (int)dtype, (int)redop);
  const u64 chunks = row.kind == KIND_CUSTOM ? row.chunks : 1;
  if (count > (1ull << 56) / size / chunks / row.ranks)
    return failed(MSCCLC_BAD_ARGUMENT, "%s: %zu elements a unit are too many", p->info.name, count);
  const u64 unit = (u64)count * size, in = p->info.buffer[0].units[rank], out = p->info.buffer[1].units[rank];
  Buffers b = {(const char *)buffers[0], (const char *)buffers[1], in * unit, out * unit, 0, 0};
  for (int i = 0; i < 2; i++) {
    const u64 at = (u64)buffers[i];
    if (p->info.buffer[i].units[rank] && count && !at)
      return failed(MSCCLC_BAD_ARGUMENT, "%s: buffer %s is null", p->info.name, p->info.buffer[i].name);
    if (p->info.buffer[i].units[rank] && at % size)
      return failed(MSCCLC_BAD_ARGUMENT, "%s: the address of buffer %s is no multiple of %u, the size of an element",
                    p->info.name, p->info.buffer[i].name, size);
  }
  if (row.kind == KIND_ALLGATHER || (row.kind == KIND_GATHER && rank == row.root)) b.shift = rank * unit;
  if (row.kind == KIND_REDUCESCATTER || (row.kind == KIND_SCATTER && rank == row.root)) b.back = rank * unit;
  if (const char *why = placed(p->info, b)) return failed(MSCCLC_BAD_ARGUMENT, "%s: %s", p->info.name, why);
  *call = Call{row.kind, row.root, (u32)dtype, (u32)redop, count * chunks, in ? buffers[0] : nullptr,
               out ? buffers[1] : nullptr, 1, false, 0};
  return MSCCLC_OK;
}

}  // namespace

extern "C" {

mscclc_result mscclc_run(mscclc_program p, void *const *buffers, size_t count, mscclc_dtype dtype, mscclc_redop redop,
                         void *stream) {
  Call call;
  if (forked()) return MSCCLC_FORKED;
  if (!p || !buffers) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_run: the program or the list of buffers is null");
  if (const mscclc_result r = comm_state(p->of->comm)) return r;
  if (const mscclc_result r = check(p, buffers, count, dtype, redop, &call)) return r;
  const Team *t = p->of->team;
  bool captured = false;
  if (const int code = team_captured(p->of->team, stream, &captured)) return launch_failed(p->of->comm, code);
  if (captured && t->late)
    return failed(MSCCLC_UNSUPPORTED, "%s: other communicators have the room on a GPU that captured calls need",
                  p->info.name);
  return launch(p->of, team_named(t, p->rule, &call), call, stream);
}

mscclc_result mscclc_call(mscclc_programs p, mscclc_collective collective, const void *send, void *recv, size_t count,
                          mscclc_dtype dtype, mscclc_redop redop, int root, void *stream) {
  if (forked()) return MSCCLC_FORKED;
  if (!p) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_call: programs is null");
  if (const mscclc_result r = comm_state(p->comm)) return r;
  if ((u32)collective > KIND_SCATTER || (u32)dtype >= DT_COUNT || (u32)redop >= RED_COUNT || root < 0 ||
      (u32)root >= p->comm->ranks)
    return failed(MSCCLC_BAD_ARGUMENT, "mscclc_call: there is no collective %d, type %d, reduction %d or root %d",
                  (int)collective, (int)dtype, (int)redop, root);
  const u32 kind = (u32)collective;
  Call call = {kind, kind_rooted(kind) ? (u32)root : 0, (u32)dtype, (u32)redop, count, send, recv, 1, false, 0};
  const bool at_root = (int)p->comm->rank == root;
  const bool reads = at_root || (collective != MSCCLC_SCATTER && collective != MSCCLC_BROADCAST);
  const bool writes = at_root || (collective != MSCCLC_REDUCE && collective != MSCCLC_GATHER);
  if (count && ((reads && !send) || (writes && !recv)))
    return failed(MSCCLC_BAD_ARGUMENT, "mscclc_call: a buffer is null");
  call.windows = team_windows(p->team, &call);
  bool captured = false;
  if (const int code = team_captured(p->team, stream, &captured)) return launch_failed(p->comm, code);
  return launch(p, team_choose(p->team, &call, captured), call, stream);
}

mscclc_result mscclc_stream_new(mscclc_stream *stream) {
  begun();
  if (forked()) return MSCCLC_FORKED;
  if (!stream) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_stream_new: stream is null");
  HostStream *s = host_stream(true);
  if (!s) return failed(MSCCLC_SYSTEM, "mscclc_stream_new: no memory, or no thread");
  return *stream = (mscclc_stream)s, MSCCLC_OK;
}

mscclc_result mscclc_stream_wait(mscclc_stream stream) {
  if (forked()) return MSCCLC_FORKED;
  if (!stream) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_stream_wait: stream is null");
  return host_stream_wait((HostStream *)stream), MSCCLC_OK;
}

mscclc_result mscclc_stream_end(mscclc_stream stream) {
  if (forked()) return MSCCLC_FORKED;
  if (!stream) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_stream_end: stream is null");
  return host_stream_end((HostStream *)stream), MSCCLC_OK;
}
}
