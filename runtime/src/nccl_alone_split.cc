// ncclCommSplit without NCCL. All ranks tell color and key; the first rank of each new communicator makes its identity,
// and all hear of all.
#include "nccl_alone.h"

#include <stdlib.h>

namespace {

struct Part {
  int color, key, rank, ranks;
};
bool places(const Part *all, int ranks, int own_rank, Part *mine, int *first) {
  mine->rank = mine->ranks = 0, *first = own_rank;
  for (int i = 0; i < ranks; i++) {
    if (all[i].color != mine->color) continue;
    const bool before = all[i].key < mine->key || (all[i].key == mine->key && i < own_rank);
    mine->rank += before, mine->ranks++;
    const Part &f = all[*first];
    if (all[i].key < f.key || (all[i].key == f.key && i < *first)) *first = i;
  }
  return mine->color != NCCL_NO_COLOR;
}

// A Split is a call of ncclCommSplit. Those of a group are made at its end, since a thread may have several ranks. The
// calls of one communicator follow each other: later is for a next round.
struct Split {
  AloneComm *of;
  Comm *made;
  Part mine, all[BUNDLE_RANKS];
  UniqueId id, ids[BUNDLE_RANKS];
  int first;
  Result result;
  bool later;
  Split *next;
};
__thread Split *splits __attribute__((tls_model("initial-exec")));  // of the thread's group

template <typename F>
void each(Split *list, F f) {
  for (Split *s = list; s; s = s->next)
    if (!s->later && !s->result) s->result = f(s);
}
Result sent(const AloneComm *c, const void *bytes, u32 count) {
  return alone_send((Comm)c, bytes, count) ? SUCCESS : REMOTE_ERROR;
}
Result got(const AloneComm *c, void *all, u32 count) {
  return alone_recv((Comm)c, all, count) ? SUCCESS : REMOTE_ERROR;
}

// split_all makes one round of splits, each of another communicator.
void split_all(Split *list) {
  each(list, [](Split *s) { return sent(s->of, &s->mine, sizeof s->mine); });
  each(list, [](Split *s) {
    const Result r = got(s->of, s->all, sizeof s->mine);
    const bool in = !r && places(s->all, s->of->ranks, s->of->rank, &s->mine, &s->first);
    return in && s->first == s->of->rank ? alone_id(&s->id) : r;
  });
  each(list, [](Split *s) { return sent(s->of, &s->id, sizeof s->id); });
  each(list, [](Split *s) {
    const Result r = got(s->of, s->ids, sizeof s->id);
    if (r || s->mine.color == NCCL_NO_COLOR) return r;
    return alone_make(s->made, s->mine.ranks, &s->ids[s->first], s->mine.rank, s->of->device);
  });
}

}  // namespace

Result alone_split(AloneComm *c, int color, int key, Comm *made, bool in_group) {
  *made = nullptr;
  Split *s = (Split *)calloc(1, sizeof(Split)), **end = &splits;
  if (!s) return SYSTEM_ERROR;
  s->of = c, s->made = made, s->mine = Part{color, key, 0, 0};
  if (in_group) {
    while (*end) end = &(*end)->next;
    return *end = s, SUCCESS;
  }
  split_all(s);
  const Result r = s->result;
  free(s);
  return r;
}

Result alone_split_group() {
  Result r = SUCCESS;
  while (splits) {
    for (Split *s = splits; s; s = s->next)
      for (const Split *before = splits; before != s; before = before->next) s->later |= before->of == s->of;
    split_all(splits);
    for (Split **at = &splits; *at;) {
      Split *s = *at;
      if (s->later) {
        s->later = false, at = &s->next;
        continue;
      }
      if (!r) r = s->result;
      *at = s->next;
      free(s);
    }
  }
  return r;
}
