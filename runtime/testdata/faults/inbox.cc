// This file reaches inboxes as ranks of one node do whose processes differ, which the network of tests cannot have.
#include "../../src/net/net.h"

#include <unistd.h>

// mscclc_faults_inbox makes an inbox on the thread's GPU, reaches it by its file, and ends both. It says whether that
// was possible.
extern "C" __attribute__((visibility("default"))) int mscclc_faults_inbox() {
  Why why = {};
  Pinned own = {0, 0, -1, false}, other = {0, 0, -1, false};
  const Gpu *g = gpu_of_thread(&why);
  bool good = g && pinned_make(g, 5000, true, &own, &why);
  good = good && pinned_reach(g, (u64)getpid(), pinned_file(own), &other, &why);
  if (g) pinned_end(g, &other), pinned_end(g, &own);
  return good;
}
