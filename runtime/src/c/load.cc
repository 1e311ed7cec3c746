// Programs are loaded by all ranks together: they compare what they load, make their memory, and reach each other's.
#include "handles.h"

#include "../sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

// A Row is what ranks compare of a named program. A Load is what a rank tells of what it loads; its rows follow.
struct Row {
  char name[64];
  u8 hash[32];
};
struct Load {
  u8 bundle[32];
  u32 able, rows;
  char why[400];
};
enum { MOST_ROWS = LIMIT_PROGRAMS };

// A Loading is a load that is under way.
struct Loading {
  mscclc_comm_s *comm;
  mscclc_bundle bundle;
  Team *team;
  Offer mine;
  Offer all[MSCCLC_MAX_RANKS];
  Why why;
};

const Row *rows_of(const u8 *part) { return (const Row *)(part + sizeof(Load)); }

// own_part is what this rank tells: allocated, or null.
u8 *own_part(Loading *l, u32 *bytes) {
  const Team *t = l->team;
  u32 rows = 0;
  for (u32 i = 0; t && i < t->set.row->programs; i++) rows += t->set.program[i].named != nullptr;
  u8 *part = (u8 *)calloc(1, sizeof(Load) + rows * sizeof(Row));
  if (!part) return nullptr;
  Load *mine = (Load *)part;
  memcpy(mine->bundle, bundle_hash(l->bundle->bundle), sizeof mine->bundle);
  mine->able = t != nullptr, mine->rows = rows;
  snprintf(mine->why, sizeof mine->why, "%s", l->mine.why);
  Row *row = (Row *)(part + sizeof(Load));
  for (u32 i = 0; t && i < t->set.row->programs; i++) {
    const Program &p = t->set.program[i];
    if (!p.named) continue;
    u64 length = 0;
    const u8 *data = section_of(t->bundle, SECTION_PROGRAM, p.number, &length, &l->why);
    memcpy(row->name, p.named->name, sizeof row->name);
    if (data) sha256(data, length, row->hash);
    row++;
  }
  *bytes = (u32)(sizeof(Load) + rows * sizeof(Row));
  return part;
}

const Row *row_named(const Load *of, const Row *rows, const char *name) {
  for (u32 i = 0; i < of->rows; i++)
    if (!memcmp(rows[i].name, name, sizeof rows[i].name)) return rows + i;
  return nullptr;
}

// lacks names the first program of rank a that rank b lacks, or has another of.
bool lacks(const Parts &all, u32 a, u32 b, Why *why) {
  const Load *of_a = (const Load *)all.of[a], *of_b = (const Load *)all.of[b];
  for (u32 i = 0; i < of_a->rows; i++) {
    const Row &row = rows_of(all.of[a])[i];
    const Row *other = row_named(of_b, rows_of(all.of[b]), row.name);
    if (!other)
      return say(why, "rank %u loads the program %.63s, and the bundle of rank %u lacks it", a, row.name, b), true;
    if (memcmp(other->hash, row.hash, sizeof row.hash))
      return say(why, "ranks %u and %u load different programs called %.63s", a, b, row.name), true;
  }
  return false;
}

// same says whether all ranks load the same, or in what they differ. It gives the same on all ranks.
mscclc_result same(const Parts &all, u32 ranks, Why *why) {
  for (u32 r = 0; r < ranks; r++) {
    const Load *of = (const Load *)all.of[r];
    if (all.bytes[r] < sizeof(Load) || of->rows > MOST_ROWS || all.bytes[r] != sizeof(Load) + of->rows * sizeof(Row))
      return say(why, "rank %u tells of its programs in another form", r), MSCCLC_MISMATCH;
    if (!of->able) return say(why, "rank %u: %.399s", r, of->why), MSCCLC_UNSUPPORTED;
  }
  for (u32 r = 1; r < ranks; r++) {
    if (!memcmp(((const Load *)all.of[r])->bundle, ((const Load *)all.of[0])->bundle, 32)) continue;
    if (!lacks(all, 0, r, why) && !lacks(all, r, 0, why))
      say(why, "ranks 0 and %u load different bundles, whose programs with names are the same: their rules or types "
               "differ", r);
    return MSCCLC_MISMATCH;
  }
  return MSCCLC_OK;
}

// compare has all ranks hear what each loads.
mscclc_result compare(Loading *l) {
  Parts all = {};
  u32 bytes = 0;
  u8 *mine = own_part(l, &bytes);
  if (!mine) return say(&l->why, "no memory"), MSCCLC_SYSTEM;
  mscclc_result r = line_round(l->comm->line, ROUND_LOAD, mine, bytes, &all, &l->why);
  free(mine);
  if (!r) r = same(all, l->comm->ranks, &l->why);
  parts_free(&all);
  return r;
}

