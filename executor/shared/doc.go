// Package shared makes memory of the host that processes share: files in memory (memfd). Other processes of the same
// user open them through /proc and map them. The files have no name in a file system, so nothing is left when a process
// is killed. Ranks on CPUs use this memory. Ranks on GPUs use it only if a job has several nodes: for the data that
// crosses the network.
package shared
