// The hub of a communicator, without sockets: who is here, and what all hear. It decides, so that ranks never differ
// about who runs a call: GO goes out only when all ranks have said yes, and nothing else follows it in that round.
#include "meeting.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

enum { FNV_OFFSET = 2166136261u, FNV_PRIME = 16777619u };

void write_text(char *to, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
void write_text(char *to, size_t size, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(to, size, format, args);
  va_end(args);
}

void tell(const Meeting *m, u32 rank, const Teller &t) {
  Word w = {m->word, m->reason, 0, 0};
  while (w.teller < m->ranks && m->is[w.teller] != RANK_HERE) w.teller++;
  const u32 bytes = m->word == WORD_GO ? 0 : (u32)strlen(m->text);
  t.tell(t.of, rank, w, m->text, bytes);
}

// decide has all hear the word of the meeting. Who comes later hears it, too.
void decide(Meeting *m, u32 word, u32 reason, const Teller &t) {
  m->word = word, m->reason = reason;
  for (u32 r = 0; r < m->ranks; r++)
    if (m->is[r] == RANK_HERE) tell(m, r, t);
}

// open_meeting makes the rows of the ranks, once the first says how many there are.
bool open_meeting(Meeting *m, u32 ranks, u64 now) {
  if (m->ranks) return true;
  m->is = (u8 *)calloc(ranks, 1);
  if (m->is) m->ranks = ranks, m->begun = now;
  return m->is != nullptr;
}

// refuse says why a rank that comes cannot be one of the meeting: then there is none.
const char *refuse(const Meeting *m, u32 rank, u32 ranks, u32 version, u32 *reason, char *text, u32 size) {
  *reason = NO_VERSION;
  if (version != MEETING_VERSION)
    return write_text(text, size, "rank %u has version %u of this library's messages, and the process that made the "
                      "ncclUniqueId has version %d: install one release on all hosts", rank, version, MEETING_VERSION),
           text;
  *reason = NO_FIT;
  if (ranks < 1 || ranks > m->most || rank >= ranks)
    return write_text(text, size, "there is no rank %d of %d", (int)rank, (int)ranks), text;
  if (m->ranks && m->ranks != ranks)
    return write_text(text, size, "rank %u has %u ranks, and others have %u", rank, ranks, m->ranks), text;
  if (m->ranks && m->is[rank] != RANK_ABSENT) return write_text(text, size, "there are two ranks %u", rank), text;
  *reason = NO_ROOM;
  if (ranks > m->room)
    return write_text(text, size, "the process that made the ncclUniqueId has too few descriptors left for %u ranks: "
                      "raise its limit of open files (ulimit -n)", ranks), text;
  return nullptr;
}

// tell_gone has the ranks know that one has gone.
void tell_gone(Meeting *m, const Teller &t) {
  if (m->gone) return;
  m->gone = true;
  for (u32 r = 0; r < m->ranks; r++)
    if (m->is[r] == RANK_HERE) t.tell(t.of, r, Word{WORD_GONE, 0, 0, 0}, nullptr, 0);
}

bool same_round(const Part &a, const Part &b) { return a.sort == b.sort && a.number == b.number && a.set == b.set; }

u32 part_of(const Part &p, u32 bytes) {  // where its data begins, or 0 where it is too short
  const u64 at = sizeof(Part) + (u64)p.without * sizeof(u32);
  return at <= bytes ? (u32)at : 0;
}

void free_round(Round *r) {
  free(r->out), free(r->said), free(r->answered), free(r->data);
  free(r);
}

// lose has a round come to nothing, since a rank that it needs has gone.
void lose(const Meeting *m, Round *r, u32 rank) {
  if (r->out[rank]) return;
  if (!r->said[rank]) r->said[rank] = 1, r->waits--;
  r->gone = true;
  const bool left = m->is[rank] == RANK_LEFT;
  if (r->word != WORD_NONE) return;
  r->word = left ? WORD_NO : WORD_FAILED, r->reason = left ? NO_LEFT : NO_RANK;
  write_text(r->text, sizeof r->text, left ? "rank %u has ended its communicator"
             : "the connection to rank %u was lost, as when its process ends", rank);
}

Round *open_round(Meeting *m, const Part &name, const u8 *without) {
  Round *r = (Round *)calloc(1, sizeof(Round));
  if (!r) return nullptr;
  r->name = name;
  r->out = (u8 *)calloc(m->ranks, 1), r->said = (u8 *)calloc(m->ranks, 1), r->answered = (u8 *)calloc(m->ranks, 1);
  if (!r->out || !r->said || !r->answered) return free_round(r), nullptr;
  r->waits = r->no = m->ranks;
  for (u32 i = 0; i < name.without; i++) {
    u32 rank;
    memcpy(&rank, without + i * sizeof rank, sizeof rank);
    if (rank < m->ranks && !r->out[rank]) r->out[rank] = 1, r->waits--;
  }
  for (u32 i = 0; i < m->ranks; i++)
    if (m->is[i] != RANK_HERE) lose(m, r, i);
  r->next = m->rounds;
  return m->rounds = r;
}

// place gives a rank of a split its place among those of its color, in the order of keys and ranks.
Placed place(const Meeting *m, const Round *r, u32 rank) {
  const Ask *all = (const Ask *)r->data;
  Placed p = {};
  u32 first = rank;
  for (u32 i = 0; i < m->ranks; i++) {
    if (r->out[i] || all[i].color != all[rank].color) continue;
    p.rank += all[i].key < all[rank].key || (all[i].key == all[rank].key && i < rank), p.ranks++;
    if (all[i].key < all[first].key || (all[i].key == all[first].key && i < first)) first = i;
  }
  p.tail = all[first].tail;
  return p;
}

void answer(Meeting *m, Round *r, u32 rank, u32 word, const Teller &t) {
  if (r->answered[rank] || m->is[rank] != RANK_HERE) return;
  r->answered[rank] = 1;
  Word w = {word, r->reason ? r->reason : (u32)NO_RANK, 0, 0};
  while (w.teller < m->ranks && (r->out[w.teller] || m->is[w.teller] != RANK_HERE)) w.teller++;
  if (word != WORD_GO) return t.tell(t.of, rank, w, r->text, (u32)strlen(r->text));
  w.reason = 0;
  if (r->name.sort != ROUND_SPLIT) return t.tell(t.of, rank, w, r->data, m->ranks * r->bytes);
  const Placed p = place(m, r, rank);
  t.tell(t.of, rank, w, &p, sizeof p);
}

// settle answers who can be answered: all together where all have said their part, or a rank has gone. It forgets the
// round when all have their answer.
void settle(Meeting *m, Round *r, const Teller &t) {
  if (r->waits && !r->gone) return;
  const u32 word = r->word == WORD_NONE ? (u32)WORD_GO : r->word;
  bool open = false;
  for (u32 i = 0; i < m->ranks; i++) {
    if (r->out[i]) continue;
    if (r->said[i]) answer(m, r, i, word, t);
    open |= !r->said[i] && m->is[i] == RANK_HERE;
  }
  Round **at = &m->rounds;
  while (*at != r) at = &(*at)->next;
  if (!open) *at = r->next, free_round(r);
}

// keep takes what a rank tells in a round. All tell equally many bytes.
void keep(const Meeting *m, Round *r, u32 rank, const u8 *data, u32 count) {
  if (r->word != WORD_NONE) return;
  const u64 all = (u64)m->ranks * count;
  if (!r->data && all <= MOST_ANSWER) r->data = (u8 *)calloc(all ? all : 1, 1), r->bytes = count;
  const bool good = r->data && count == r->bytes && (r->name.sort != ROUND_SPLIT || count == sizeof(Ask));
  if (good) return (void)memcpy(r->data + (size_t)rank * count, data, count);
  r->word = WORD_NO;
  write_text(r->text, sizeof r->text, "rank %u tells %u bytes, which do not fit to those of others", rank, count);
}

}  // namespace

