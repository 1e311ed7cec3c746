// What the library has open, for faults.cc: each entry has the call that made it.
#pragma once
#include "faults.h"

enum LiveKind {
  LIVE_MEMORY, LIVE_MAPPING, LIVE_GPU, LIVE_STREAM, LIVE_EVENT, LIVE_REACHED, LIVE_RESERVED, LIVE_MAPPED, LIVE_PINNED,
  LIVE_HANDLE, LIVE_HOST, LIVE_KINDS
};

extern "C" {
// fault_site is the call that this thread does, and fault_late the error that it gives though it is done.
extern __thread u64 fault_site __attribute__((visibility("hidden"), tls_model("initial-exec")));
extern __thread int fault_late __attribute__((visibility("hidden"), tls_model("initial-exec")));

__attribute__((visibility("hidden"))) void live_add(int kind, u64 key);
__attribute__((visibility("hidden"))) void live_end(int kind, u64 key);

// live_members counts the members of the table of communicators that a communicator has, or a thread uses. It writes
// them to stderr if asked.
__attribute__((visibility("hidden"))) u64 live_members(bool print);

// mscclc_faults_usual learns what is open after a round without a fault. mscclc_faults_left writes what is open beside
// it, by the calls that made it, to stdout if asked, and returns how many things there are.
__attribute__((visibility("default"))) void mscclc_faults_usual();
__attribute__((visibility("default"))) u64 mscclc_faults_left(bool print);

__attribute__((visibility("hidden"))) FaultControl *fault_control();
}
