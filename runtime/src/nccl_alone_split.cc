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

// A Split is a call of ncclCommSplit. Those of a group are made at its end, since a thread may have several ranks.
struct Split {
  AloneComm *of;
  Comm *made;
  Part mine, all[BUNDLE_RANKS];
  UniqueId id, ids[BUNDLE_RANKS];
  int first;
  Result result;
  Split *next;
};
__thread Split *splits __attribute__((tls_model("initial-exec")));  // of the thread's group

// A Chain is the splits of one communicator in a group, which follow each other. Another rank may make the splits of
// several communicators one after the other: so chains wait for each other nowhere.
struct Chain {
  Split *first, **end;
  Atom<bool> over;
  Chain *next;
};

Result sent(const AloneComm *c, const void *bytes, u32 count) {
  return alone_send((Comm)c, bytes, count) ? SUCCESS : REMOTE_ERROR;
}
Result got(const AloneComm *c, void *all, u32 count) {
  return alone_recv((Comm)c, all, count) ? SUCCESS : REMOTE_ERROR;
}

Result split_one(Split *s) {
  Result r = sent(s->of, &s->mine, sizeof s->mine);
  if (!r) r = got(s->of, s->all, sizeof s->mine);
  const bool in = !r && places(s->all, s->of->ranks, s->of->rank, &s->mine, &s->first);
  if (in && s->first == s->of->rank) r = alone_id(&s->id);
  if (!r) r = sent(s->of, &s->id, sizeof s->id);
  if (!r) r = got(s->of, s->ids, sizeof s->id);
  if (r || s->mine.color == NCCL_NO_COLOR) return r;
  return alone_make(s->made, s->mine.ranks, &s->ids[s->first], s->mine.rank, s->of->device);
}

void *split_chain(void *of) {
  Chain *c = (Chain *)of;
  for (Split *s = c->first; s; s = s->next) s->result = split_one(s);
  c->over = true;
  return nullptr;
}

// chained takes the first of a thread's splits to the others of its communicator.
bool chained(Chain **chains, Split *s) {
  Chain *c = *chains;
  while (c && c->first->of != s->of) c = c->next;
  if (!c) {
    if (!(c = (Chain *)calloc(1, sizeof *c))) return false;
    c->end = &c->first, c->next = *chains, *chains = c;
  }
  *c->end = s, c->end = &s->next, s->next = nullptr;
  return true;
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
  const Result r = split_one(s);
  free(s);
  return r;
}

Result alone_split_group() {
  Result r = SUCCESS;
  Chain *chains = nullptr;
  while (Split *s = splits) {
    splits = s->next;
    if (!chained(&chains, s)) free(s), r = SYSTEM_ERROR;
  }
  for (Chain *c = chains; c; c = c->next)
    if (!thread_begin(split_chain, c)) split_chain(c);
  while (Chain *c = chains) {
    while (!c->over) nap(50000);
    while (Split *s = c->first) {
      if (!r) r = s->result;
      c->first = s->next;
      free(s);
    }
    chains = c->next;
    free(c);
  }
  return r;
}
