// This file is what tells of a job while it runs: messages, counts, metrics, the record of the last calls, and ranges
// for profilers. record/say.cc has messages, record/count.cc counts, record/clock.cc times, record/metrics.cc the text
// of metrics, record/record.cc the last calls, record/watch.cc the thread that writes files, record/nvtx.cc ranges.
#pragma once
#include "../team/engine.h"
#include "abi.h"

#include <stddef.h>

struct Member;
struct Op;

// observed says what looks at calls, by bits. Before that is known, all are set.
enum { OBSERVES_STATS = 1, OBSERVES_METRICS = 2, OBSERVES_TRACE = 4, OBSERVES_RANGES = 8, OBSERVES_ALL = 15 };
extern u32 observed_by;
inline u32 observed(u32 bits) { return __atomic_load_n(&observed_by, __ATOMIC_RELAXED) & bits; }

// Messages. version, warn and info print by MSCCLC_DEBUG; tell prints without it, too. WARN has one line for each
// cause; say_repeats prints how often causes came again. debug_named is a level of MSCCLC_DEBUG, or -1.
int debug_named(const char *text);
void version(const char *format, ...) __attribute__((format(printf, 1, 2)));
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool warns();
bool traces();
void say_repeats();
u64 warnings();  // all, printed or not

// A Where names the communicator that the thread's messages are about, until it goes.
struct Where {
  Member *before;
  explicit Where(Member *e);
  ~Where();
};

// A Slow says once that a wait has taken 2 s: then a message says what the wait is for.
struct Slow {
  u64 begin = 0;
  bool said = false;
  bool now();
};

// name_of_comm writes the short name of a communicator: of its family, or its address before ranks have agreed.
const u32 SHORT_NAME = 24;
void name_of_comm(const Member *e, Comm comm, char (*to)[SHORT_NAME]);
const char *host_name();  // up to its first dot
const u32 TIME_TEXT = 80;
void time_text(u64 realtime_ns, char (*to)[TIME_TEXT]);  // RFC 3339, with ms
u64 realtime_ns();

// file_named writes the path in a variable: %h is the host, %p the process, and %% a percent sign, as in
// NCCL_DEBUG_FILE. It gives false where the variable is not set, or the path is too long.
enum { PATH_ROOM = 4096 };
bool file_named(const char *variable, char (*path)[PATH_ROOM]);
u64 watch_period();     // MSCCLC_PERIOD, in ns
void settings_check();  // warns of variables that have no meaning, and sets observed_by
const char *fn_name(Fn fn);                // "ncclAllReduce"
const char *interned(const char *text);  // the same text, which stays until the process ends

// A Text grows as it is written; the caller frees `at`. put_string writes a text in quotes, as JSON and labels of
// metrics have it.
struct Text {
  char *at;
  size_t size, room;
};
void put(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void put_string(Text *t, const char *s);

// keep_call counts a call before it starts, and keeps it in the record of its communicator; note_call in note.h
// asks for that. why: null for a native one. count_call counts what is no collective. keep_launch says which launch of
// the team the last noted call became.
void keep_call(Member *e, const Op &op, const char *why);
void keep_launch(Member *e);
void count_call(Fn fn, const char *why, u64 bytes = 0);
void count_rows(void (*each)(void *of, Fn fn, const char *why, u64 calls, u64 bytes), void *of);
u64 bytes_of(const Op &op, u32 ranks);  // as nccl-tests count: the larger of what a rank sends and receives

// member_failed counts a failure of a communicator, once of each kind, and has the last calls written.
// record_await waits until they are, for some seconds at most. answered is what a call gives the program, which may end
// the process because of an error: so an error waits first.
enum Failure {
  FAILED_PEER, FAILED_WAIT, FAILED_NETWORK, FAILED_LAUNCH, FAILED_ABORTED, FAILED_NCCL, FAILED_AGREEMENT, FAILURES
};
void member_failed(Member *e, Failure kind);
void record_await();
inline Result answered(Result r) {
  if (r != SUCCESS && r != IN_PROGRESS) record_await();
  return r;
}
u64 failures_of(Failure kind);
const char *failure_name(Failure kind);

// What is written: MSCCLC_STATS, MSCCLC_METRICS. watch_begin starts the thread that writes, if one of them is set.
// stats_write writes all now, watch_end for the last time.
void watch_begin();
void stats_write();
void watch_end();
bool write_whole(const char *dir, const char *name, const Text &t);  // at once: a file that is new, then renamed
void tell_unwritten(const char *variable, const char *path);         // by errno, once
void stats_text(Text *t, u64 *calls);  // a line of JSON
void learned_text(Text *t);            // its list of what was learned (learn/statistics.cc)

// The record of a communicator's last calls, where MSCCLC_METRICS is set. record_look asks the GPU which of them have
// ended; the caller is a user of e. record_text writes those of all. In a process that exits, no call of the driver is
// made.
void record_open(Member *e);
void record_look(Member *e);
void record_text(Text *t, const char *why, bool exits);

void metrics_text(Text *t);

// A Timing takes the time of one call in 64 by events around it, unless it is captured. The group's is that of the only
// call of the thread's group, if NCCL runs it. clock_collect looks which have come. clock_each gives how many calls
// took up to each of CLOCK_BOUNDS times, and longer.
void *clock_start(Member *e, Fn fn, void *stream, bool native);
void *clock_start_group();
void clock_stop(void *slot);
struct Timing {
  void *slot;
  Timing(Member *e, Fn fn, void *stream, bool native)
      : slot(observed(OBSERVES_METRICS) ? clock_start(e, fn, stream, native) : nullptr) {}
  Timing() : slot(observed(OBSERVES_METRICS) ? clock_start_group() : nullptr) {}  // of the group
  ~Timing() {
    if (slot) clock_stop(slot);
  }
};
enum { CLOCK_BOUNDS = 12 };
extern const double clock_bounds[CLOCK_BOUNDS];  // seconds
void clock_collect();
void clock_each(void (*each)(void *of, Fn fn, bool native, const u64 *counts, double seconds), void *of);

// range_open begins what profilers show of a native call, where NVTX is present.
bool range_open(Fn fn, u64 bytes);
void range_close();
