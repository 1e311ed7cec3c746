// Calls functions of NCCL behind a library of mscclc: one that the library hands on to NCCL, and two that it does
// itself before it hands them on. A library whose instructions, relocations or stubs are wrong ends here.
#include <stdio.h>

extern "C" int ncclGetVersion(int *);
extern "C" int ncclGroupStart();
extern "C" int ncclGroupEnd();

int main() {
  int version = 0;
  const int handed = ncclGetVersion(&version), begun = ncclGroupStart(), ended = ncclGroupEnd();
  printf("NCCL %d by ncclGetVersion (%d); ncclGroupStart %d, ncclGroupEnd %d\n", version, handed, begun, ended);
  return handed || version <= 0 || begun || ended;
}
