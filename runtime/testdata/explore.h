// This file is what programs share that drive code of the library through all orders of events. A world is a hub (m)
// and its ranks. A program says by key what tells worlds apart, and by visit what may happen in one.
#pragma once
#include "../src/consensus/meeting.h"

#include <stdlib.h>
#include <string.h>
#include <string>
#include <unordered_set>
#include <vector>

// A Queue is what is on the way to somebody. It is short, and copied often.
template <typename T>
struct Queue : std::vector<T> {
  void pop_front() { this->erase(this->begin()); }
};

// A Key is the state of a world.
struct Key {
  std::string bytes;
  template <typename T>
  void add(T x) { bytes.append((const char *)&x, sizeof x); }
};

inline Meeting copy(const Meeting &m) {
  Meeting c = m;
  if (!m.ranks) return c;
  auto bytes = [](const u8 *from, size_t n) {
    u8 *p = (u8 *)malloc(n ? n : 1);
    return from ? memcpy(p, from, n), p : p;
  };
  c.is = bytes(m.is, m.ranks);
  Round **at = &c.rounds;
  for (const Round *r = m.rounds; r; r = r->next) {
    Round *k = (Round *)malloc(sizeof *k);
    *k = *r;
    k->out = bytes(r->out, m.ranks), k->said = bytes(r->said, m.ranks), k->answered = bytes(r->answered, m.ranks);
    k->data = r->data ? bytes(r->data, (size_t)m.ranks * r->bytes) : nullptr;
    *at = k, at = &k->next;
  }
  *at = nullptr;
  return c;
}

inline std::unordered_set<std::string> seen;
inline long states;

// branch has something happen in a copy of a world, and visits what comes of it, once.
template <typename W, typename F>
void branch(const W &w, F happens) {
  W next = w;
  next.m = copy(w.m);
  happens(next);
  if (seen.insert(key(next)).second) states++, visit(next);
  meeting_free(&next.m);
}

// explore visits all worlds that may come of one.
template <typename W>
void explore(W w) {
  w.m.limit = 10, w.m.most = 16, w.m.room = 100;
  seen.clear();
  states++;
  visit(w);
}
