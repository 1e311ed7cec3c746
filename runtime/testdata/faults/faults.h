// What the injector of faults (faults.cc, in the library) and the program (faulty.cc) share: a file that both map,
// named by MSCCLC_FAULTS. The test reads it, too (sites_run_linux_amd64_test.go).
#pragma once

#include "../../../kernels/abi/rows.h"

// A Site is a call: the distance of its return address from the library's beginning. calls counts those of the phase.
struct FaultSite {
  u64 at, calls, written;  // written: the program has written it
  char name[48];
};
enum { FAULT_SITES = 2048, FAULT_FIRED = 32 };

// A FaultUsual is how many things that a site has made a process has open after a round without a fault.
struct FaultUsual {
  u64 at, open;
};
struct FaultControl {
  u64 armed;       // the site that is to fail, or 0
  u64 seen;        // how many calls of it there were: the first one fails
  u64 next;        // a site whose first call after that fails, too, or 0
  u64 interrupts;  // errno is EINTR, as after a signal
  u64 one_in;      // each call fails with this probability, or 0
  u64 seed, fired; // fired: how many calls have failed
  u64 fired_at;    // the last of them
  u64 failed[FAULT_FIRED];  // the first of them
  u64 files;       // that a process has open after a round without a fault
  u64 members;     // of the table of communicators that are in use then
  FaultSite site[FAULT_SITES];
  FaultUsual usual[FAULT_SITES];
};
