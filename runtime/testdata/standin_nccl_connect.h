// How the mock of NCCL connects ranks: when a call first needs it, by the algorithm, which depends on the size, and by
// the peer. It does so at the end of the outermost group, which each call outside of groups has, too. One communicator
// connects in the calling thread, and several connect in threads of their own, as in NCCL since 2.28; with
// MSCCLC_FAKE_THREADS one does, too, as before; one that does not block always does. What the driver does not permit
// is an error.
#pragma once

namespace {

enum { TREE_BELOW = 1 << 16, PEER_ALREADY = 704 };

struct Needed {
  ncclComm *c;
  unsigned rings, peers;
  Result result;
};
__thread Needed needed[RANKS];
__thread int needed_count;

void need(ncclComm *c, unsigned rings, unsigned peers) {
  int i = 0;
  while (i < needed_count && needed[i].c != c) i++;
  if (i == RANKS) abort();
  if (i == needed_count) needed[needed_count++] = Needed{c, 0, 0, SUCCESS};
  needed[i].rings |= rings & ~c->rings, needed[i].peers |= peers & ~c->peers;
}

// connect has the GPU of a rank reach those of others.
void *connect(void *p) {
  Needed *n = (Needed *)p;
  ncclComm *c = n->c;
  void *own = nullptr, *other = nullptr, *before = nullptr;
  cu.current(&before);
  cu.retain(&own, c->device);
  cu.use(own);
  for (int i = 0; i < c->ranks; i++) {
    if (c->shared->device[i] == c->device || !(n->rings || n->peers & 1u << i)) continue;
    cu.retain(&other, c->shared->device[i]);
    const int code = cu.peer(other, 0);
    if (code && code != PEER_ALREADY) n->result = INTERNAL_ERROR;
  }
  if (n->result) fprintf(stderr, "mock NCCL: rank %d cannot connect\n", c->rank);
  else c->rings |= n->rings, c->peers |= n->peers;
  cu.use(before);
  return nullptr;
}

// connect_all connects what the calls of a group need.
Result connect_all() {
  Needed *list[RANKS];
  pthread_t threads[RANKS];
  int count = 0;
  for (int i = 0; i < needed_count; i++)
    if (needed[i].rings || needed[i].peers) list[count++] = &needed[i];
  needed_count = 0;
  const bool apart = count > 1 || getenv("MSCCLC_FAKE_THREADS") || (count && !list[0]->c->blocking);
  Result r = SUCCESS;
  for (int i = 0; i < count; i++)
    if (!apart) connect(list[i]);
    else if (pthread_create(&threads[i], nullptr, connect, list[i])) abort();
  for (int i = 0; i < count; i++) {
    if (apart) pthread_join(threads[i], nullptr);
    if (list[i]->result) r = list[i]->result;
  }
  return r;
}

}  // namespace
