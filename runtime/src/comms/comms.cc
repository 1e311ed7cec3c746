// The functions that make communicators. NCCL makes them first; then their ranks agree on whether programs run on them.
#include "agree.h"

#include <errno.h>
#include <stdio.h>
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
  return *end || errno || n < 1 || n > MOST_CTAS ? 0 : (u32)n;  // front/settings.cc warns
}

int config_int(const Config *c, size_t offset, int otherwise) {
  if (!c || c->magic != CONFIG_MAGIC || c->size < offset + sizeof(int)) return otherwise;
  int value;
  memcpy(&value, (const char *)c + offset, sizeof value);
  return value == NCCL_UNDEF ? otherwise : value;
}

// name_of copies the name of a communicator, if it has one.
void name_of(const Config *c, char *to, size_t size) {
  const bool has = c && c->magic == 0xcafebeef && c->version >= NCCL_NAMES && c->size >= offsetof(Config, comm_name) +
                   sizeof c->comm_name;
  if (has && c->comm_name) snprintf(to, size, "%s", c->comm_name);
}

// blocks says whether calls on a new communicator block. The variable counts more than what the program asks for.
bool blocks(const Config *c, bool otherwise) {
  const char *text = getenv("NCCL_COMM_BLOCKING");
  if (text && (!strcmp(text, "0") || !strcmp(text, "1"))) return *text == '1';
  return config_int(c, offsetof(Config, blocking), otherwise) != 0;
}

// drop forgets communicators that there are not without NCCL, since their ranks did not come together.
void drop(Init *list, u32 count) {
  for (u32 i = 0; i < count; i++)
    if (list[i].at && *list[i].at) drop_comm(*list[i].at), *list[i].at = nullptr;
}

// done has new communicators meet that NCCL has made with this result: now, or at the end of the group.
Result done(Result r, Init *list, u32 count) {
  bool wait = false;
  for (u32 i = 0; i < count; i++) {
    if (r != SUCCESS && r != IN_PROGRESS) {
      init_forget(&list[i]);
      continue;
    }
    list[i].blocking = list[i].blocking && r == SUCCESS;
    wait |= !list[i].blocking;
    if (list[i].parent) list[i].ticket = line_ticket(list[i].parent), list[i].waits = true;
    if (!own.depth) continue;
    Init *kept = grow(&own.inits, &own.init_count, &own.init_room);
    if (!kept) return init_forget(&list[i]), no_memory("a communicator in a group");
    *kept = list[i];
  }
  if (own.depth || (r != SUCCESS && r != IN_PROGRESS)) return r;
  const Result late = answered(made(list, count));
  if (late && alone()) drop(list, count);
  return late ? late : wait ? IN_PROGRESS : r;  // until its ranks have met
}

// start is a communicator with a configuration, of an identity or of none.
Init start(Comm *at, const UniqueId *id, const Config *config) {
  Init i = {};
  i.at = at, i.ctas = ctas_of(config), i.blocking = blocks(config, true);
  name_of(config, i.name, sizeof i.name);
  if (id) memcpy((void *)&i.tail, id->internal + sizeof i.tail, sizeof i.tail);
  i.has_tail = id && tail_good(i.tail);
  return i;
}

