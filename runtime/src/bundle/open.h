// This file is what the rest of the engine, and its front, know of bundles.
#pragma once
#include "rows_gen.h"

// A Bundle is a file, mapped and checked: the header and the table at once, and each section when it is used. It stays
// open until the process ends.
struct Bundle;
Bundle *bundle_open(const char *path, Why *why);
const u8 *bundle_hash(const Bundle *b);  // 32 bytes, of all that the file holds
bool bundle_serves(Bundle *b, u32 ranks, const char *device, Why *why);