// makes has all ranks hear of each other's GPUs, and makes the memory of this one, or says in its offer why not.
mscclc_result makes(Loading *l) {
  if (const mscclc_result r =
          line_gather(l->comm->line, ROUND_OPENED, &l->mine, l->all, sizeof l->mine, "GPUs", &l->why))
    return r;
  team_meet(l->team, l->all);
  team_make(l->team, "", &l->mine);
  return MSCCLC_OK;
}

// offers has all ranks hear each other's offers.
mscclc_result offers(Loading *l) {
  if (const mscclc_result r =
          line_gather(l->comm->line, ROUND_MADE, &l->mine, l->all, sizeof l->mine, "memory", &l->why))
    return r;
  if (!team_fits(l->all, l->comm->ranks, &l->why)) return MSCCLC_MISMATCH;
  for (u32 i = 1; i < l->comm->ranks; i++)
    if (memcmp(l->all[i].node, l->all[0].node, sizeof l->all->node))
      return say(&l->why, "ranks 0 and %u are on different machines or nodes, and all ranks must be on one", i),
             MSCCLC_MISMATCH;
  return MSCCLC_OK;
}

// joined has each rank reach all others, and all hear whether that went well.
mscclc_result joined(Loading *l) {
  const bool good = team_join(l->team, l->all, &l->why);
  return line_agree(l->comm->line, ROUND_JOINED, good, MSCCLC_DEVICE, &l->why);
}

// lists makes the handle: a row for each program with a name.
mscclc_programs_s *lists(Loading *l) {
  Team *t = l->team;
  mscclc_programs_s *p = (mscclc_programs_s *)calloc(1, sizeof *p);
  if (p) p->list = (mscclc_program_s *)calloc(t->set.row->rules + 1, sizeof *p->list);
  if (!p || !p->list) return free(p), nullptr;
  p->comm = l->comm, p->team = t;
  for (u32 i = 0; i < t->set.row->rules; i++) {
    if (!(t->set.rules[i].when & RULE_NAMED)) continue;
    mscclc_program_s &of = p->list[p->count++];
    of.of = p, of.rule = i, of.program = t->of_rule[i];
    describe(t->set, of.program, &of.info);
  }
  return p;
}

mscclc_result load(Loading *l, mscclc_programs *programs) {
  const mscclc_comm_s *c = l->comm;
  const Team *beside = c->programs ? c->programs->team : nullptr;
  l->team = team_open_alone(c->host, beside, l->bundle->bundle, c->ranks, c->rank, LIMIT_CTAS, &l->mine);
  if (const mscclc_result r = compare(l)) return r;
  if (const mscclc_result r = makes(l)) return r;
  if (const mscclc_result r = offers(l)) return r;
  if (const mscclc_result r = joined(l)) return r;
  mscclc_programs_s *p = lists(l);
  if (!p) return say(&l->why, "no memory"), MSCCLC_SYSTEM;
  pthread_mutex_lock(&l->comm->mu);
  p->next = l->comm->programs, l->comm->programs = p;
  pthread_mutex_unlock(&l->comm->mu);
  return *programs = p, MSCCLC_OK;
}

}  // namespace

extern "C" {

mscclc_result mscclc_load(mscclc_comm c, mscclc_bundle b, mscclc_programs *programs) {
  if (forked()) return MSCCLC_FORKED;
  if (!c || !b || !programs) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_load: an argument is null");
  if (const mscclc_result r = comm_state(c)) return r;
  Loading *l = (Loading *)calloc(1, sizeof *l);
  if (!l) return failed(MSCCLC_SYSTEM, "no memory");
  l->comm = c, l->bundle = b;
  if (!bundle_keep(b)) return free(l), failed(MSCCLC_SYSTEM, "no memory");
  mscclc_result r = load(l, programs);
  if (r && l->team) team_end(l->team, false);
  if (r) failed(r, "mscclc_load: %s", l->why.text);
  free(l);
  return r;
}

mscclc_result mscclc_find(mscclc_programs p, const char *name, mscclc_program *program) {
  if (forked()) return MSCCLC_FORKED;
  if (!p || !name || !program) return failed(MSCCLC_BAD_ARGUMENT, "mscclc_find: an argument is null");
  char names[500] = "";
  size_t n = 0;
  for (u32 i = 0; i < p->count; i++) {
    if (!strcmp(p->list[i].info.name, name)) return *program = &p->list[i], MSCCLC_OK;
    if (n >= sizeof names) continue;
    n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", p->list[i].info.name);
  }
  return failed(MSCCLC_UNSUPPORTED, "no program for %u ranks is called %.63s; the bundle has: %s", p->comm->ranks, name,
                p->count ? names : "none with a name (mscclc bundle --program NAME=FILE adds some)");
}

mscclc_result mscclc_program_describe(mscclc_program p, mscclc_program_info *info) {
  if (!p || !copy_info(p->info, info))
    return failed(MSCCLC_BAD_ARGUMENT, "mscclc_program_describe: set info->size to sizeof(mscclc_program_info)");
  return MSCCLC_OK;
}
}
