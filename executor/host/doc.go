// Package host runs prepared programs (plan.Prepare) on the host's CPU, so that each rank may be a process. To the
// executor it is GPUs: a GPU here is a share of the host's cores, and its memory is shared memory of the host.
//
// Memory is files in memory (memfd), which other processes of the same user open by /proc and map. Nothing of it has a
// name in a file system, so nothing is left when a process is killed. A stream is a goroutine with a queue. A launch
// runs the kernel of package executor/cpu, with a fiber for each block. Blocks that wait for another process yield at
// once, and sleep after 50 us, so that more processes than cores make progress. In programs of several nodes they carry
// messages while they wait (transport/PROXY.md), and sleep after 1 ms, or sooner where many want the core.
package host
