// Package devices makes the devices on which programs run: the CPU, and the GPUs that this build supports. It also
// makes the errors for a machine without such a GPU, or with too little memory.
package devices
