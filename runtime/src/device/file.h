// This file is what a process tells of its memory of the host, so that others of the machine reach it (pinned.h).
#pragma once
#include "../why.h"

struct PinnedFile {
  u64 address, bytes, inode;  // address: in the process
  int file;
};
