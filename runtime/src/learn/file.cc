// The file of what was learned, which MSCCLC_LEARNED names. Rank 0 reads it when its communicator's ranks agree, and
// writes what they learn since, in a thread of its own. The file is text: a line that names the format, a row for each
// class, and a line with the number of rows. A row is for one bundle, number of ranks, driver, NCCL and kind of GPU,
// and for invariant bits or not: its rule is of one set of the bundle.
#include "learn.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

namespace {

enum { MOST_ROWS = 2048, MOST_BYTES = 1 << 20, WAITING = 64 };
const char FORMAT[] = "mscclc-learned 1\n", NAME[] = "mscclc-learned ";

// A Row is a line to be written. `same` bytes of it say what it is for.
struct Row {
  char text[LEARN_ROW];
  u32 same;
};
Row waiting[WAITING];
u32 wait_count;
bool writes;  // a thread writes
pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;  // of these

const char *path_of() {
  const char *path = getenv("MSCCLC_LEARNED");
  return path && *path ? path : nullptr;
}

// rows_of finds the rows of a file's text, of which it returns the end, or null: it is damaged.
const char *rows_of(const char *text, const char **begin) {
  const size_t head = sizeof FORMAT - 1;
  if (strncmp(text, FORMAT, head)) return nullptr;
  *begin = text + head;
  u32 rows = 0;
  for (const char *line = *begin, *end; (end = strchr(line, '\n')); line = end + 1, rows++) {
    u32 said;
    char last;
    if (sscanf(line, "end %u%c", &said, &last) == 2) return said == rows && last == '\n' && !end[1] ? line : nullptr;
  }
  return nullptr;
}

// other says whether a path is there and names no regular file: a pipe would wait, and a device must stay.
bool other(const char *path) {
  struct stat about;
  return !stat(path, &about) && !S_ISREG(about.st_mode);
}

// load reads the file. It gives null if there is none, or one that is bad. foreign says that it must stay as it is: it
// is no file of ours, or it cannot be read. The caller frees the text.
char *load(const char *path, const char **begin, const char **end, bool *foreign) {
  if (other(path)) {
    if (strcmp(path, "/dev/null")) tell("MSCCLC_LEARNED=%s is no regular file: nothing is kept", path);
    return *foreign = true, nullptr;
  }
  char *text = (char *)malloc(MOST_BYTES);
  *foreign = !text;
  if (!text) return nullptr;
  const int length = sys_text(path, text, MOST_BYTES);
  const int code = length < 0 ? errno : 0;
  if (length > 0 && length + 1 < MOST_BYTES && (*end = rows_of(text, begin))) return text;
  *foreign = code ? code != ENOENT : length > 0 && strncmp(text, NAME, sizeof NAME - 1);
  if (code && code != ENOENT) tell("MSCCLC_LEARNED=%s cannot be read: %s", path, strerror(code));
  else if (length > 0) tell("MSCCLC_LEARNED=%s is no file of what was learned, or it is damaged: it is ignored", path);
  return free(text), nullptr;
}

bool replaced(const char *line, const Row *rows, u32 count) {
  for (u32 i = 0; i < count; i++)
    if (!strncmp(line, rows[i].text, rows[i].same)) return true;
  return false;
}

// merge writes the rows of a file that stay, then the new ones. Of too many, the first go.
u32 merge(Text *t, const char *begin, const char *end, const Row *rows, u32 count) {
  u32 all = 0, kept = count;
  for (const char *line = begin; line < end; line = strchr(line, '\n') + 1) all += !replaced(line, rows, count);
  u32 skip = all + count > MOST_ROWS ? all + count - MOST_ROWS : 0;
  for (const char *line = begin; line < end; line = strchr(line, '\n') + 1) {
    if (replaced(line, rows, count) || (skip && skip--)) continue;
    put(t, "%.*s\n", (int)(strchr(line, '\n') - line), line);
    kept++;
  }
  for (u32 i = 0; i < count; i++) put(t, "%s\n", rows[i].text);
  return kept;
}

void store(const char *path, const Row *rows, u32 count) {
  const char *begin = "", *end = begin, *slash = strrchr(path, '/');
  bool foreign;
  char *old = load(path, &begin, &end, &foreign);
  if (foreign) return;
  if (!old) begin = end = "";
  Text t = {};
  put(&t, "%s", FORMAT);
  const u32 kept = merge(&t, begin, end, rows, count);
  put(&t, "end %u\n", kept);
  char dir[PATH_ROOM];
  snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
  if (!write_whole(*dir ? dir : "/", slash ? slash + 1 : path, t)) tell_unwritten("MSCCLC_LEARNED", path);
  free(t.at), free(old);
}

void *write_all(void *) {
  static Row rows[WAITING];
  for (;;) {
    pthread_mutex_lock(&mu);
    const u32 count = wait_count;
    memcpy((void *)rows, (const void *)waiting, count * sizeof *rows);
    wait_count = 0;
    if (!count) writes = false;
    pthread_mutex_unlock(&mu);
    if (!count) return nullptr;
    store(path_of(), rows, count);
  }
}

bool written() {
  pthread_mutex_lock(&mu);
  const bool is = !writes;
  pthread_mutex_unlock(&mu);
  return is;
}

}  // namespace

