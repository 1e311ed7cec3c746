// Package transport carries messages between the processes of different nodes.
//
// A network engine (table.h) moves bytes between processes: UCX, a net plugin of NCCL, or memory for tests. A proxy
// (proxy.h) is a thread of a process. It uses a network engine to send the data that kernels write for ranks of other
// nodes. Both are C++ without libstdc++, and the library of package runtime uses the same files. This Go package gives
// Go access to them. system.h has the rule for system calls that a signal can interrupt. PROXY.md explains the design.
package transport
