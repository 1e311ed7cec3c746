// This file is linked into the library where tests have its calls fail. The linker has all calls of functions in
// list.h go to stubs (--wrap), and dlsym gives stubs for the driver's functions. A stub asks fault_check, which
// knows the call by its return address: it goes on to the function, or gives an error without a call. What ends
// something is done all the same, so that nothing is left by the fault itself.
#include "../../../transport/enginetest/engine.h"
#include "../../../transport/proxy.h"
#include "list.h"
#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// A FaultRow is a function: what is called, or what it gives, with an errno.
struct FaultRow {
  const char *name;
  void *real;
  u64 result;
  int error, ends;  // ends: it ends something
};
struct Verdict {
  void *call;  // null: the result is given without a call
  u64 result;
};

__thread u64 fault_site;
__thread int fault_late;

// ROW writes a row and its stub. The stub keeps all registers of arguments, and the stack as it is.
#define TEXT(x) #x
#define ROW(name, stub, real, result, error, ends)                                                              \
  asm(".section .data.faults,\"aw\"\n.balign 8\n.hidden fault_row_" #name "\n.globl fault_row_" #name           \
      "\nfault_row_" #name ": .quad 1f, " #real ", " #result "\n.long " TEXT(error) ", " #ends                  \
      "\n.section .rodata.faults,\"a\"\n1: .string \"" #name "\"\n.text\n.hidden " #stub "\n.globl " #stub      \
      "\n.type " #stub ",@function\n" #stub ": leaq fault_row_" #name "(%rip), %r11\n jmp fault_common\n");
#define NULLS(name, error, target) ROW(name, __wrap_##name, target, 0, error, 0)
#define LATE(name, error, target) ROW(name, __wrap_##name, target, 0, error, 1)
#define MINUS(name, error, target) ROW(name, __wrap_##name, target, -1, error, 0)
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define TEXT_OF(x) TEXT(x)
#define SYSTEM(name) SYMBOL_##name  // a macro of the compiler's command says what that is
#define SYSTEM_ROW(name, result, error) \
  SYSTEM_ROW_(name, PASTE(__wrap_, SYSTEM(name)), PASTE(__real_, SYSTEM(name)), result, error)
#define SYSTEM_ROW_(name, stub, real, result, error) ROW(name, stub, real, result, error, 0)
#define FALSE(name, error) SYSTEM_ROW(name, 0, error)
#define MINUS_ONE(name, error) SYSTEM_ROW(name, -1, error)
#define CODES(name, error, target) ROW(name, __wrap_##name, target, error, 0, 0)
FAULT_NULLS(NULLS)
FAULT_LATE(LATE)
FAULT_MINUS(MINUS)
FAULT_CODES(CODES)
FAULT_FALSE(FALSE)
FAULT_MINUS_ONE(MINUS_ONE)
asm(".text\nfault_common:\n"
    "pushq %rdi\npushq %rsi\npushq %rdx\npushq %rcx\npushq %r8\npushq %r9\npushq %rax\n"
    "movq %r11, %rdi\nmovq 56(%rsp), %rsi\ncall fault_check\nmovq %rax, %r11\nmovq %rdx, %r10\n"
    "popq %rax\npopq %r9\npopq %r8\npopq %rcx\npopq %rdx\npopq %rsi\npopq %rdi\n"
    "testq %r11, %r11\njz 1f\njmp *%r11\n1: movq %r10, %rax\nret\n");

#include "driver.h"

// getenv gives MSCCLC_NODE by the current GPU, where FAULTS_NODE says how many ranks a node has: ranks that are threads
// have one environment.
extern "C" char *__real_getenv(const char *);
extern "C" KEEP char *__wrap_getenv(const char *name) {
  static char names[] = "a\0b\0c\0d";
  const char *of_node = strcmp(name, "MSCCLC_NODE") ? nullptr : __real_getenv("FAULTS_NODE");
  int number = 0;
  if (!of_node || !real.context_device || real.context_device(&number)) return __real_getenv(name);
  return names + 2 * (number / atoi(of_node));
}

extern "C" {
int __real_open(const char *, int, ...);
void *__real_mmap(void *, size_t, int, int, int, off_t);
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
}

namespace {

FaultControl none, *the_control = &none;
pthread_once_t control_once = PTHREAD_ONCE_INIT;

// open_control finds the file that says what fails. The network is then the engine of tests, if MSCCLC_NET asks for it.
void open_control() {
  mscclc_net_test_engine(&transport_test);
  const char *path = __real_getenv("MSCCLC_FAULTS");
  const int fd = path ? __real_open(path, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *p = __real_mmap(nullptr, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (p != MAP_FAILED) the_control = (FaultControl *)p;
}

void note(FaultControl *c, const char *name, u64 at) {
  for (u64 i = at * 0x9e3779b97f4a7c15ull >> 53;; i = (i + 1) % FAULT_SITES) {
    FaultSite &s = c->site[i];
    u64 was = 0;
    if (__atomic_compare_exchange_n(&s.at, &was, at, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      strncpy(s.name, name, sizeof s.name - 1);
    else if (was != at) continue;
    __atomic_fetch_add(&s.calls, 1, __ATOMIC_RELAXED);
    return;
  }
}

bool fails(FaultControl *c, u64 at) {
  if (const u64 n = __atomic_load_n(&c->one_in, __ATOMIC_ACQUIRE)) {
    u64 x = __atomic_add_fetch(&c->seed, 0x9e3779b97f4a7c15ull, __ATOMIC_RELAXED);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull, x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return (x ^ x >> 31) % n == 0;
  }
  u64 next = at;
  if (__atomic_load_n(&c->fired, __ATOMIC_ACQUIRE) &&
      __atomic_compare_exchange_n(&c->next, &next, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return true;
  return __atomic_load_n(&c->armed, __ATOMIC_ACQUIRE) == at && !__atomic_fetch_add(&c->seen, 1, __ATOMIC_ACQ_REL);
}

}  // namespace

FaultControl *fault_control() {
  pthread_once(&control_once, open_control);
  return the_control;
}

extern "C" __attribute__((visibility("hidden"), used)) Verdict fault_check(const FaultRow *row, u64 at) {
  const int before = errno;
  FaultControl *c = fault_control();
  fault_site = at -= (u64)__ehdr_start;
  fault_late = 0;
  note(c, row->name, at);
  errno = before;
  if (!fails(c, at)) return {row->real, 0};
  __atomic_store_n(&c->fired_at, at, __ATOMIC_RELEASE);
  const u64 before_it = __atomic_fetch_add(&c->fired, 1, __ATOMIC_ACQ_REL);
  if (before_it < FAULT_FIRED) c->failed[before_it] = at;
  if (row->error) errno = __atomic_load_n(&c->interrupts, __ATOMIC_ACQUIRE) ? EINTR : row->error;
  if (!row->ends) return {nullptr, row->result};
  fault_late = row->result ? (int)row->result : 1;
  return {row->real, 0};
}
