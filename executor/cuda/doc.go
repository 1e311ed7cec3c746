// Package cuda is NVIDIA's GPUs as a device: one process drives all that the
// driver shows. The ranks of a program go round the GPUs, so that any program of
// few ranks runs on one; their thread blocks are one grid a GPU, all of which
// must be resident at once, since they wait for each other.
//
// There is no CUDA toolkit in this: driver.c opens libcuda.so.1 at run time and
// declares what it uses, and the kernel is PTX that package kernels holds, which
// the driver compiles for the GPU at hand. Where there is no driver or no GPU the
// package works, and the device says what is missing.
//
// The files: device.go finds the GPUs and the image that they need, instance.go
// has the memory of a loaded program, launch.go one launch, driver.go the driver
// as Go calls it.
package cuda
