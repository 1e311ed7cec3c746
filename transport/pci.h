// This file is which devices of a net plugin are near a GPU, by the tree of PCI devices in sysfs.
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// pci_sysfs is where sysfs is: "/sys". Tests have another.
extern const char *pci_sysfs;

// pci_nearest returns which of `count` devices is nearest to a GPU. gpu is its PCI address, such as 0000:3b:00.0. paths
// are the devices' in sysfs, of which any may be null. The nearest has the most folders in common with the GPU's path.
// GPUs take devices that are equally near in turn, in the order of their addresses. It returns 0 if nothing is known.
int pci_nearest(const char *gpu, const char *const *paths, int count);

#ifdef __cplusplus
}
#endif