void learned_name(const Member *e, const Team *t, char *to, u32 size) {
  const char *no_bundle;
  int version = 0, n = 0;
  const u8 *hash = bundle_hash(the_bundle(&no_bundle));
  for (u32 i = 0; i < 32; i++) n += snprintf(to + n, size - (u32)n, "%02x", hash[i]);
  {
    const Inside inside;
    if (nccl()->GetVersion) nccl()->GetVersion(&version);
  }
  snprintf(to + n, size - (u32)n, "\t%u%s\t%d\t%d\t%s\t", e->ranks, invariant_bits() ? "i" : "", gpu_version(), version,
           team_device(t));
}

u32 learned_read(const char *name, Learned *to, u32 most) {
  const char *path = path_of(), *begin, *end;
  bool foreign;
  char *text = path ? load(path, &begin, &end, &foreign) : nullptr;
  u32 count = 0;
  for (const char *line = begin; text && line < end && count < most; line = strchr(line, '\n') + 1) {
    Learned l = {};
    u32 k[6];
    if (strncmp(line, name, strlen(name)) ||
        sscanf(line + strlen(name), "%u,%u,%u,%u,%u,%u\t%u\t%u\t%u", &k[0], &k[1], &k[2], &k[3], &k[4], &k[5], &l.rule,
               &l.took[0], &l.took[1]) != 9)
      continue;
    l.key = LearnKey{(u8)k[0], (u8)k[1], (u8)k[2], (u8)k[3], (u8)k[4], (u8)k[5], {}};
    to[count++] = l;
  }
  return free(text), count;
}

void learned_keep(const Learn *l, const LearnClass &c, u32 choice, const u32 *took) {
  if (!path_of()) return;
  const LearnKey &k = c.key;
  pthread_mutex_lock(&mu);
  if (wait_count < WAITING) {
    Row &r = waiting[wait_count++];
    r.same = (u32)snprintf(r.text, sizeof r.text, "%s%u,%u,%u,%u,%u,%u\t", l->name, k.kind, k.type, k.redop, k.root,
                           k.windows, k.log);
    snprintf(r.text + r.same, sizeof r.text - r.same, "%u\t%u\t%u", choice ? c.candidate[choice - 1] : LEARNED_NCCL,
             took[0], took[1]);
  }
  if (!writes) writes = thread_begin(write_all, nullptr);
  pthread_mutex_unlock(&mu);
}

void learned_await() {
  for (const u64 end = now_ns() + SECOND; !written() && now_ns() < end;) nap(100000);
}
