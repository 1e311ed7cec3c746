// Package shared makes memory of the host that processes share: files in memory (memfd), which other processes of the
// same user open by /proc and map. Nothing of it has a name in a file system, so nothing is left when a process is
// killed. It is the memory of ranks on CPUs, and, where GPUs are of several nodes, of what crosses the network.
package shared
