package ir

//go:generate go run ./internal/opsgen -o ../kernels/abi/ops_gen.h
