// This file reaches inboxes as ranks of one node do whose processes differ, which the network of tests cannot have.
#include "../../src/net/net.h"

#include <unistd.h>

// mscclc_faults_inbox makes an inbox on the thread's GPU, reaches it by its file, and ends both. It says whether that
// was possible.
extern "C" __attribute__((visibility("default"))) int mscclc_faults_inbox() {
  Why why = {};
  Pinned own = {0, 0, -1, false}, other = {0, 0, -1, false};
  Offer offer = {};
  const Gpu *g = gpu_of_thread(&why);
  bool good = g && pinned_make(g, 5000, true, &own, &why);
  offer.pid = (u64)getpid(), offer.inbox = own.at, offer.inbox_bytes = own.bytes, offer.inbox_file = own.file;
  offer.inbox_inode = pinned_inode(own);
  good = good && pinned_reach(g, offer, &other, &why);
  if (g) pinned_end(g, &other), pinned_end(g, &own);
  return good;
}
