// The functions that make communicators. NCCL makes them first; then their ranks agree on whether programs run on them.
#include "nccl_front.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

namespace {

// number reads a variable that holds a positive number, or gives 0.
u32 number(const char *name) {
  const char *text = getenv(name);
  if (!text || !*text) return 0;
  char *end;
  errno = 0;
  const long n = strtol(text, &end, 10);
  return *end || errno || n < 1 || n > MOST_CTAS ? 0 : (u32)n;  // nccl_settings.cc warns
}

int config_int(const Config *c, size_t offset, int otherwise) {
  if (!c || c->magic != 0xcafebeef || c->size < offset + sizeof(int)) return otherwise;
  int value;
  memcpy(&value, (const char *)c + offset, sizeof value);
  return value == NCCL_UNDEF ? otherwise : value;
}

// blocks says whether calls on a new communicator block. The variable counts more than what the program asks for.
bool blocks(const Config *c, bool otherwise) {
  const char *text = getenv("NCCL_COMM_BLOCKING");
  if (text && (!strcmp(text, "0") || !strcmp(text, "1"))) return *text == '1';
  return config_int(c, offsetof(Config, blocking), otherwise) != 0;
}

// done registers new communicators, now or at the end of the group.
Result done(Result r, Comm *at, u32 count, u32 ctas, bool blocking) {
  if (r != SUCCESS && r != IN_PROGRESS) return r;
  blocking = blocking && r == SUCCESS;
  for (u32 i = 0; i < count; i++)
    if (own.depth) {
      if (!group_init(at + i, ctas, blocking)) return SYSTEM_ERROR;
    } else if (i == 0) {
      Init *list = (Init *)calloc(count, sizeof(Init));
      if (!list) return SYSTEM_ERROR;
      for (u32 k = 0; k < count; k++) list[k] = Init{at + k, ctas, blocking};
      const Result late = made(list, count);
      free(list);
      if (late) return late;
    }
  return r;
}

// parent tells what a communicator hands down to those that are made of it. Before NCCL uses it, its ranks have agreed.
void parent(Comm c, u32 *ctas, bool *blocking) {
  Member *e = direct() ? member_peek(c) : member_enter(c);
  *ctas = e && e->ctas ? e->ctas : 0, *blocking = e ? e->blocking : true;
  if (e) member_leave(e);
}

}  // namespace

u32 ctas_of(const Config *c) {
  u32 most = OUR_CTAS;
  const u32 given = number("MSCCLC_CTAS"), nccl_max = number("NCCL_MAX_CTAS");
  const int in_config = config_int(c, offsetof(Config, max_ctas), 0);
  if (given) most = given;
  if (nccl_max && nccl_max < most) most = nccl_max;
  if (in_config > 0 && (u32)in_config < most) most = (u32)in_config;
  return most;
}

EXPORT Result ncclCommInitRank(Comm *comm, int ranks, UniqueId id, int rank) {
  BEGIN(CommInitRank);
  const Result r = NCCL_DOES(CommInitRank(comm, ranks, id, rank));
  return direct() ? r : done(r, comm, 1, ctas_of(nullptr), blocks(nullptr, true));
}

EXPORT Result ncclCommInitRankConfig(Comm *comm, int ranks, UniqueId id, int rank, Config *config) {
  BEGIN(CommInitRankConfig);
  const Result r = NCCL_DOES(CommInitRankConfig(comm, ranks, id, rank, config));
  return direct() ? r : done(r, comm, 1, ctas_of(config), blocks(config, true));
}

EXPORT Result ncclCommInitRankScalable(Comm *comm, int ranks, int rank, int ids, UniqueId *list, Config *config) {
  BEGIN(CommInitRankScalable);
  const Result r = NCCL_DOES(CommInitRankScalable(comm, ranks, rank, ids, list, config));
  return direct() ? r : done(r, comm, 1, ctas_of(config), blocks(config, true));
}

EXPORT Result ncclCommInitAll(Comm *comms, int count, const int *devices) {
  BEGIN(CommInitAll);
  const Result r = NCCL_DOES(CommInitAll(comms, count, devices));
  return direct() || count < 1 ? r : done(r, comms, (u32)count, ctas_of(nullptr), blocks(nullptr, true));
}

EXPORT Result ncclCommSplit(Comm comm, int color, int key, Comm *made, Config *config) {
  BEGIN(CommSplit);
  u32 ctas;
  bool blocking;
  parent(comm, &ctas, &blocking);
  const Result r = NCCL_DOES(CommSplit(comm, color, key, made, config));
  if (direct() || color == NCCL_NO_COLOR) return r;
  return done(r, made, 1, config || !ctas ? ctas_of(config) : ctas, blocks(config, blocking));
}

EXPORT Result ncclCommShrink(Comm comm, int *without, int count, Comm *made, Config *config, int flags) {
  BEGIN(CommShrink);
  u32 ctas;
  bool blocking;
  if (!direct() && flags & SHRINK_ABORT) abort_team(comm, "shrunk after an error");
  parent(comm, &ctas, &blocking);
  const Result r = NCCL_DOES(CommShrink(comm, without, count, made, config, flags));
  return direct() ? r : done(r, made, 1, config || !ctas ? ctas_of(config) : ctas, blocks(config, blocking));
}

EXPORT Result ncclCommGrow(Comm comm, int ranks, const UniqueId *id, int rank, Comm *made, Config *config) {
  BEGIN(CommGrow);
  u32 ctas;
  bool blocking;
  parent(comm, &ctas, &blocking);
  const Result r = NCCL_DOES(CommGrow(comm, ranks, id, rank, made, config));
  return direct() ? r : done(r, made, 1, config || !ctas ? ctas_of(config) : ctas, blocks(config, blocking));
}
