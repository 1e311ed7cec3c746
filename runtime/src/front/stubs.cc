// The functions of libnccl.so.2 that this library only hands on. Each is a jump through a slot, so that all arguments
// pass, whatever they are. The first call looks the function up in NCCL and fills the slot. For an NCCL that exports
// more names, the library is built with more.h, which lists them (build.go).
#ifdef MSCCLC_FORWARDS
#include "front.h"
#include "names.h"

#include <string.h>

extern "C" {

// A slot has an address to jump to, and a name. The code below knows its layout.
struct Slot {
  void *target;
  const char *name;
};

// What a function gives that NCCL lacks: an error, or a text.
static Result missing() { return INVALID_USAGE; }
static Result dead() { return SYSTEM_ERROR; }
static const char *no_text() { return "this NCCL has no text for it"; }

__attribute__((used, visibility("hidden"))) void *mscclc_resolve(Slot *s) {
  void *p = forked() ? nullptr : nccl_symbol(s->name);
  if (!p) {
    const bool gives_text = strstr(s->name, "GetErrorString") || strstr(s->name, "GetLastError");
    const Result r = forked() ? after_fork() : nccl_lacks(s->name);
    return gives_text ? (void *)no_text : r == SYSTEM_ERROR ? (void *)dead : (void *)missing;
  }
  __atomic_store_n(&s->target, p, __ATOMIC_RELEASE);
  return p;
}

// What finds that this is our library, not NCCL.
__attribute__((used, visibility("default"))) int mscclc_forwards = 1;
}

#define DATA(name)                                             \
  ".section .rodata\nmscclc_text_" #name ": .asciz \"" #name "\"\n" \
  ".data\n.balign 16\nmscclc_slot_" #name ": .quad mscclc_first_" #name ", mscclc_text_" #name "\n" \
  ".text\n.balign 16\n.globl " #name "\n.type " #name ", %function\n"

#if defined(__x86_64__)
// mscclc_first saves all registers that arguments may be in; r11 has the slot.
asm(".text\n"
    ".type mscclc_first, %function\n"
    "mscclc_first:\n"
    "push %rbp\nmov %rsp, %rbp\nsub $192, %rsp\nand $-16, %rsp\n"
    "mov %rdi, 0(%rsp)\nmov %rsi, 8(%rsp)\nmov %rdx, 16(%rsp)\nmov %rcx, 24(%rsp)\n"
    "mov %r8, 32(%rsp)\nmov %r9, 40(%rsp)\nmov %rax, 48(%rsp)\nmov %r10, 56(%rsp)\n"
    "movups %xmm0, 64(%rsp)\nmovups %xmm1, 80(%rsp)\nmovups %xmm2, 96(%rsp)\nmovups %xmm3, 112(%rsp)\n"
    "movups %xmm4, 128(%rsp)\nmovups %xmm5, 144(%rsp)\nmovups %xmm6, 160(%rsp)\nmovups %xmm7, 176(%rsp)\n"
    "mov %r11, %rdi\ncall mscclc_resolve\nmov %rax, %r11\n"
    "mov 0(%rsp), %rdi\nmov 8(%rsp), %rsi\nmov 16(%rsp), %rdx\nmov 24(%rsp), %rcx\n"
    "mov 32(%rsp), %r8\nmov 40(%rsp), %r9\nmov 48(%rsp), %rax\nmov 56(%rsp), %r10\n"
    "movups 64(%rsp), %xmm0\nmovups 80(%rsp), %xmm1\nmovups 96(%rsp), %xmm2\nmovups 112(%rsp), %xmm3\n"
    "movups 128(%rsp), %xmm4\nmovups 144(%rsp), %xmm5\nmovups 160(%rsp), %xmm6\nmovups 176(%rsp), %xmm7\n"
    "leave\njmp *%r11\n");
#define STUB(name)                                                                     \
  asm(DATA(name) #name ":\nendbr64\njmp *mscclc_slot_" #name "(%rip)\n"                \
      "mscclc_first_" #name ": endbr64\nlea mscclc_slot_" #name "(%rip), %r11\njmp mscclc_first\n");
#elif defined(__aarch64__)
// x17 has the slot. x0 to x8 and q0 to q7 may have arguments.
asm(".text\n"
    ".type mscclc_first, %function\n"
    "mscclc_first:\n"
    "stp x29, x30, [sp, #-224]!\nmov x29, sp\n"
    "stp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\nstp x4, x5, [sp, #48]\nstp x6, x7, [sp, #64]\nstr x8, [sp, #80]\n"
    "stp q0, q1, [sp, #96]\nstp q2, q3, [sp, #128]\nstp q4, q5, [sp, #160]\nstp q6, q7, [sp, #192]\n"
    "mov x0, x17\nbl mscclc_resolve\nmov x16, x0\n"
    "ldp x0, x1, [sp, #16]\nldp x2, x3, [sp, #32]\nldp x4, x5, [sp, #48]\nldp x6, x7, [sp, #64]\nldr x8, [sp, #80]\n"
    "ldp q0, q1, [sp, #96]\nldp q2, q3, [sp, #128]\nldp q4, q5, [sp, #160]\nldp q6, q7, [sp, #192]\n"
    "ldp x29, x30, [sp], #224\nbr x16\n");
#define STUB(name)                                                                                          \
  asm(DATA(name) #name ":\nbti c\nadrp x17, mscclc_slot_" #name "\nadd x17, x17, :lo12:mscclc_slot_" #name  \
      "\nldr x16, [x17]\nbr x16\nmscclc_first_" #name ": bti j\nb mscclc_first\n");
#else
#error "this library has stubs for x86-64 and aarch64 only"
#endif

#define STUB_SINCE(name, since) STUB(name)
#define STUB_P(name, since) STUB(p##name)
NAMES_REST(STUB_SINCE)
NAMES_REST(STUB_P)
NAMES_OURS(STUB_P)
#ifdef MSCCLC_MORE
#include "more.h"
NAMES_MORE(STUB)
#endif
#endif
