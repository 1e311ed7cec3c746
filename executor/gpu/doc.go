// Package gpu is NVIDIA's and AMD's GPUs as devices, by one driver table that is filled from either's library;
// executor/cuda and executor/hip are its two names. One process drives all that the driver shows, or some. The ranks of
// a program go round the GPUs, so that any program of few ranks runs on one; their thread blocks are one grid a GPU,
// all of which must be resident at once, since they wait for each other.
//
// There is no toolkit in this: driver.c opens the driver's library at run time, symbols.h declares what is used of it,
// and the kernel is PTX or a code object that package kernels holds. Where there is no driver or no GPU the package
// works, and the device says what is missing. MSCCLC_LIBCUDA and MSCCLC_LIBHIP name another library in its place: the
// tests build one that executes (standin).
//
// The files: device.go finds the GPUs and the image that they need, kernel.go the entry; memory.go (with mapped.go and
// files.go), stream.go, graph.go and prepared.go are what plan.Plan runs by; order.go orders the launches of each plan,
// and admission.go and tickets.go those of plans that have no room together; driver.go is the driver as Go calls it.
package gpu
