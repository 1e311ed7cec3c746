// Times of calls on the GPU, of one in 64 of each function: two events stand around it in its stream. Nothing waits for
// them. They are looked at when a later call needs their place, and each time that metrics are written.
#include "../front/front.h"


const double clock_bounds[CLOCK_BOUNDS] = {5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 1e-2, 1e-1, 1, 10};

namespace {

enum { ONE_IN = 64, SLOTS = 64 };
enum { FREE, TAKEN, PENDING };

struct Slot {
  Atom<int> state;
  int device;  // of the events
  void *begin, *end, *stream;
  Fn fn;
  bool native;
};
Slot slots[SLOTS];
u32 next;

struct Times {
  u64 seen, counts[CLOCK_BOUNDS + 1], ns;
};
Times times[FN_COUNT][2];

void account(const Slot &s, double seconds) {
  Times &t = times[s.fn][s.native];
  u32 i = 0;
  while (i < CLOCK_BOUNDS && seconds > clock_bounds[i]) i++;
  __atomic_fetch_add(&t.counts[i], 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&t.ns, (u64)(seconds * 1e9), __ATOMIC_RELAXED);
}

bool change(Atom<int> *a, int *from, int to) {
  return __atomic_compare_exchange_n(&a->value, from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

// take has a slot that nobody else has. Whose events have happened gives its time first.
Slot *take(Slot *s) {
  int is = FREE;
  if (change(&s->state, &is, TAKEN)) return s;
  if (is != PENDING || !change(&s->state, &is, TAKEN)) return nullptr;
  void *before;
  bool happened = false;
  double seconds = 0;
  if (!gpu_enter(s->device, &before)) {
    happened = gpu_happened(s->end);
    if (happened && gpu_between(s->begin, s->end, &seconds)) account(*s, seconds);
    gpu_leave(before);
  }
  if (happened) return s;
  s->state = PENDING;
  return nullptr;
}

// ready gives a slot its events on a GPU, which is current.
bool ready(Slot *s, int device) {
  if (s->begin && s->device != device) return false;  // most processes have one GPU
  s->device = device;
  return (s->begin || !gpu_event(&s->begin)) && (s->end || !gpu_event(&s->end));
}

}  // namespace

// clock_start records the first event of a call, unless its stream is captured or cannot be asked.
void *clock_start(Member *e, Fn fn, void *stream, bool native) {
  if (!e || !e->ranks) return nullptr;
  if (__atomic_add_fetch(&times[fn][native].seen, 1, __ATOMIC_RELAXED) % ONE_IN) return nullptr;
  Slot *s = take(&slots[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % SLOTS]);
  if (!s) return nullptr;
  void *before;
  bool captured = true, begun = false;
  if (!gpu_enter(e->device, &before)) {
    begun = !gpu_captured(stream, &captured) && !captured && ready(s, e->device) && !gpu_record(s->begin, stream);
    gpu_leave(before);
  }
  s->fn = fn, s->native = native, s->stream = stream;
  if (begun) return s;
  s->state = FREE;
  return nullptr;
}

void *clock_start_group() {
  const u32 calls = own.grouped;
  own.grouped = 0;
  return calls == 1 ? clock_start(own.only, own.only_fn, own.only_stream, false) : nullptr;
}

void clock_stop(void *slot) {
  Slot *s = (Slot *)slot;
  void *before;
  int code = 1;
  if (!gpu_enter(s->device, &before)) code = gpu_record(s->end, s->stream), gpu_leave(before);
  s->state = code ? FREE : PENDING;
}

void clock_collect() {
  for (Slot &s : slots)
    if (s.state == PENDING)
      if (Slot *mine = take(&s)) mine->state = FREE;
}

void clock_each(void (*each)(void *of, Fn fn, bool native, const u64 *counts, double seconds), void *of) {
  for (u32 fn = 0; fn < FN_COUNT; fn++)
    for (u32 native = 0; native < 2; native++) {
      Times t;
      u64 any = 0;
      for (u32 i = 0; i <= CLOCK_BOUNDS; i++)
        any += t.counts[i] = __atomic_load_n(&times[fn][native].counts[i], __ATOMIC_RELAXED);
      const double seconds = (double)__atomic_load_n(&times[fn][native].ns, __ATOMIC_RELAXED) / 1e9;
      if (any) each(of, (Fn)fn, native, t.counts, seconds);
    }
}
