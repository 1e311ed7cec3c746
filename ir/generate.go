package ir

//go:generate go run ./internal/opsgen -o ../kernels/ops_gen.h