u32 set_hash(const u32 *without, u32 count) {
  u32 h = (u32)FNV_OFFSET, all = 0;
  for (u32 i = 0; i < count; i++) all += (without[i] + 1) * 2654435761u;  // in whatever order they are listed
  h = (h ^ all) * (u32)FNV_PRIME;
  return !count ? 0 : h ? h : 1;
}

bool meeting_here(Meeting *m, u32 rank, u32 ranks, u32 version, u64 now, const Teller &t) {
  u32 reason = 0;
  char text[sizeof m->text];
  if (m->word == WORD_NO || m->word == WORD_FAILED) {
    tell(m, NOBODY, t);
    if (m->ranks && rank < m->ranks && m->is[rank] == RANK_ABSENT) m->is[rank] = RANK_TOLD;
    return false;
  }
  if (m->word == WORD_GO) {
    const char used[] = "its ncclUniqueId was used before";
    const Word w = {WORD_NO, NO_USED, 0, 0};
    return t.tell(t.of, NOBODY, w, used, sizeof used - 1), false;
  }
  if (const char *why = refuse(m, rank, ranks, version, &reason, text, sizeof text)) {
    write_text(m->text, sizeof m->text, "%s", why);
    decide(m, WORD_NO, reason, t);
    return tell(m, NOBODY, t), false;
  }
  if (!open_meeting(m, ranks, now)) return false;
  m->is[rank] = RANK_HERE;
  if (++m->here == m->ranks) decide(m, WORD_GO, 0, t);
  return true;
}

