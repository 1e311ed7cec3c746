// This program prints which device of a net plugin is chosen, and why: device PLUGIN GPU SYSFS.
#include "../pci.h"
#include "../table.h"

#include <stdio.h>

int main(int argc, char **argv) {
  char spec[1024], why[512] = "";
  void *engine;
  transport_properties is;
  if (argc != 4) return 2;
  pci_sysfs = argv[3];
  snprintf(spec, sizeof spec, "%s\n%s", argv[1], argv[2]);
  const int failed = transport_ncclnet.open(spec, 0, &engine, why, sizeof why);
  if (!failed) transport_ncclnet.properties(engine, &is), transport_ncclnet.close(engine);
  printf("%s", failed ? why : is.cards);
  return failed;
}
