// This file switches between stacks: fiber_switch saves the registers that a
// call preserves on the current stack, its top in *save, and goes on where the
// stack `load` left off. fiber_start lays out a new stack on which entry runs.
#pragma once

#if defined(__ELF__) && defined(__x86_64__)
extern "C" void mscclc_fiber_switch(void **save, void *load);
__asm__(
    ".pushsection .text\n"
    ".globl mscclc_fiber_switch\n"
    ".hidden mscclc_fiber_switch\n"
    ".type mscclc_fiber_switch,@function\n"
    "mscclc_fiber_switch:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n"
    ".size mscclc_fiber_switch,.-mscclc_fiber_switch\n"
    ".popsection\n");

static inline void fiber_switch(void **save, void *load) { mscclc_fiber_switch(save, load); }

// The first switch pops six registers and returns into entry, whose stack is
// then as after a call.
static inline void *fiber_start(char *stack, unsigned long bytes, void (*entry)()) {
  void **top = (void **)(stack + bytes);
  *--top = nullptr;  // where entry would return to
  *--top = (void *)entry;
  for (int i = 0; i < 6; i++) *--top = nullptr;
  return top;
}

#elif defined(__ELF__) && defined(__aarch64__)
extern "C" void mscclc_fiber_switch(void **save, void *load);
__asm__(
    ".pushsection .text\n"
    ".globl mscclc_fiber_switch\n"
    ".hidden mscclc_fiber_switch\n"
    ".type mscclc_fiber_switch,%function\n"
    "mscclc_fiber_switch:\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
    "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n"
    "  str x9, [x0]\n"
    "  mov sp, x1\n"
    "  ldp x19, x20, [sp]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
    "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n"
    "  ret\n"
    ".size mscclc_fiber_switch,.-mscclc_fiber_switch\n"
    ".popsection\n");

static inline void fiber_switch(void **save, void *load) { mscclc_fiber_switch(save, load); }

// The first switch loads twenty registers, of which x30 is where it returns to.
static inline void *fiber_start(char *stack, unsigned long bytes, void (*entry)()) {
  void **top = (void **)(stack + bytes) - 20;
  for (int i = 0; i < 20; i++) top[i] = nullptr;
  top[11] = (void *)entry;
  return top;
}

#else  // a system without a switch of its own here
#include <ucontext.h>

// The context of a stack lies at its low end; of the host's stacks, in switch's frame.
static inline void fiber_switch(void **save, void *load) {
  ucontext_t here;
  *save = &here;
  swapcontext(&here, (ucontext_t *)load);
}
static inline void *fiber_start(char *stack, unsigned long bytes, void (*entry)()) {
  ucontext_t *context = (ucontext_t *)stack;
  getcontext(context);
  context->uc_stack.ss_sp = stack + sizeof *context;
  context->uc_stack.ss_size = bytes - sizeof *context;
  context->uc_link = nullptr;
  makecontext(context, entry, 0);
  return context;
}
#endif
