// The engine of tests is compiled with this file before it, so that its own calls do not fail (faults.cc).
#pragma once
#include <stdlib.h>

extern "C" {
void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void __real_free(void *);
}
#define malloc __real_malloc
#define calloc __real_calloc
#define free __real_free
