// Package bundlecmd is mscclc bundle: it writes a bundle, the file of proven programs, kernels and rules that the
// library for PyTorch, JAX and nccl-tests reads.
package bundlecmd