bool meeting_cannot(Meeting *m, u32 rank, u32 ranks, const char *why, u64 now, const Teller &t) {
  if (m->word != WORD_NONE || ranks > m->most || rank >= ranks || !open_meeting(m, ranks, now)) return false;
  if (rank >= m->ranks || m->is[rank] != RANK_ABSENT) return false;
  m->is[rank] = RANK_TOLD;
  write_text(m->text, sizeof m->text, "rank %u: %s", rank, why);
  return decide(m, WORD_NO, NO_RANK, t), m->here > 0;
}

bool meeting_part(Meeting *m, u32 rank, const u8 *part, u32 bytes, const Teller &t) {
  Part name;
  if (rank >= m->ranks || m->is[rank] != RANK_HERE || bytes < sizeof name) return false;
  memcpy(&name, part, sizeof name);
  const u32 at = part_of(name, bytes), count = bytes - at;
  if (m->word != WORD_GO || !at) return false;
  Round *r = m->rounds;
  while (r && !same_round(r->name, name)) r = r->next;
  if (!r) r = open_round(m, name, part + sizeof name);
  if (!r || r->out[rank] || r->said[rank]) return false;
  r->said[rank] = 1, r->waits--;
  if (!name.ok && !r->gone && (r->word == WORD_NONE || rank < r->no)) {  // the first rank's reason counts
    r->word = WORD_NO, r->no = rank;
    write_text(r->text, sizeof r->text, "%.*s", (int)count, (const char *)part + at);
  }
  if (name.ok) keep(m, r, rank, part + at, count);
  return settle(m, r, t), true;
}

void meeting_gone(Meeting *m, u32 rank, bool properly, const Teller &t) {
  if (rank >= m->ranks || m->is[rank] != RANK_HERE) return;
  m->is[rank] = properly ? RANK_LEFT : RANK_LOST;
  if (m->word == WORD_NONE) {
    write_text(m->text, sizeof m->text, properly ? "rank %u has ended its communicator"
               : "the connection to rank %u was lost before all had come, as when its process ends", rank);
    return decide(m, properly ? WORD_NO : WORD_FAILED, properly ? NO_LEFT : NO_RANK, t);
  }
  tell_gone(m, t);
  for (Round *r = m->rounds, *next; r; r = next) {
    next = r->next;
    if (r->out[rank]) continue;
    lose(m, r, rank);
    settle(m, r, t);
  }
}

u32 meeting_missing(const Meeting *m, char *to, u32 size) {
  u32 count = 0, at = 0;
  *to = 0;
  for (u32 r = 0; r < m->ranks; r++) {
    if (m->is[r] != RANK_ABSENT) continue;
    if (count < 8 && at < size) at += (u32)snprintf(to + at, size - at, "%s%u", count ? ", " : "", r);
    if (count == 8 && at < size) at += (u32)snprintf(to + at, size - at, " and more");
    count++;
  }
  return count;
}

void meeting_time(Meeting *m, u64 now, const Teller &t) {
  if (!m->ranks || m->word != WORD_NONE || now - m->begun < m->limit) return;
  char list[100];
  const u32 count = meeting_missing(m, list, sizeof list);
  const bool one = count == 1;
  write_text(m->text, sizeof m->text, "%s %s did not come within %g s: %s no such library, cannot reach the process "
             "that made the ncclUniqueId, or %s no descriptor left (ulimit -n)", one ? "rank" : "ranks", list,
             (double)m->limit / 1e9, one ? "it has" : "they have", one ? "has" : "have");
  decide(m, WORD_NO, NO_MISSING, t);
}

bool meeting_over(const Meeting *m) {
  if (!m->ranks || m->word == WORD_NONE) return m->word != WORD_NONE;
  for (u32 r = 0; r < m->ranks; r++)
    if (m->is[r] == RANK_HERE) return false;
  return true;
}

void meeting_free(Meeting *m) {
  while (Round *r = m->rounds) m->rounds = r->next, free_round(r);
  free(m->is);
  m->is = nullptr, m->ranks = 0;
}
