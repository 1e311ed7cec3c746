// This file is SHA-256 (FIPS 180-4).
#pragma once
#include "../../kernels/abi/rows.h"

// sha256 uses the processor's instructions for it where there are some, unless it is to be plain.
void sha256(const void *data, u64 bytes, u8 out[32], bool plain = false);
