// This file is memory of the host that GPUs reach: what a kernel gets without the driver, and what a proxy reads.
#pragma once
#include "device.h"
#include "file.h"

// A Pinned is memory of the host that the GPU reaches at the same address. file is -1 where no other process maps it.
struct Pinned {
  u64 at, bytes;
  int file;
  bool pinned;
};

// pinned_make makes memory of whole pages. If it is shared, it is a file that other processes open by /proc, as
// executor/shared has them, and pinned_file tells of it. pinned_reach maps the file of another process. pinned_map maps
// `bytes` of to->file, or memory of this process where that is -1. pinned_end ends all, also where they have failed.
bool pinned_make(const Gpu *g, u64 bytes, bool shared, Pinned *to, Why *why);
PinnedFile pinned_file(const Pinned &p);
bool pinned_reach(const Gpu *g, u64 pid, const PinnedFile &from, Pinned *to, Why *why);
bool pinned_map(const Gpu *g, u64 bytes, Pinned *to, Why *why);
void pinned_end(const Gpu *g, Pinned *p);
