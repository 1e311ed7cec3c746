// Package devices has what programs run on: the CPU and the GPUs that this build knows, and the errors of a machine
// that lacks one, or memory.
package devices
