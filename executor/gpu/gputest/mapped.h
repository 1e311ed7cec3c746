#pragma once
#include <stddef.h>

typedef unsigned long long u64;

// mapped_make makes `segments` segments of a card's memory, of the least possible length, side by side.
int mapped_make(const char *path, int hip, int device, u64 segments, int handles, u64 *address, u64 *unit);
int mapped_free(const char *path, int hip, u64 address, u64 unit, u64 segments);
