// Package gpu is the device for NVIDIA's and AMD's GPUs. Both use one table of driver functions, which is filled from
// the library of the vendor's driver. executor/cuda and executor/hip name the two devices.
//
// One process drives all GPUs that the driver shows, or some of them. The ranks of a program are assigned to the GPUs
// in turn: rank 0 to the first GPU, rank 1 to the second, and so on. If there are more ranks than GPUs, several ranks
// share a GPU. The thread blocks of a GPU's ranks are one grid. They wait for each other, so all must be resident at
// once.
//
// The package needs no toolkit. driver.c opens the driver's library at run time, and symbols.h declares the functions
// that are used. The kernel is PTX or a code object from package kernels. Without a driver or a GPU, the package
// compiles and runs, and the device returns an error that names what is missing. MSCCLC_LIBCUDA and MSCCLC_LIBHIP name
// another library to open. Tests build a mock driver, which executes kernels on the host (standin).
//
// Files: device.go finds the GPUs and loads kernel images. kernel.go chooses the image of a launch's kernel, by the
// type of elements and the program, and the threads of its blocks. entry.go chooses the entry point for one-sided
// programs. memory.go (with mapped.go and files.go), stream.go, graph.go and prepared.go implement what plan.Plan uses.
// order.go orders the launches of each plan. admission.go and tickets.go order the launches of plans that cannot be
// resident together. driver.go calls the driver from Go.
package gpu
