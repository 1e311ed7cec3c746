// Code generated from package bundle/limits by "go generate ./bundle/limits"; DO NOT EDIT.
#pragma once
#include "../../../kernels/abi/rows.h"

const u64 LIMIT_FILE = 1073741824ull;          // the most bytes of a file
const u64 LIMIT_SECTIONS = 65536ull;           // the most sections of a file
const u64 LIMIT_RANKS = 16ull;                 // the most ranks of a set: a launch carries one address for each
const u64 LIMIT_NAME = 63ull;                  // the most bytes in the name of a device or of a program
const u64 LIMIT_IMAGE_NAME = 39ull;            // the most bytes in the name of an image
const u64 LIMIT_LEAST_TARGET = 50ull;          // the lowest GPU version of an image, as in sm_50
const u64 LIMIT_MOST_TARGET = 999ull;          // the highest GPU version of an image
const u64 LIMIT_RULES = 65536ull;              // the most rules of a set
const u64 LIMIT_PROGRAMS = 4096ull;            // the most programs of a set
const u64 LIMIT_ARENA = 268435456ull;          // the most bytes of a rank's arena, which other ranks write to
const u64 LIMIT_PINNED = 268435456ull;         // the most bytes of host memory of a rank, in a set for several nodes
const u64 LIMIT_PART_ALIGN = 256ull;           // offsets of scratch, packets and flags in an arena are multiples of it
const u64 LIMIT_CHUNK_ALIGN = 128ull;          // the bytes from one chunk of scratch to the next are a multiple of it
const u64 LIMIT_ADDRESS = 281474976710656ull;  // the most bytes of scratch, packets or flags: addresses have 48 bits
const u64 LIMIT_CTAS = 4096ull;                // the most CTAs of a launch on a rank
const u64 LIMIT_BLOCKS = 65536ull;             // the most thread blocks of a program, over all ranks
const u64 LIMIT_REPLICAS = 4096ull;            // the most replicas of a launch: the transport counts them in 16 bits
const u64 LIMIT_THREADS = 512ull;              // the most threads of a thread block: kernels are compiled for it
const u64 LIMIT_WARP = 32ull;                  // the threads of a thread block are a multiple of it
const u64 LIMIT_TILE = 1073741824ull;          // the most bytes of a tile
const u64 LIMIT_TILE_ALIGN = 16ull;            // the bytes of a tile are a multiple of it, and not 0
const u64 LIMIT_CHUNKS = 65535ull;             // the most chunks of a piece: a step counts them in 16 bits
const u64 LIMIT_DEPTH = 65536ull;              // the most copies of scratch: the transport numbers them in 16 bits