// child is a communicator that is made of another. It is an error where that has failed, or is not ready.
Result child(Comm comm, Comm *at, const Config *config, Init *i) {
  Result r = SUCCESS;
  *i = Init{};
  Member *e = member_use(comm, &r);
  if (r) return r;
  const u32 ctas = e ? e->ctas : 0;
  i->at = at, i->ctas = config || !ctas ? ctas_of(config) : ctas, i->blocking = blocks(config, e ? e->blocking : true);
  i->of = comm, i->of_one = e && e->ranks == 1;
  i->ask.key = e ? (int)e->rank : 0;
  if (e && !config) memcpy(i->name, e->name, sizeof i->name);
  name_of(config, i->name, sizeof i->name);
  if (e && e->line) line_hold(i->parent = e->line);
  if (e) member_leave(e);
  return SUCCESS;
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

Result inits_made(Result r) {
  Init *list = own.inits;
  const u32 count = own.init_count;
  bool wait = false;
  own.inits = nullptr, own.init_count = own.init_room = 0;
  for (u32 i = 0; i < count; i++) {
    if (r == IN_PROGRESS) list[i].blocking = false;
    wait |= !list[i].blocking;
    if (r != SUCCESS && r != IN_PROGRESS) init_forget(&list[i]);
  }
  if (count && (r == SUCCESS || r == IN_PROGRESS)) {
    const Result late = made(list, count);
    r = late ? late : wait ? IN_PROGRESS : r;
  }
  free(list);
  return r;
}

EXPORT Result ncclGetUniqueId(UniqueId *id) {
  BEGIN(GetUniqueId);
  const Result r = NCCL_DOES(GetUniqueId(id));
  if (direct() || r != SUCCESS || (getenv("NCCL_COMM_ID") && !alone())) return r;
  Tail tail;
  Why why = {};
  const bool meets = hub_open(id, nullptr, meet_limit(), &tail, &why);
  if (meets) return memcpy(id->internal + sizeof tail, &tail, sizeof tail), SUCCESS;
  if (alone()) return system_fails("ncclGetUniqueId: ranks cannot meet: %s", why.text);
  tell("ranks with this ncclUniqueId cannot meet, and NCCL runs their calls: %s", why.text);
  return SUCCESS;
}

EXPORT Result ncclCommInitRank(Comm *comm, int ranks, UniqueId id, int rank) {
  BEGIN(CommInitRank);
  const Result r = NCCL_DOES(CommInitRank(comm, ranks, id, rank));
  if (direct()) return r;
  Init i = start(comm, &id, nullptr);
  return done(r, &i, 1);
}

EXPORT Result ncclCommInitRankConfig(Comm *comm, int ranks, UniqueId id, int rank, Config *config) {
  BEGIN(CommInitRankConfig);
  const Result r = NCCL_DOES(CommInitRankConfig(comm, ranks, id, rank, config));
  if (direct()) return r;
  Init i = start(comm, &id, config);
  return done(r, &i, 1);
}

// Of several identities, the first says where the ranks meet.
EXPORT Result ncclCommInitRankScalable(Comm *comm, int ranks, int rank, int ids, UniqueId *list, Config *config) {
  BEGIN(CommInitRankScalable);
  const Result r = NCCL_DOES(CommInitRankScalable(comm, ranks, rank, ids, list, config));
  if (direct()) return r;
  Init i = start(comm, list, config);
  return done(r, &i, 1);
}

// NCCL makes the identity itself, so this process makes a tail of its own: it has all ranks.
EXPORT Result ncclCommInitAll(Comm *comms, int count, const int *devices) {
  BEGIN(CommInitAll);
  const bool ours = !direct() && count > 0;
  Init *list = ours ? (Init *)calloc((size_t)count, sizeof(Init)) : nullptr;
  if (ours && !list) return no_memory("ncclCommInitAll");
  const Result r = NCCL_DOES(CommInitAll(comms, count, devices));
  if (!ours || (r != SUCCESS && r != IN_PROGRESS)) return free(list), r;
  Tail tail = {};
  Why why = {};
  const bool meets = count > 1 && hub_open(nullptr, nullptr, meet_limit(), &tail, &why);
  if (count > 1 && !meets) tell("ranks of a process cannot meet, and NCCL runs their calls: %s", why.text);
  for (int i = 0; i < count; i++)
    list[i] = start(comms + i, nullptr, nullptr), list[i].tail = tail, list[i].has_tail = meets;
  const Result late = done(r, list, (u32)count);
  return free(list), late;
}

EXPORT Result ncclCommSplit(Comm comm, int color, int key, Comm *at, Config *config) {
  BEGIN(CommSplit);
  if (direct()) return NCCL_DOES(CommSplit(comm, color, key, at, config));
  Init i;
  if (const Result r = child(comm, at, config, &i)) return r;
  i.ask.color = color, i.ask.key = key;
  if (color == NCCL_NO_COLOR) i.at = nullptr;
  const Result r = NCCL_DOES(CommSplit(comm, color, key, at, config));
  return i.at || i.parent ? done(r, &i, 1) : r;
}

EXPORT Result ncclCommShrink(Comm comm, int *without, int count, Comm *at, Config *config, int flags) {
  BEGIN(CommShrink);
  if (direct()) return NCCL_DOES(CommShrink(comm, without, count, at, config, flags));
  Init i;
  if (flags & SHRINK_ABORT) abort_team(comm, "shrunk after an error");
  const Result late = child(comm, at, config, &i);
  if (late && !(flags & SHRINK_ABORT)) return late;
  if (count > 0 && without && !(i.without = (u32 *)calloc((size_t)count, sizeof(u32))))
    return init_forget(&i), no_memory("ncclCommShrink");
  const Result r = NCCL_DOES(CommShrink(comm, without, count, at, config, flags));
  if (i.without) memcpy(i.without, without, (size_t)count * sizeof(u32)), i.without_count = (u32)count;
  return done(r, &i, 1);
}

// Communicators that have grown are NCCL's.
EXPORT Result ncclCommGrow(Comm comm, int ranks, const UniqueId *id, int rank, Comm *at, Config *config) {
  BEGIN(CommGrow);
  const Result r = NCCL_DOES(CommGrow(comm, ranks, id, rank, at, config));
  if (direct()) return r;
  Init i = start(at, nullptr, config);
  i.nccl = "the communicator has grown out of another";
  return done(r, &i, 1);
}
