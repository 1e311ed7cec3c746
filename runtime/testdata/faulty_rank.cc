// How a rank waits, and what it looks at after each call.
#include "faulty.h"

#include <stdio.h>
#include <string.h>
#include <string>
#include <unistd.h>

void wrong(Rank &r, const char *what, const char *how) {
  snprintf(meeting->text[r.rank], TEXT, "wrong: rank %d: %s: %s", r.rank, what, how);
  meeting->failed = 1;
  r.over = true;
}

bool settle(Rank &r, const char *what, Comm c) {
  const u64 end = now_ms() + LIMIT_MS / 2;
  for (Result state = IN_PROGRESS; now_ms() < end; usleep(1000)) {
    if (ncclCommGetAsyncError(c, &state) || (state != SUCCESS && state != IN_PROGRESS)) return ok(r, what, state);
    if (state == SUCCESS) return true;
    if (meeting->failed) return r.over = true, false;
  }
  hangs(r, what);
}

namespace {

// same_thread says whether a thread has its context and its mode of captures, as before a call. It has others where the
// call that gives them back has failed.
bool same_thread(Rank &r) {
  int mode = 0;
  void *now = nullptr;
  if (cu.current(&now) || cu.mode(&mode)) return false;
  const bool same = mode == 0 && (now == r.context || now == r.other);
  cu.use(r.context);
  return same;
}

bool gives_back() {
  if (control->one_in) return true;
  const FaultSite *s = control->site;
  while (s < control->site + FAULT_SITES && s->at != control->fired_at) s++;
  return control->fired && s < control->site + FAULT_SITES &&
         (!strcmp(s->name, "cu_current") || !strcmp(s->name, "cu_capture_mode"));
}

}  // namespace

bool ok(Rank &r, const char *what, Result got) {
  if (!same_thread(r) && !gives_back()) return wrong(r, what, "the thread has another context or mode"), false;
  if (got == SUCCESS || got == IN_PROGRESS) return !r.over;
  const char *text = ncclGetLastError(nullptr);
  char *to = meeting->text[r.rank];
  const char *is = text && *text ? "error" : "wrong (no text)";
  if (!to[0]) snprintf(to, TEXT, "%s: error %d of rank %d in %s: %.300s", is, got, r.rank, what, text ? text : "");
  for (; *to; to++)
    if (*to == '\n') *to = ' ';
  meeting->failed = 1;
  r.over = true;
  return false;
}

void hangs(Rank &r, const char *what) {
  snprintf(meeting->hung, TEXT, "hang: rank %d in %s", r.rank, what);
  _exit(3);
}


// idle waits for the streams. Where another rank has failed, launches that wait for it end by an abort.
void idle(Rank &r) {
  const u64 end = now_ms() + LIMIT_MS / 2;
  u64 aborts = 0;
  for (void *s : r.streams)
    for (int code; (code = cu.query(s)) != 0; usleep(200)) {
      if (code != 600) return wrong(r, "a stream", std::to_string(code).c_str());
      if (now_ms() > end) hangs(r, "a stream");
      Result state = SUCCESS;
      for (Comm c : r.comm)
        if (c && (ncclCommGetAsyncError(c, &state) || (state != SUCCESS && state != IN_PROGRESS)) && !r.over)
          ok(r, "ncclCommGetAsyncError", state ? state : INTERNAL_ERROR);
      if (meeting->failed && !aborts) aborts = now_ms() + 20;
      if (r.over || (aborts && now_ms() > aborts)) {
        for (Comm &c : r.comm)
          if (c) ncclCommAbort(c), c = nullptr;
        r.over = true;
      }
    }
}

UniqueId the_id(Rank &r, u32 number) {
  if (r.rank == 0) {
    UniqueId id = {};
    if (ok(r, "ncclGetUniqueId", ncclGetUniqueId(&id))) meeting->id[number] = id, meeting->ids = number + 1;
    return id;
  }
  while (meeting->ids <= number && !meeting->failed) usleep(1000);
  if (meeting->ids <= number) r.over = true;
  return meeting->id[number];
}

void meet(Rank &r) {
  const u32 all = ++r.meetings * (u32)r.ranks;
  meeting->met++;
  while (meeting->met < all && !meeting->failed) usleep(1000);
  r.over |= meeting->met < all;
}

// gone is asked by the mock NCCL, whose calls then wait no more for other ranks.
extern "C" int client_gone() { return meeting && meeting->failed && !meeting->settles; }
