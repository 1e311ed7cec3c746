// This file is mscclc.h for its own library, and what all of its files share: errors of the calling thread.
#pragma once
#pragma GCC visibility push(default)
#include "../../include/mscclc.h"
#pragma GCC visibility pop

// failed keeps a text for mscclc_last_error, and returns its result.
mscclc_result failed(mscclc_result result, const char *format, ...) __attribute__((format(printf, 2, 3)));

// forked says whether the process was forked after the library was used. begun notes that it is used.
bool forked();
void begun();
