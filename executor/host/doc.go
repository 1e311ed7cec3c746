// Package host runs prepared programs (plan.Prepare) on the host's CPU, so that each rank may be a process. It
// implements the executor's interface for GPUs. A GPU of this package is a share of the host's cores, and its memory is
// shared memory of the host.
//
// Memory is files in memory (memfd). Other processes of the same user open them through /proc and map them. The files
// have no name in a file system, so nothing is left when a process is killed.
//
// A stream is a goroutine with a queue. A launch runs the kernel of package executor/cpu, with a fiber for each block.
// A block that waits for another process yields at once, and sleeps after 50 us. So all processes make progress, also
// if there are more of them than cores. In programs of several nodes, a thread whose blocks all wait does the work of
// the proxy (transport/PROXY.md): it sends and receives data. Such a thread sleeps after 1 ms instead, or sooner if
// many threads need the core.
package host
